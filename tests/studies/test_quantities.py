"""Numbers as people write them."""

import pytest

from windage.studies.quantities import figure


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4356518.0, "4356518"),
        (1234567.5, "1234568"),
        (123456.0, "123456"),
        (3.4, "3.4"),
        (14.440612, "14.4406"),
        (0.00123456789, "0.00123457"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (1e-9, "1e-09"),
        (2e20, "2e+20"),
        (100.0, "100"),
        (7, "7"),
        ("red", "red"),
    ],
)
def test_numbers_as_people_write_them(value, shown):
    assert figure(value) == shown
