"""Tables of past rows into a study, and out of it."""

import csv
from pathlib import Path

import pytest

from shops import ask, fault, run
from windage.studies import csv_reading
from windage.studies.file import load
from windage.studies.store import StudyStore


def test_a_table_that_has_grown_brings_its_new_rows_alone(shop):
    table = Path("days.csv")
    table.write_text("stock,demand,value\n5,9,5\n5,9,5\n10,12,10\n")
    assert "3 rows are added" in run("tell", "shop.toml", "--csv", "days.csv").stdout
    table.write_text(table.read_text() + "7,8,7\n")
    assert (
        "1 row is added from days.csv (3 were there already)"
        in run("tell", "shop.toml", "--csv", "days.csv").stdout
    )
    run("export", "shop.toml", "--csv", "out.csv")
    assert (
        "0 rows are added from out.csv (4 were there" in run("tell", "shop.toml", "--csv", "out.csv").stdout
    )


def test_a_table_with_decimal_commas(shop):
    Path("days.csv").write_text("stock;demand;value\n5,5;9;5\n1,25;12,5;-1\n")
    assert run("tell", "shop.toml", "--csv", "days.csv").exit_code == 0
    assert [(e.decision["stock"], e.context["demand"]) for e in StudyStore.open(load(shop)).entries()] == [
        (5.5, 9),
        (1.25, 12.5),
    ]


def test_a_table_is_taken_whole_or_not_at_all(shop, tmp_path):
    rows = ["stock;demand;value;note", "10;8;3.5;", "", "12;much;4;", "99;8;x;", "20;30;5.5;fine"]
    (tmp_path / "history.csv").write_text("\n".join(rows))
    message = fault("tell", "shop.toml", "--csv", "history.csv")
    assert "nothing was taken" in message
    assert "line 4" in message
    assert "line 5" in message
    assert "line 2" not in message
    assert StudyStore.open(load(shop)).entries() == []
    good = [rows[0], rows[1], rows[5]]
    (tmp_path / "history.csv").write_text("\n".join(good))
    assert "2 rows are added" in run("tell", "shop.toml", "--csv", "history.csv").stdout
    assert "0 rows are added from history.csv (2 were there already)" in (
        run("tell", "shop.toml", "--csv", "history.csv").stdout
    )
    (tmp_path / "history.csv").write_text("stock,value\n1,2\n")
    assert "no column 'demand'" in fault("tell", "shop.toml", "--csv", "history.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stock,demand,value\n5,5,9,5\n", "line 2: more cells than columns; write decimals with a point"),
        ("stock,demand,value\n5,9,5\n5,5,9,\n", "line 3: more cells than columns"),
        ("stock,demand,value,stock\n5,9,5,6\n", "the column 'stock' more than once"),
        ("stock,demand,value\n5,9," + "5" * 200_000 + "\n", "cannot be read as a table: field larger"),
        ("stock,demand,value\n8lb,9,5\n", "Write the number alone, without a unit."),
    ],
)
def test_a_table_that_would_be_misread_is_refused(shop, text, words):
    Path("days.csv").write_text(text)
    assert words in fault("tell", "shop.toml", "--csv", "days.csv")
    assert StudyStore.open(load(shop)).entries() == []


def test_columns_that_are_not_needed_may_repeat(shop):
    Path("days.csv").write_text("stock,note,demand,value,note\n5,a,9,5,b\n")
    assert "1 row is added" in run("tell", "shop.toml", "--csv", "days.csv").stdout
    shown = run("tell", "shop.toml", "--csv", "days.csv").stdout
    assert "0 rows are added from days.csv (1 was there already)." in shown
    assert "1 row is written" in run("export", "shop.toml", "--csv", "out.csv").stdout


def test_an_export_never_goes_over_the_study_itself(shop, tmp_path):
    run("tell", "shop.toml", "--decision", "stock=5", "--value", "1", "--context", "demand=3")
    text = shop.read_bytes()
    (tmp_path / "link.csv").symlink_to(tmp_path / "shop.db")
    for option in ("--csv", "--parquet"):
        for path in ("shop.toml", "shop.db", str(tmp_path / "shop.db"), "link.csv"):
            assert "is the study itself" in fault("export", "shop.toml", option, path)
    assert shop.read_bytes() == text
    assert len(StudyStore.open(load(shop)).entries()) == 1
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0
    assert run("export", "shop.toml", "--csv", "out.csv").exit_code == 0  # another table is written over


def test_values_of_every_kind_are_exported(tmp_path, monkeypatch):
    import pyarrow.parquet

    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(
        'method = "gp-ucb"\n[decisions.colour]\nchoices = ["red", 3, true]\n[decisions.a]\nlow=0\nhigh=1\n'
    )
    assert run("export", "s.toml", "--parquet", "out.parquet").exit_code == 0  # nothing yet
    assert pyarrow.parquet.read_table("out.parquet").num_rows == 0
    for colour in ("red", "3", "True"):
        assert (
            run(
                "tell", "s.toml", "--decision", f"colour={colour}", "--decision", "a=0.5", "--value", "1"
            ).exit_code
            == 0
        )
    assert run("export", "s.toml", "--parquet", "out.parquet").exit_code == 0
    assert pyarrow.parquet.read_table("out.parquet")["colour"].to_pylist() == ["red", "3", "True"]
    assert "worst" not in run("recommend", "s.toml").stdout
    assert "cannot be written" in fault("export", "s.toml", "--csv", ".")


def test_what_is_exported_can_be_told_again(shop, tmp_path):
    for index in range(3):
        ask(shop)
        run("tell", "shop.toml", str(index), "--value", "1.5", "--context", "demand=2")
    run("export", "shop.toml", "--csv", "out.csv")
    other = tmp_path / "other.toml"
    other.write_text(shop.read_text().replace("shop.db", "other.db"))
    assert "3 rows are added" in run("tell", "other.toml", "--csv", "out.csv").stdout
    assert [e.decision for e in StudyStore.open(load(other)).entries()] == [
        e.decision for e in StudyStore.open(load(shop)).entries()
    ]


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1", "@sum", "'=x", "'quoted'", "plain", "'"]


def test_no_choice_is_exported_as_a_formula_and_all_are_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    choices = ", ".join(f'"{choice}"' for choice in FORMULAS)
    Path("odd.toml").write_text(f'method = "random"\n[decisions."-a"]\nchoices = [{choices}]\n[contexts.c]\n')
    store = StudyStore.open(load(Path("odd.toml")))
    for choice in FORMULAS:
        store.add({"-a": choice}, {"c": -1.5}, -2)
    assert run("export", "odd.toml", "--csv", "out.csv").exit_code == 0
    with open("out.csv", newline="") as table:
        head, *rows = csv.reader(table)
    assert head == ["number", "'-a", "c", "value", "told"]
    assert [row[1] for row in rows] == [
        "'=cmd|' /C calc'!A0", "'+1", "'-1", "'@sum", "''=x", "'quoted'", "plain", "'"
    ]  # fmt: skip
    assert {row[2] for row in rows} == {"-1.5"}  # numbers are numbers
    Path("new.toml").write_text(Path("odd.toml").read_text())
    assert "8 rows are added" in run("tell", "new.toml", "--csv", "out.csv").stdout
    told = StudyStore.open(load(Path("new.toml"))).entries()
    assert [entry.decision["-a"] for entry in told] == FORMULAS


@pytest.mark.parametrize("text", ["=x", "\tx", "\rx", "'=x", "''\t"])
def test_an_apostrophe_is_put_before_a_formula_and_taken_off(text):
    assert csv_reading.safe(text) == f"'{text}"
    assert csv_reading.bare(csv_reading.safe(text)) == text
