"""A corrected table told again: which rows changed, and what --replace does."""

import json
from pathlib import Path

from shops import run
from windage.studies.file import load
from windage.studies.store import StudyStore

HEAD = "stock,demand,value\n"
ROWS = ["5,9,5", "6,9,5.5", "10,12,100", "7,8,7"]


def tell(rows, *options, name="days.csv", head=HEAD):
    Path(name).write_text(head + "\n".join(rows) + "\n")
    result = run("tell", "shop.toml", "--csv", name, "--sure", *options)
    assert result.exit_code == 0, result.exception
    return result.stdout


def told(shop):
    entries = StudyStore.open(load(shop)).entries()
    return [(e.decision["stock"], e.context["demand"], e.value) for e in entries]


def test_a_changed_row_is_named_and_not_taken(shop):
    tell(ROWS)
    before = told(shop)
    words = tell([*ROWS[:2], "10,12,10", ROWS[3]])
    assert "Line 4 differs from decision 2: value 10 EUR, told as 100 EUR." in words
    assert "say it again with --replace" in words
    assert told(shop) == before


def test_with_replace_a_changed_row_corrects_what_was_told(shop):
    tell(ROWS)
    words = tell([*ROWS[:2], "10,12,10", ROWS[3], "8,8,8"], "--replace")
    assert "1 row is added" in words
    assert "Line 4 corrects decision 2: value 10 EUR, told as 100 EUR." in words
    assert told(shop) == [(5, 9, 5), (6, 9, 5.5), (10, 12, 10), (7, 8, 7), (8, 8, 8)]
    (change,) = StudyStore.open(load(shop)).history()
    assert (change.number, change.value, change.why) == (2, 10.0, "line 4 of days.csv")
    # told once more, in both forms: nothing new
    again = tell([*ROWS[:2], "10,12,10", ROWS[3], "8,8,8"], "--replace")
    assert "0 rows are added" in again
    assert "corrects" not in again
    assert "0 rows are added" in tell(ROWS)
    assert len(told(shop)) == 5


def test_a_table_that_grew_has_no_changed_rows(shop):
    tell(ROWS)
    words = tell(["1,1,1", *ROWS[:2], "9,9,9", *ROWS[2:], "8,8,8"])
    assert "3 rows are added" in words
    assert "differs" not in words


def test_another_table_with_other_rows_corrects_nothing(shop):
    tell(ROWS)
    words = tell(["5,9,6", "6,9,6.5", "10,12,101", "7,8,8"], name="other.csv")
    assert "4 rows are added" in words
    assert "differs" not in words


def test_rows_of_which_more_than_one_cell_differs_are_new(shop):
    tell(ROWS)
    assert "1 row is added" in tell([*ROWS[:2], "11,13,10", ROWS[3]])


def test_rows_are_known_by_their_dates(shop):
    head = "date,stock,demand,value\n"
    rows = [f"2026-11-0{i + 1},{row}" for i, row in enumerate(ROWS)]
    tell(rows, head=head)
    words = tell([rows[3], "2026-11-03,11,13,10", rows[0], rows[1]], "--replace", head=head)
    assert "Line 3 corrects decision 2: stock 11 kg, told as 10 kg; demand 13 kg, told as 12 kg;" in words
    assert told(shop)[2] == (11, 13, 10)


def test_an_export_that_was_changed_is_known_by_its_numbers(shop):
    tell(ROWS)
    run("export", "shop.toml", "--csv", "out.csv")
    Path("out.csv").write_text(Path("out.csv").read_text().replace("100.0", "10.0"))
    done = json.loads(run("tell", "shop.toml", "--csv", "out.csv", "--json").stdout)
    assert (done["added"], done["there already"]) == (0, 3)
    assert done["changed"] == [{"line": 4, "number": 2, "was": {"value": 100.0}}]
    done = json.loads(run("tell", "shop.toml", "--csv", "out.csv", "--replace", "--json").stdout)
    assert done["corrected"] == [{"line": 4, "number": 2, "was": {"value": 100.0}}]
    assert told(shop)[2] == (10, 12, 10)


def test_odd_rows_of_a_table_are_asked_about(shop):
    good = [f"{5 + i},{9 + i % 4},{5 + i % 3}" for i in range(12)]
    Path("days.csv").write_text(HEAD + "\n".join([*good[:6], "6,9,6000", *good[6:], "7,900,7"]) + "\n")
    result = run("tell", "shop.toml", "--csv", "days.csv")
    message = str(result.exception)
    assert "Line 8: value 6000 EUR is 857 times the most so far, 7 EUR." in message
    assert "Line 15: demand 900 kg is 75 times the most so far, 12 kg." in message
    assert message.endswith("Nothing was changed. If it is right, say it again with --sure.")
    assert told(shop) == []
    assert run("tell", "shop.toml", "--csv", "days.csv", "--sure").exit_code == 0
    assert len(told(shop)) == 14


def test_a_study_may_turn_the_second_look_off(shop):
    shop.write_text(shop.read_text() + "screen = false\n")
    good = [f"{5 + i},{9 + i % 4},{5 + i % 3}" for i in range(12)]
    Path("days.csv").write_text(HEAD + "\n".join([*good, "6,9,6000"]) + "\n")
    assert run("tell", "shop.toml", "--csv", "days.csv").exit_code == 0
    assert json.loads(run("status", "shop.toml", "--json").stdout)["suspects"] == []
