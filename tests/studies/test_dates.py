"""Dates as tables have them."""

from datetime import datetime

import pytest

from windage.errors import InputError
from windage.studies.dates import iso, moment, month_first


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("2026-11-18", "2026-11-18"),
        ("2026-11-18 08:30", "2026-11-18T08:30:00"),
        ("2026-11-18T8:30:05", "2026-11-18T08:30:05"),
        ("2026-11-18T08:30:05Z", "2026-11-18T08:30:05+00:00"),
        ("2026-11-18T08:30:05+0100", "2026-11-18T08:30:05+01:00"),
        ("2026/1/8", "2026-01-08"),
        ("18.11.2026", "2026-11-18"),
        ("3.4.2026", "2026-04-03"),
        ("18.11.2026 08:30", "2026-11-18T08:30:00"),
        ("4/4/2026", "2026-04-04"),
    ],
)
def test_dates_that_say_what_they_mean(cell, text):
    assert iso(cell, None) == text
    assert moment(text) is not None


def test_slashes_are_read_by_the_column():
    assert month_first(["11/18/2026", "3/4/2026"]) is True
    assert month_first(["18/11/2026", "3/4/2026", ""]) is False
    assert month_first(["3/4/2026", "5/6/2026"]) is None
    assert month_first(["18/11/2026", "11/18/2026"]) is None
    assert iso("3/4/2026", True) == "2026-03-04"
    assert iso("3/4/2026", False) == "2026-04-03"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("3/4/2026", "day or month first"),
        ("31.02.2026", "no day of the calendar"),
        ("2026-11-18 25:00", "no day of the calendar"),
        ("18.11.26", "no date"),
        ("yesterday", "no date"),
        ("²026-11-18", "no date"),
        ("0026-11-18", "year must be 1900 to 2200"),
    ],
)
def test_other_dates_are_refused_in_words(cell, words):
    with pytest.raises(InputError, match=words) as error:
        iso(cell, None)
    assert "date is" in str(error.value)


def test_a_moment_is_local_time_and_none_where_there_is_none():
    assert moment("2026-11-18") == datetime(2026, 11, 18)
    utc = moment("2026-11-18T08:30:05+00:00")
    assert utc is not None
    assert utc.tzinfo is None
    for odd in (None, 7, "", "soon", "0001-01-01T00:00:00+14:00"):
        assert moment(odd) is None
