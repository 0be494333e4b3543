"""Numbers as tables have them."""

import pytest

from windage.errors import InputError
from windage.studies.numerals import decimal_mark, plain


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("5", "5"),
        ("-5.25", "-5.25"),
        ("5,25", "5.25"),
        ("0,125", "0.125"),
        (",5", ".5"),
        ("1,200.50", "1200.50"),
        ("1.200,50", "1200.50"),
        ("1 200,50", "1200.50"),
        ("1\u00a0200", "1200"),
        ("1\u202f200\u202f300,5", "1200300.5"),
        ("1 200,500", "1200.500"),
        ("1'200", "1200"),
        ("1’200.5", "1200.5"),
        ("€ 120", "120"),
        ("120 €", "120"),
        ("-€120", "-120"),
        ("$-5", "-5"),
        ("$1,200.00", "1200.00"),
        ("1,200,300", "1200300"),
        ("1.200.300", "1200300"),
        ("−3", "-3"),
        ("1.5e-3", "1.5e-3"),
        ("1,200e3", "1.200e3"),
        ("12.125", "12.125"),
    ],
)  # fmt: skip
def test_what_can_be_read_in_one_way_is_read(cell, text):
    assert plain(cell, None, ",", "value") == text


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "red",
        "²",
        "8kg",
        "1.2.3",
        "1,2,3",
        "1 20",
        "12 00",
        "--5",
        "+-5",
        "€€5",
        "€",
        "1,20.5",
        "1.200,5,5",
        "1e",
        ".",
    ],
)
def test_what_is_no_number_is_left_to_the_check_that_says_so(cell):
    assert plain(cell, None, ",", "value") == cell


@pytest.mark.parametrize(
    ("cell", "separator"), [("1,200", ","), ("1,200", "\t"), ("$1,200", ","), ("1.200", ";")]
)
def test_what_can_be_read_in_two_ways_is_refused_with_both(cell, separator):
    with pytest.raises(InputError, match=r"which could be 1200 or 1\.200: write .* or as 1\.2000"):
        plain(cell, None, separator, "value")


def test_the_other_cells_say_which_mark_is_the_decimal_one():
    assert plain("1,200", decimal_mark(["7.5", "3"]), ",", "value") == "1200"
    assert plain("1,200", decimal_mark(["7,5", "3"]), ",", "value") == "1.200"
    assert plain("1.200", decimal_mark(["7,5"]), ";", "value") == "1200"
    assert plain("1.200", decimal_mark(["0.5"]), ";", "value") == "1.200"
    assert plain("1,200", None, ";", "value") == "1.200"  # spreadsheets write ; where the comma is decimal
    assert decimal_mark(["7,5", "7.5"]) is None
    assert decimal_mark(["1,200", "1.200", "7"]) is None
    assert decimal_mark(["1,200,300"]) == "."
