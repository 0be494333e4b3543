"""What a person who types mistakes ran into, one test each."""

import json
from pathlib import Path

import pytest

from shops import QUICK, ask, fault, run
from windage.studies.file import load
from windage.studies.store import StudyStore

FILE = f"""[value]
unit = "€"
[decisions.loaves]
low = 20
high = 200
integer = true
[contexts.demand]
low = 0
[contexts.rain]
{QUICK}"""
HEAD, DATED = "loaves,demand,rain,value\n", "date,loaves,demand,rain,value\n"
DAYS = ["80,95,0,96", "100,90,0,118", "120,130,1,168", "60,88,2,84", "90,85,0,115", "110,92,0,114"]
SHOP = "shop.toml"


@pytest.fixture
def bakery(shop):
    shop.write_text(FILE)
    return shop


def tell(rows, *options, head=HEAD, name="days.csv", file=SHOP):
    Path(name).write_text(head + "\n".join(rows) + "\n")
    result = run("tell", file, "--csv", name, *options)
    assert result.exit_code == 0, result.exception
    return result.stdout


def told(file=SHOP):
    entries = StudyStore.open(load(Path(file))).entries()
    return [(e.decision["loaves"], e.context.get("demand"), e.context.get("rain"), e.value) for e in entries]


def as_rows(rows):
    return [tuple(map(float, row.split(","))) for row in rows]


def dated(rows, first=1):
    return [f"2026-03-{first + i:02d},{row}" for i, row in enumerate(rows)]


def test_a_correction_gets_a_second_look_too(bakery):
    tell(DAYS)
    assert "is 134 times the most so far" in fault("correct", SHOP, "2", "--value", "15800")
    assert "demand 113000" in fault("correct", SHOP, "2", "--context", "demand=113000").lower()
    assert told() == as_rows(DAYS)
    changed = [*DAYS[:2], "120,130,1,16800", *DAYS[3:]]
    Path("days.csv").write_text(HEAD + "\n".join(changed) + "\n")
    assert "Line 4: value 16800 €" in fault("tell", SHOP, "--csv", "days.csv", "--replace")
    assert told() == as_rows(DAYS)
    assert run("correct", SHOP, "2", "--value", "15800", "--sure").exit_code == 0
    assert run("correct", SHOP, "2", "--value", "168").exit_code == 0


def test_an_export_told_to_another_study_corrects_nothing_there(bakery, tmp_path):
    tell(DAYS)
    assert run("export", SHOP, "--csv", "out.csv").exit_code == 0
    (tmp_path / "other.toml").write_text(FILE)
    tell(["70,88,1,98", "75,80,0,110"], name="own.csv", file="other.toml")
    words = run("tell", "other.toml", "--csv", "out.csv").stdout
    assert "6 rows are added" in words
    assert "differs" not in words
    assert len(told("other.toml")) == 8


def test_replacing_is_all_or_nothing(bakery):
    tell(DAYS)
    changed = ["80,95,0,99", "250,90,0,118", *DAYS[2:]]
    Path("days.csv").write_text(HEAD + "\n".join(changed) + "\n")
    assert "Line 3: loaves 250 is not within 20 to 200." in fault(
        "tell", SHOP, "--csv", "days.csv", "--replace"
    )
    assert told() == as_rows(DAYS)
    tell(changed, "--replace", "--sure")
    assert told() == as_rows(changed)


def test_an_export_is_told_again_after_a_context_was_added_and_after_a_bound_was_narrowed(bakery, tmp_path):
    tell(DAYS)
    wind = FILE.replace(QUICK, "[contexts.wind]\n" + QUICK)
    bakery.write_text(wind)
    run("export", SHOP, "--csv", "out.csv")
    assert (
        "0 rows are added from out.csv (6 were there already)" in run("tell", SHOP, "--csv", "out.csv").stdout
    )
    assert "0 rows are added" in tell(DAYS)  # the old table, without the column
    (tmp_path / "new.toml").write_text(wind)
    assert "wind is not told" in fault("tell", "new.toml", "--csv", "out.csv")
    assert run("tell", "new.toml", "--csv", "out.csv", "--sure").exit_code == 0
    assert told("new.toml") == told()
    bakery.write_text(FILE.replace("[contexts.demand]\nlow = 0", "[contexts.demand]\nlow = 0\nhigh = 100"))
    run("export", SHOP, "--csv", "out.csv")
    assert "0 rows are added" in run("tell", SHOP, "--csv", "out.csv").stdout
    assert "1 row is added" in tell([*DAYS, "95,99,0,120"])
    assert told()[2] == (120, 130, 1, 168)


def test_a_column_that_is_filled_in_later_corrects_the_dated_rows(bakery):
    tell(dated(DAYS[:3]), head=DATED)
    bakery.write_text(FILE.replace(QUICK, "[contexts.wind]\n" + QUICK))
    rows = [f"{row},{i}" for i, row in enumerate(dated(DAYS[:3]))]
    words = tell(rows, "--replace", "--sure", head="date,loaves,demand,rain,value,wind\n")
    assert "0 rows are added" in words
    assert words.count("corrects decision") == 3
    entries = StudyStore.open(load(bakery)).entries()
    assert [e.context["wind"] for e in entries] == [0, 1, 2]


def test_one_dated_row_is_corrected(bakery):
    tell(["2026-03-01,80,95,0,960"], head=DATED)
    words = tell(["2026-03-01,80,95,0,96"], head=DATED)
    assert "Line 2 differs from decision 0: value 96 €, told as 960 €." in words
    tell(["2026-03-01,80,95,0,96"], "--replace", head=DATED)
    assert told() == [(80, 95, 0, 96)]


def test_a_context_that_was_taken_out_of_the_file_makes_no_row_another(bakery):
    tell(DAYS)
    run("export", SHOP, "--csv", "out.csv")
    bakery.write_text(FILE.replace("[contexts.rain]\n", ""))
    assert "0 rows are added" in run("tell", SHOP, "--csv", "out.csv").stdout
    assert "0 rows are added" in tell(DAYS)
    assert len(told()) == 6
    assert "rain" in run("export", SHOP, "--csv", "-").stdout.splitlines()[0]  # nothing told is lost


def test_a_new_day_that_equals_a_corrected_one_is_taken(bakery):
    tell(dated(DAYS[:2]), head=DATED)
    run("correct", SHOP, "1", "--value", "128")
    words = tell(["2026-04-01,100,90,0,128", "2026-04-02,80,95,0,96"], head=DATED, name="april.csv")
    assert "2 rows are added" in words


def test_a_correction_that_makes_two_rows_equal_is_told_once(bakery):
    rows = ["80,95,0,96", "80,95,0,960", "100,90,0,118"]
    tell(rows)
    mended = [rows[0], rows[0], rows[2]]
    assert "corrects decision 1" in tell(mended, "--replace")
    assert "0 rows are added" in tell(mended)
    assert len(told()) == 3


def test_a_forgotten_row_stays_forgotten(bakery):
    tell(DAYS)
    run("correct", SHOP, "1", "--value", "128")
    run("forget", SHOP, "1")
    for rows in (DAYS, [DAYS[0], "100,90,0,128", *DAYS[2:]], [DAYS[0], "100,90,0,129", *DAYS[2:]]):
        words = tell(rows, "--replace")
        assert "0 rows are added" in words
        assert "Forgotten, and not taken: line 3." in words
    assert len(told()) == 5


def test_a_new_day_is_no_correction_of_a_row_that_is_still_there(bakery):
    rows = ["80,95,0,96", "100,120,0,180", "60,88,2,84", "90,85,0,115"]
    tell(rows)
    again = [rows[0], "100,125,0,180", rows[2], rows[3], rows[1]]
    words = tell(again, "--replace")
    assert "1 row is added" in words
    assert sorted(told()) == sorted(as_rows(again))
    assert "0 rows are added" in tell(again)


def test_a_changed_date_is_named(bakery):
    tell(dated(DAYS[:3]), head=DATED)
    rows = dated(DAYS[:3])
    words = tell([rows[0], rows[1].replace("2026", "2025"), rows[2]], head=DATED)
    assert "0 rows are added" in words
    assert "Line 3 is decision 1 on another date." in words


def test_a_renamed_variable_stays_in_the_export(bakery):
    tell(DAYS)
    bakery.write_text(FILE.replace("decisions.loaves", "decisions.breads"))
    head, first = run("export", SHOP, "--csv", "-").stdout.splitlines()[:2]
    assert dict(zip(head.split(","), first.split(","), strict=True))["loaves"] == "80"


def test_what_is_told_twice_is_named_as_it_counts_now(bakery):
    number = ask(SHOP)["number"]
    again = ["tell", SHOP, str(number), "--value", "1", "--context", "demand=9", "--context", "rain=0"]
    run("tell", SHOP, str(number), "--value", "1580", "--context", "demand=9", "--context", "rain=0")
    run("correct", SHOP, "0", "--value", "158")
    assert "value 158 €" in fault(*again)
    run("forget", SHOP, "0")
    assert "is forgotten:  windage undo FILE 0" in fault(*again)


def test_undo_says_whether_the_day_counts(bakery):
    tell(DAYS)
    run("forget", SHOP, "1")
    run("correct", SHOP, "1", "--value", "120")
    assert "It is forgotten again" in run("undo", SHOP, "1").stdout
    assert json.loads(run("undo", SHOP, "1", "--json").stdout)["counts"] is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("120,5", 120.5),
        ("120 €", 120.0),
        ("€ 120", 120.0),
        ("1 200", 1200.0),
        ("1.200,50", 1200.5),
        ("1.25", 1.25),
    ],
)
def test_numbers_as_people_type_them(bakery, text, value):
    own = ["--decision", "loaves=80", "--context", "demand=9", "--context", "rain=0"]
    assert run("tell", SHOP, *own, "--value", text).exit_code == 0
    assert told()[0][3] == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,200", "could be 1200 or 1.200"),
        ("12o", "There is a letter in it."),
        ("8kg", "without a unit"),
        ("1,2,3.4", "such as 12.5"),
        ("", "such as 12.5"),
    ],
)
def test_numbers_that_could_be_anything_are_refused(bakery, text, words):
    own = ["--decision", "loaves=80", "--context", "demand=9", "--context", "rain=0"]
    assert words in fault("tell", SHOP, *own, "--value", text)
    assert (
        "one at a time"
        in fault(
            "tell", SHOP, "--decision", "loaves=80", "--value", "3", "--context", "demand=9 rain=0"
        ).lower()
    )
    assert told() == []


def test_an_own_day_has_a_number_and_is_named_if_it_was_told_before(bakery):
    own = [
        "tell",
        SHOP,
        "--decision",
        "loaves=80",
        "--value",
        "12",
        "--context",
        "demand=9",
        "--context",
        "rain=0",
    ]
    assert run(*own).stdout == "Decision 0 is added: 12 €.\n"
    assert "It equals decision 0; if it is the same one:  windage forget FILE 1" in run(*own).stdout
    assert json.loads(run(*own, "--json").stdout)["equals"] == [0, 1]


def test_commands_to_copy_are_quoted(bakery, tmp_path):
    folder = tmp_path / "Bäckerei Müller & Söhne"
    folder.mkdir()
    path = folder / "Brötchen heute.toml"
    path.write_text(FILE)
    tell(DAYS, file=str(path))
    assert f"windage undo '{path}' 0" in run("forget", str(path), "0").stdout
    assert f"windage history '{path}'".split()[-1] in run("status", str(path)).stdout


def test_status_shows_what_was_told(bakery):
    tell(DAYS)
    bakery.write_text(
        FILE.replace("low = 0\n", "low = 0\nhigh = 100\n").replace(QUICK, "[contexts.wind]\n" + QUICK)
    )
    shown = run("status", SHOP).stdout
    assert "130" in shown
    assert "None" not in shown


def test_a_study_file_with_a_near_name_is_named(bakery):
    assert "Did you mean 'shop.toml'?" in fault("status", "shp.toml")


@pytest.mark.parametrize("line", ["low = 2O", "high = 2,5", "unit = mm"])
def test_a_slip_in_the_file_shows_its_line(bakery, line):
    bakery.write_text(FILE.replace("integer = true", line))
    message = fault("status", SHOP)
    assert line in message
    assert "a number with a point" in message


def test_a_decision_may_have_its_unit_as_a_condition_may(bakery):
    Path(SHOP).write_text(FILE.replace("integer = true", 'unit = "Loaves"'))
    met = ["--context", "demand=95", "--context", "rain=0"]
    one = run("tell", SHOP, "--decision", "loaves=80 loaves", *met, "--value", "96 €")
    assert one.exit_code == 0, one.exception
    assert told()[0][0] == 80
    assert "no number" in fault("predict", SHOP, "loaves=80 kg")


def test_a_correction_beyond_a_bound_is_asked_about_whatever_the_name_is(bakery):
    Path(SHOP).write_text(FILE.replace("[decisions.loaves]", '[decisions."loaves of bread"]'))
    tell(["80,95,0,96"], head=HEAD.replace("loaves", "loaves of bread"))
    words = fault("correct", SHOP, "0", "--decision", "loaves of bread=300")
    assert "Loaves of bread 300 is not within 20 to 200." in words
    assert run("correct", SHOP, "0", "--value", "97").exit_code == 0


def test_what_was_told_of_a_smaller_study_can_be_corrected(bakery):
    tell(DAYS)
    price = "[decisions.price]\nlow = 1\nhigh = 9\n"
    Path(SHOP).write_text(FILE.replace("[contexts.demand]", f"{price}[contexts.demand]"))
    done = run("correct", SHOP, "2", "--value", "16.8")
    assert done.exit_code == 0, done.exception
    assert told()[2][3] == 16.8
