"""What ``windage status`` shows: figures, ages, and the density by the study's own rule."""

from pathlib import Path

import numpy as np
import pytest

import windage
from shops import run
from windage.studies import conditions, summary
from windage.studies.file import load
from windage.studies.store import StudyStore

SEEN = [0.0, 0.5, 1.0, 1.2, 2.0, 2.5, 3.0, 9.0, 9.5, 10.0]


def optimizer(real, values=SEEN, **settings):
    found = windage.Optimizer({"stock": windage.Real(0, 1)}, {"demand": real}, seed=0, **settings)
    for value in values:
        found.tell({"stock": 0.5}, context={"demand": value}, value=1.0)
    return found


def masses(real, values=SEEN, **settings):
    scaled = np.log(values) if real.log else np.array(values)
    return conditions.masses(optimizer(real, values, **settings).density, scaled, real)


@pytest.mark.parametrize("boundary", ["clamp", "reflect", "none", "held-out"])
@pytest.mark.parametrize("bandwidth", ["rule-of-thumb", "silverman", 0.03, "held-out"])
@pytest.mark.parametrize("real", [windage.Real(0, 10), windage.Real(low=0), windage.Real()])
def test_the_bars_are_the_density_of_the_study(real, bandwidth, boundary):
    edges, mass = masses(real, bandwidth=bandwidth, boundary=boundary)
    assert mass.sum() == pytest.approx(1, abs=5e-3)
    settings = {"bandwidth": bandwidth, "boundary": boundary}
    draws = optimizer(real, **settings).density.sample(40_000, seed=1)[:, 0]
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    drawn = np.histogram(draws, bins=outer)[0] / len(draws)
    assert mass == pytest.approx(drawn, abs=0.012)  # five standard errors


def test_the_settings_make_a_difference():
    """The negative control: another rule shows other bars."""
    plain = masses(windage.Real(0, 10))[1]
    for other in ({"bandwidth": 0.03}, {"boundary": "reflect"}):
        assert np.abs(masses(windage.Real(0, 10), **other)[1] - plain).max() > 0.02


def test_a_context_in_logarithms():
    edges, mass = masses(windage.Real(0.1, log=True), [0.5, 1.0, 10.0, 1000.0])
    assert mass.sum() == pytest.approx(1, abs=5e-3)
    assert edges[0] == pytest.approx(max(np.log(0.1), edges[0]))
    real = windage.Real(0.1, log=True)
    assert len(conditions.bars(optimizer(real, [0.5, 10.0]).density, [0.5, 10.0], real)) == conditions.LINES


def test_equal_contexts_need_no_bars():
    density = optimizer(windage.Real(), [3.0, 3.0]).density
    assert conditions.bars(density, [3.0, 3.0], windage.Real()) == ["3: seen 2 times"]


def test_status_uses_the_settings_of_the_study_file(shop):
    text = shop.read_text()
    Path("past.csv").write_text("stock,demand,value\n5,9,1\n10,12,1\n20,14,1\n12,0,1\n")
    assert run("tell", "shop.toml", "--csv", "past.csv").exit_code == 0
    shown = {}
    for bandwidth in ('"rule-of-thumb"', "0.02"):
        shop.write_text(text.replace("[settings]", f"[settings]\nbandwidth = {bandwidth}"))
        result = run("status", "shop.toml")
        assert result.exit_code == 0, result.exception
        store = StudyStore.open(load(shop))
        density, demand = store.everything().optimizer.density, [9.0, 12.0, 14.0, 0.0]
        lines = conditions.bars(density, demand, store.file.contexts["demand"])
        assert all(line.strip() in result.stdout for line in lines)
        shown[bandwidth] = lines
    assert shown['"rule-of-thumb"'] != shown["0.02"]


def test_contexts_beyond_bounds_that_came_later_count_as_at_the_bound(shop):
    for demand in ("3", "30"):
        told = ["--decision", "stock=5", "--value", "1", "--context", f"demand={demand}"]
        assert run("tell", "shop.toml", *told).exit_code == 0
    text = shop.read_text()
    for high, words in ((20, "still teaching: 1."), (2, "still teaching: 0, 1.")):
        shop.write_text(
            text.replace("[contexts.demand]\nlow = 0", f"[contexts.demand]\nlow = 0\nhigh = {high}")
        )
        shown = run("status", "shop.toml")
        assert shown.exit_code == 0, shown.exception
        assert words in " ".join(shown.stdout.split())
        assert "Estimated distribution" in shown.stdout


def test_ages():
    assert [summary.age(s) for s in (3, 65, 7300, 86400 * 3)] == [
        "less than a minute", "1 minute", "2 hours", "3 days",
    ]  # fmt: skip
