"""Tables on the page: up and down, with the same care as the command line's."""

import csv
import io

from optuna.trial import TrialState

from windage.studies import records
from windage.studies.file import load
from windage.studies.store import StudyStore

PAST = "stock;demand;value\n5;9;20\n10,5;12;40\n"


def entries(visitor):
    return StudyStore.open(load(visitor.site.live.path)).entries()


def test_a_table_is_taken_once(visitor):
    assert "2 days are added from the table." in visitor.upload(PAST.encode())
    assert "0 days are added from the table. 2 were there already." in visitor.upload(PAST.encode())
    assert [e.decision["stock"] for e in entries(visitor)] == [5, 10.5]
    rows = visitor.site.live.store().trials(TrialState.COMPLETE)
    assert {row.user_attrs[records.ROW] for row in rows} == {"the table"}


def test_a_bad_row_is_named_and_nothing_is_taken(visitor):
    html = visitor.upload(b"stock,demand,value\n5,9,20\ny,9,20\nx,9,1\n")
    assert "Nothing was taken from the table, because of" in html
    assert "line 3:" in html
    assert "line 4:" in html
    assert entries(visitor) == []
    assert "is empty" in visitor.upload(b" ")
    assert "no text" in visitor.upload(b"\0\1\2")
    assert "Choose a table first" in visitor.upload(b"")


def test_rows_that_look_mistyped_are_asked_for_again_and_kept_meanwhile(regular):
    html = regular.upload(b"stock,demand,value\n9,9,29\n11,12,5000\n")
    assert "Line 3:" in html
    assert "Sure?" in html
    assert len(entries(regular)) == 7
    fields = regular.fields("/upload")
    said = {"csrf": fields["csrf"], "table": fields["table"], "sure": fields["_sure"]}
    html = regular.client.post("/upload", data=said).text
    assert "2 days are added" in html
    html = regular.client.post("/upload", data={**said, "table": "unknown"}).text
    assert "choose it once more" in html


def test_rows_that_differ_correct_what_was_told_when_that_is_wanted(regular):
    table = regular.client.get("/table.csv").text.replace("20.0,14.0,26.0", "20.0,14.0,2.6")
    html = regular.upload(table.encode())
    assert "1 row differs from what was told, and is not taken" in html
    assert "1 row corrected what was told" in regular.upload(table.encode(), replace="yes")
    assert entries(regular)[2].value == 2.6


def test_the_download_has_everything_and_a_harmless_name(regular):
    answer = regular.client.get("/table.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="shop.csv"'
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0][:4] == ["number", "stock", "demand", "value"]
    assert len(rows) == 8
