"""CSV tables as people have them."""

import codecs

import pytest

from windage.errors import InputError
from windage.studies.csv_reading import read

NEEDED = {"stock": "kg", "demand": "", "value": "EUR"}
TEXT = "stock,demand,value\n5,9,7\n"


def lines(content):
    return read(content if isinstance(content, bytes) else content.encode(), "days.csv", NEEDED).lines


def cells(content):
    return [tuple(line.cells[name] for name in NEEDED) for line in lines(content)]


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        "Stock, DEMAND ,\tvalue \n5, 9,7\n",
        "stock [kg];demand (pieces);Value [EUR]\n5;9;7\n",
        "sep=;\nstock;demand;value\n5;9;7\n",
        'sep=,\r\n"stock","demand","value"\r\n"5","9","7"\r\n',
        "stock\tdemand\tvalue\n5\t9\t7\n",
        "stock|demand|value\n5|9|7\n",
        "\n\nstock,demand,value\n\n5,9,7\n,,\n",
        '"my, own; note",stock,demand,value\n"a\nb",5,9,7\n',
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("utf-16"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-32"),
        ("Größe," + TEXT.replace("\n5", "\nx,5")).encode("cp1252"),
    ],
)
def test_a_table_is_read_however_it_was_saved(content):
    assert cells(content) == [("5", "9", "7")]


def test_lines_are_counted_as_an_editor_does():
    assert [line.number for line in lines("sep=,\n" + TEXT + "\n1,2,3\n")] == [3, 5]


def test_a_column_may_have_another_name_where_none_has_its_own():
    other = {"value": "profit of the day"}
    for head in ("stock,demand,Profit of the Day [EUR]", "stock,demand,profit of the day"):
        found = read(f"{head}\n5,9,7\n".encode(), "days.csv", NEEDED, (), other).lines
        assert [line.cells["value"] for line in found] == ["7"]
    bracketed = read(b"stock,demand,profit (net)\n5,9,7\n", "days.csv", NEEDED, (), {"value": "profit (net)"})
    assert bracketed.lines[0].cells["value"] == "7"
    both = read(b"stock,demand,profit of the day,value\n5,9,1,7\n", "days.csv", NEEDED, (), other).lines
    assert both[0].cells["value"] == "7"
    with pytest.raises(InputError, match="in EUR"):
        read(b"stock,demand,profit of the day [$]\n5,9,7\n", "days.csv", NEEDED, (), other)


def test_an_exact_name_comes_before_one_that_is_alike():
    assert cells("Stock,stock,demand,value\n1,5,9,7\n") == [("5", "9", "7")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("stock,demnd [pieces],value\n", r"no column 'demand'.*Did you mean 'demnd'"),
        ("stock,demand,value,stock\n5,9,5,6\n", "'stock' more than once"),
        ("Stock,STOCK,demand,value\n5,9,5,6\n", "'stock' more than once"),
        ("stock [t],demand,value\n5,9,5\n", r"'stock \[t\]', but the study has 'stock' in kg: convert"),
        ("sep=x\nstockxdemandxvalue\n", "separated by 'x'"),
        (b"PK\x03\x04\x00\x00", "it is no text. Save it as CSV in UTF-8"),
        (TEXT.encode("utf-16-le"), "it is no text"),
        (b"\xff\xfea", "letters are of an unknown kind"),
        (b"stock,demand,value\n\x81\n", "letters are of an unknown kind"),
        ("stock,demand,value\n5,9," + "5" * 200_000 + "\n", "cannot be read as a table: field larger"),
        ("s" * 200_000, "cannot be read as a table: field larger"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_words(content, words):
    with pytest.raises(InputError, match=words):
        lines(content)
