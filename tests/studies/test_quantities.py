"""Numbers as people write them."""

import pytest

from shops import ask, run
from windage.studies.file import load
from windage.studies.quantities import Quantity, counted, figure, places_of


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4356518.0, "4356518"),
        (1234567.5, "1234568"),
        (123456.0, "123456"),
        (1049.37, "1049"),
        (-1049.37, "-1049"),
        (3.4, "3.4"),
        (14.440612, "14.4"),
        (99.96, "100"),
        (0.00123456789, "0.00123"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (1e-9, "1e-09"),
        (2e20, "2e+20"),
        (100.0, "100"),
        (1049, "1049"),
        ("red", "red"),
    ],
)
def test_numbers_as_people_write_them(value, shown):
    assert figure(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "step", "log", "value", "shown"),
    [
        (0, 40, None, False, 17.4612, "17.5"),
        (0, 1000, None, False, 412.37, "412"),
        (0, 1, None, False, 0.42512, "0.425"),
        (0, 1e6, None, False, 412345.6, "412346"),
        (1000, 1001, None, False, 1000.4251, "1000.425"),
        (-1, 1, None, False, -0.001, "0"),
        (0, 40, 0.5, False, 17.5, "17.5"),
        (0, 40, 0.5, False, 17.0, "17"),
        (0.25, 40.25, 0.5, False, 17.75, "17.75"),
        (0, 1, 0.0625, False, 0.0625, "0.0625"),
        (0, 1, 1 / 3, False, 2 / 3, "0.666667"),
        (0, 1e5, 1000, False, 41000.0, "41000"),
        (1e-6, 1, None, True, 3.4567e-3, "0.00346"),
        (0, 1e-9, None, False, 3.4567e-10, "3.46e-10"),
    ],
)
def test_a_decision_is_shown_precisely_enough_to_be_carried_out(low, high, step, log, value, shown):
    assert Quantity(places=places_of(low, high, step, log)).figure(value) == shown


def test_what_was_told_is_repeated_in_full():
    assert Quantity("EUR").in_full(1049.375) == "1049.375 EUR"
    assert Quantity("EUR").in_full(3.0) == "3 EUR"


def test_one_is_no_plural():
    assert (counted(1, "row"), counted(0, "row"), counted(2, "row")) == ("1 row", "0 rows", "2 rows")


def test_commands_show_few_digits_and_json_all(shop):
    asked = ask(shop)
    stock = asked["decision"]["stock"]
    assert len(str(stock)) > 6
    assert (
        "is told: 1049.375 EUR."
        in run("tell", "shop.toml", "0", "--value", "1049.375", "--context", "demand=12.3456").stdout
    )
    status = run("status", "shop.toml").stdout
    assert "12.3: seen 1 time" in status
    assert f" {stock:.1f}".removesuffix(".0") in status
    assert " 1049 " in status
    assert str(stock) not in status
    assert load(shop).show({"stock": stock}) == {"stock": f"{stock:.1f}".removesuffix(".0") + " kg"}
