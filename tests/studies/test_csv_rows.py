"""Which rows of a table a study has already."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from shops import ask, fault, run
from windage.cli import app
from windage.studies import records
from windage.studies.file import load
from windage.studies.store import StudyStore

HEAD = "stock,demand,value\n"


def tell(text, name="days.csv"):
    Path(name).write_text(text)
    result = run("tell", "shop.toml", "--csv", name)
    assert result.exit_code == 0, result.exception
    return result.stdout


def told(shop):
    return [
        (e.decision["stock"], e.context["demand"], e.value) for e in StudyStore.open(load(shop)).entries()
    ]


def test_a_renamed_copy_of_a_table_brings_nothing_new(shop):
    tell(HEAD + "5,9,5\n5,9,5\n10,12,10\n")
    words = tell(HEAD + "5,9,5\n5,9,5\n10,12,10\n7,8,7\n", "copy.csv")
    assert "1 row is added from copy.csv (3 were there already). Skipped: lines 2, 3, 4." in words
    assert "0 rows are added" in tell("demand;stock;value\n12,0;10;10\n", "other.csv")
    assert len(told(shop)) == 4


def test_equal_rows_of_a_table_are_taken_and_named(shop):
    assert "taken all the same: line 4." in tell(HEAD + "5,9,5\n6,9,5\n5,9,5\n")
    assert len(told(shop)) == 3


def test_a_row_that_equals_a_decision_told_by_number_is_taken_and_named(shop):
    stock = ask(shop)["decision"]["stock"]
    run("tell", "shop.toml", "0", "--value", "3", "--context", "demand=4")
    words = tell(f"{HEAD}1,2,3\n{stock!r},4,3\n")
    assert "2 rows are added" in words
    assert "Line 3 equals decision 0, which is there already: taken all the same." in words
    assert "windage forget shop.toml 0" in words
    done = json.loads(run("tell", "shop.toml", "--csv", "days.csv", "--json").stdout)
    assert (done["added"], done["there already"], done["skipped lines"]) == (0, 2, [2, 3])


def test_rows_that_an_earlier_version_took_are_not_taken_twice(shop):
    store = StudyStore.open(load(shop))
    for times in (1, 2):
        cells = json.dumps({"stock": "5.5", "demand": "9", "value": "5"})
        digest = hashlib.sha256(f"days.csv {cells} {times}".encode()).hexdigest()[:32]
        trial = store.checked({"stock": 5.5}, {"demand": 9}, 5)
        trial.set_user_attr(records.ROW, digest)
        store.add_all([trial])
    text = "date;stock;demand;value\n2026-01-01;5,5;9;5\n2026-01-02;5,5;9;5\n2026-01-03;5,5;9;5\n"
    assert "(2 were there already). Skipped: lines 2, 3." in tell(text)
    assert "0 rows are added" in tell(text, "renamed.csv")
    assert len(told(shop)) == 3


def test_numbers_of_a_table_as_people_write_them(shop):
    tell('stock [kg],Demand,value [EUR]\n12.5,"1,200","€ 1,049.50"\n0.5,7,"2,000"\n')
    assert told(shop) == [(12.5, 1200, 1049.5), (0.5, 7, 2000)]
    message = fault_of('stock,demand,value\n5,9,"1,200"\n')
    assert "line 2: value is '1,200', which could be 1200 or 1.200" in message


def fault_of(text):
    Path("bad.csv").write_text(text)
    return fault("tell", "shop.toml", "--csv", "bad.csv")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("²,9,5", "decision variable 'stock' is '²', which is no number"),
        ("5,9,²", "value is '²'"),
        ("5,9," + "9" * 500, "finite"),
        ("5,nan,5", "finite"),
    ],
)
def test_odd_numbers_are_refused_by_line(shop, row, words):
    message = fault_of(HEAD + row + "\n")
    assert "line 2: " in message
    assert words in message


def test_a_number_column_with_odd_digits_is_no_export(shop):
    text = f"number,{HEAD.strip()},told\n²,5,9,5,now\n{'1' * 5000},6,9,5,now\n"
    assert "2 rows are added" in tell(text)


def test_a_table_without_rows_says_so(shop):
    assert "days.csv has a head and no rows: nothing is added." in tell(HEAD)


def test_dates_are_kept_exported_and_give_the_order(shop):
    tell("date,stock,demand,value\n18.11.2026,5,9,5\n,6,9,6\n2026-11-17 08:30,7,9,7\n")
    run("export", "shop.toml", "--csv", "out.csv")
    with open("out.csv", newline="") as out:
        rows = list(csv.DictReader(out))
    assert [row["date"] for row in rows] == ["2026-11-18", "", "2026-11-17T08:30:00"]
    store = StudyStore.open(load(shop))
    known = store.sampler().known(store.trials(), store.file.axes, {})
    assert [row["value"] for row in known.observations] in ([6, 7, 5], [7, 5, 6])  # before that day, or after
    assert "0 rows are added" in run("tell", "shop.toml", "--csv", "out.csv").stdout
    assert "line 2: date is '3/4/2026': day or month first" in fault_of(
        "date,stock,demand,value\n3/4/2026,5,9,5\n"
    )


def test_the_same_row_on_another_date_is_another_row(shop):
    tell("date,stock,demand,value\n2026-11-17,5,9,5\n")
    assert "1 row is added" in tell("date,stock,demand,value\n2026-11-18,5,9,5\n")


def test_a_context_named_date_is_no_date(shop):
    shop.write_text(shop.read_text().replace("[contexts.demand]", "[contexts.date]"))
    tell("stock,date,value\n5,9,5\n")
    trial = StudyStore.open(load(shop)).trials()[0]
    assert records.context_of(trial) == {"date": 9.0}
    assert records.date_of(trial) == ""


def test_a_minus_is_the_standard_input_and_output(shop):
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, ["tell", "shop.toml", "--csv", "-"], input=HEAD + "5,9,5\n")
    assert "1 row is added from the standard input." in result.stdout
    lines = run("export", "shop.toml", "--csv", "-").stdout.splitlines()
    assert lines[0] == "number,stock,demand,value,told"
    assert lines[1].startswith("0,5.0,9.0,5.0,")
    assert len(lines) == 2
    assert not Path("-").exists()
