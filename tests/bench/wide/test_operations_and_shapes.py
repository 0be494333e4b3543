"""Operations, kinetics, shapes and mixed decisions: every instance is sound, and formulas by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from windage.bench.wide import contexts, instance, kinetics, mixed, operations, shapes
from windage.bench.wide.units import stretched
from windage.space import Categorical, Integer, Real

FAMILIES = {f.name: f for module in (operations, kinetics, shapes, mixed) for f in module.FAMILIES}
CASES = [(name, number) for name in FAMILIES for number in range(3)]
each = pytest.mark.parametrize(("name", "number"), CASES, ids=[f"{n}+{k}" for n, k in CASES])


def made(name, number):
    return FAMILIES[name].instance(number)


def decisions(problem, n, seed):
    return problem.valid(np.random.default_rng(seed).random((n, len(problem.decisions))))


def test_the_families_and_their_splits():
    splits = {name: family.split for name, family in FAMILIES.items()}
    assert len(splits) == 13
    applied = {"newsvendor-costs", "inventory", "kinetics", "mixed-recipes"}
    development = applied | {"steps", "narrow-peaks", "four-conditions"}
    assert {name for name, split in splits.items() if split == "development"} == development
    growing = {splits[name] for name, number in CASES if made(name, number).growing}
    assert growing == {"development", "validation"}


@each
def test_the_same_instance_from_the_same_number(name, number):
    one, two = made(name, number), made(name, number)
    x, c = decisions(one, 50, 1), one.sample_contexts(50, np.random.default_rng(2))
    np.testing.assert_array_equal(c, two.sample_contexts(50, np.random.default_rng(2)))
    np.testing.assert_array_equal(one.evaluate(x, c), two.evaluate(x, c))
    other = made(name, number + 3)
    assert list(other.decisions) == list(one.decisions)
    assert list(other.contexts) == list(one.contexts)
    assert np.any(other.evaluate(x, c) != one.evaluate(x, c))


@each
def test_it_broadcasts_and_is_finite(name, number):
    problem = made(name, number)
    x, c = decisions(problem, 3, 3), problem.sample_contexts(4, np.random.default_rng(4))
    table = problem.evaluate(x[:, None], c[None])
    assert table.shape == (3, 4)
    rows = [problem.evaluate(np.repeat(x[i : i + 1], 4, axis=0), c) for i in range(3)]
    np.testing.assert_allclose(table, rows, rtol=1e-9, atol=1e-12)
    low, high = problem.box
    corners = np.stack([low, high, *x])
    nodes = problem.distribution.nodes
    ends = [problem.distribution.from_uniform(np.full((1, nodes.shape[1]), u))[0] for u in (0.0, 1.0)]
    if problem.distribution.bounds is None:
        ends += [np.full(nodes.shape[1], -1e6), np.full(nodes.shape[1], 1e6)]
    extreme = np.stack([*ends, nodes.min(axis=0), nodes.max(axis=0)])
    assert np.all(np.isfinite(problem.evaluate(corners[:, None], extreme[None])))
    noisy = problem.observe(corners, nodes[: len(corners)], np.random.default_rng(5))
    assert np.all(np.isfinite(noisy))


@each
def test_the_expectation_is_the_mean(name, number):
    problem = made(name, number)
    x = decisions(problem, 6, 6)
    expected = problem.expected(x)
    plain = problem.evaluate(x[:, None], problem.distribution.nodes[None]).mean(axis=1)
    np.testing.assert_allclose(expected, plain, rtol=1e-9, atol=1e-9 * np.abs(plain).max())
    drawn = problem.sample_contexts(20_000, np.random.default_rng(7))
    values = problem.evaluate(x[:, None], drawn[None])
    error = values.std(axis=1) / math.sqrt(len(drawn))
    assert np.all(np.abs(values.mean(axis=1) - expected) <= 5 * error + 1e-9)


@each
def test_no_random_decision_is_better_than_the_optimum(name, number, monkeypatch):
    """With fewer nodes, decisions and climbs, so that it is quick: the search is the same."""
    monkeypatch.setattr(contexts, "NODES", 2**8)
    monkeypatch.setattr(instance, "SCAN", 2**11)
    monkeypatch.setattr(instance, "STARTS", 6)
    problem = made(name, number)
    top = problem.optimum
    values = problem.expected(decisions(problem, 2000, 8))
    # a sum of cliffs has no slope to climb: its optimum is that of the scan
    slack = 0.02 * (top.value - problem.random) if name == "cliffs" else 1e-9 * abs(top.value)
    assert top.value >= values.max() - slack
    assert top.value - problem.random >= 0.5 * values.std()
    np.testing.assert_allclose(problem.expected(top.decision), top.value, rtol=1e-9)
    low, high = problem.box
    assert np.all((top.decision >= low) & (top.decision <= high))
    for d, parameter in enumerate(problem.decisions.values()):
        if isinstance(parameter, Integer | Categorical):
            assert top.decision[d] == round(top.decision[d])


@each
def test_the_context_changes_the_best_decision(name, number):
    problem = made(name, number)
    x = decisions(problem, 300, 9)
    c = problem.sample_contexts(300, np.random.default_rng(10))
    assert len(set(problem.evaluate(x[:, None], c[None]).argmax(axis=0))) > 1


def test_stretched_contexts_have_their_units():
    unit = contexts.draw("correlated", 2, np.random.default_rng(0))
    moved = stretched(unit, (10.0, 30.0), (-1.0, 0.0))
    assert moved.bounds == ((10.0, 30.0), (-1.0, 0.0))
    np.testing.assert_allclose(moved.nodes, unit.nodes * [20, 1] + [10, -1])


def test_newsvendor_by_hand():
    one = np.ones(1)
    function = operations.Newsvendor(9 * one, 5 * one, 1 * one, 2 * one, budget=100, excess=0.5)
    assert function(np.array([[10.0]]), np.array([[6.0]]))[0] == 9 * 6 + 1 * 4 - 5 * 10
    assert function(np.array([[10.0]]), np.array([[15.0]]))[0] == 9 * 10 - 5 * 10 - 2 * 5
    assert function(np.array([[30.0]]), np.array([[30.0]]))[0] == 4 * 30 - 0.5 * 50**2 / 100


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_best_stock_is_the_critical_fractile(number):
    problem = made("newsvendor-costs", number)
    f = problem.function
    fractile = (f.price + f.shortage - f.cost) / (f.price + f.shortage - f.salvage)
    best = np.quantile(problem.distribution.nodes, fractile[0])
    assert abs(problem.optimum.decision[0] - best) < 1


def test_demands_of_several_products_are_correlated():
    nodes = made("newsvendor-several", 2).distribution.nodes
    together = np.abs(stats.spearmanr(nodes).statistic[np.triu_indices(4, 1)])
    assert np.all(together > 0.2)


def test_erlang_c_by_hand():
    """Load 2: C(3) = 4/9; load 1 with 2 servers: 1/3; one server: the load; overload: all wait."""
    chances = operations.erlang_c(np.array([2.0, 1.0, 0.5, 7.0]), 3)
    assert chances[0, 2] == pytest.approx(4 / 9)
    assert chances[1, 1] == pytest.approx(1 / 3)
    assert chances[2, 0] == pytest.approx(0.5)
    assert np.all(chances[3] == 1)
    np.testing.assert_array_equal(chances[0, :2], 1)


def test_queue_by_hand():
    """2 servers at load 1: L = 1/3; room 1 makes it 1/4. At load 4: the room is full, 2 loads are lost."""
    queue = operations.Queue(np.array([20.0]), 6.0, 12.0, 5.0, 1.0, 1.0, 0.5, 4)
    two = np.array([[2.0]])
    assert queue(two, np.array([[6.0]]))[0] == pytest.approx(-(40 + 12 / 4 + 0.5))
    assert queue(two, np.array([[24.0]]))[0] == pytest.approx(-(40 + 12 + 5 * 6 * 2 + 0.5))


def test_inventory_by_hand():
    """s = λL = 20 and variance 25: E(X - s)⁺ = E(s - X)⁺ = 5 φ(0); Q = 80."""
    loss = 5 / math.sqrt(2 * math.pi)
    function = operations.Inventory(order=100, holding=0.5, shortage=8, spread=1.25)
    value = function(np.array([[20.0, 100.0]]), np.array([[4.0, 5.0]]))[0]
    assert value == pytest.approx(-((100 + 8 * loss) * 4 / 80 + 0.5 * (40 + loss)))
    least = function(np.array([[200.0, 50.0]]), np.array([[4.0, 5.0]]))[0]  # five days' demand
    assert least == pytest.approx(-(100 * 4 / 20 + 0.5 * (10 + 180)))


def test_pricing_by_hand():
    """All attractions alike: a third each for the product, the rival and nothing."""
    function = kinetics.Pricing(np.array([5.0]), np.array([4.0]), 5.0, 0.5, 1.0, 6.0)
    assert function(np.array([[10.0, 0.0]]), np.array([[0.0, 10.0]]))[0] == pytest.approx(6 * 6 / 3)


def test_reaction_by_hand():
    """At 90 °C the rates are the given ones; at equal rates the share of B is kt e^{-kt}."""
    function = kinetics.Reaction((1.0, 0.25), (50, 100), 0.5, 100, 0, 0, 0)
    at, pure = np.array([[90.0, 2.0]]), np.array([[1.0, 0.0]])
    share = (math.exp(-2) - math.exp(-0.5)) / (0.25 - 1)
    assert function(at, pure)[0] == pytest.approx(100 * share)
    alike = replace(function, rates=(0.5, 0.5))
    assert alike(at, pure)[0] == pytest.approx(100 * math.exp(-1))
    half = 0.5 * 100 * 0.75 * (math.exp(-1.5) - math.exp(-0.5)) / (0.25 - 0.75)  # rates 0.75 and 0.25
    assert function(at, np.array([[0.5, 0.0]]))[0] == pytest.approx(half)


def test_steps_are_flat_within_a_cell():
    function = made("steps", 1).function
    corner = np.array([[2.0, 3.0]]) / function.cells
    inside = corner + np.linspace(0.01, 0.99, 9)[:, None] / function.cells
    values = function(inside, np.full((9, 2), 0.43))
    np.testing.assert_allclose(values, values[0])
    assert function(corner - 1e-6, np.full((1, 2), 0.43))[0] != values[0]


def test_a_cliff_by_hand():
    one = np.ones(1)
    function = shapes.Cliff(2 * one, one, 0.5 * one, 0.2, 0.6 * one, 0.7)
    c = np.array([[0.5]])  # the limit is 0.5
    assert function(np.array([[0.49]]), c)[0] == pytest.approx(2 * 0.7 * 1.25)
    assert function(np.array([[0.51]]), c)[0] == -0.7


def test_the_narrow_bump_is_the_highest():
    function = made("narrow-peaks", 0).function
    assert function.height.argmax() == function.width.argmin() == len(function.height) - 1
    top = function(function.centre[-1:], function.context[-1:])[0]
    assert top >= function.height[-1]


@pytest.mark.parametrize("dc", [1, 2, 4])
def test_squared_distance_is_that_of_the_formula(dc):
    rng = np.random.default_rng(dc)
    x, c, centre, width = rng.random((5, 3)), rng.random((5, dc)), rng.random(3), rng.uniform(0.1, 1, 3)
    shift = rng.standard_normal((3, dc))
    plain = np.sum(((x - centre - (c - 0.5) @ shift.T) / width) ** 2, axis=1)
    np.testing.assert_allclose(shapes.squared_distance(x, c, centre, shift, width), plain, atol=1e-9)


@pytest.mark.parametrize("far", [False, True])
def test_hills_by_hand(far):
    one = np.ones(1)
    hill = shapes.Hills(2 * one, 0.5 * one[None], 0.4 * one[None, None], 0.1 * one, 3 * one, far)
    x, c = np.array([[0.5], [0.6]]), np.array([[0.5], [1.0]])  # 0 and 1 widths away
    away = 1 / (1 + 1) if far else math.exp(-0.5)
    np.testing.assert_allclose(hill(x, c), [1.5 + 2, 3 + 2 * away])


def test_eight_variables_matter_unequally():
    problem = made("many-variables", 0)
    assert len(problem.decisions) == 8
    assert problem.function.width.max() > 4 * problem.function.width.min()


def test_recipes_by_hand():
    function = mixed.Recipes(
        level=np.array([1.0, 2.0]), height=np.array([1.0, 3.0]), slope=np.array([[1.0], [-1.0]]),
        centre=np.array([[0.2], [0.6]]), shift=np.zeros((2, 1, 1)), width=np.full((2, 1), 0.1),
    )  # fmt: skip
    x, c = np.array([[0, 0.2], [1, 0.7]]), np.array([[0.7], [0.7]])
    np.testing.assert_allclose(function(x, c), [1 + 1 + 0.2, 2 + 3 * math.exp(-0.5) - 0.2])


def test_a_plant_by_hand():
    """2 units of 10 and feed 20 ln 2 make 10; at one tolerance from the best temperature, 5."""
    two = np.ones(2)
    plant = mixed.Plant(10 * two, 4 * two, 2 * two, np.array([50.0, 10.0]), 8 * two, 9.0, 1.0)
    x = np.array([[1, 2, 20 * math.log(2)]])
    spent = 2 * 4 + 2 * 20 * math.log(2)
    for demand, temperature, profit in ((30, 10, 9 * 10), (30, 18, 9 * 5), (3, 18, 9 * 3 - 2)):
        value = plant(x, np.array([[demand, temperature]], dtype=float))[0]
        assert value == pytest.approx(profit - spent)


def test_noise_that_grows_with_the_outcome():
    problem = made("pricing", 1)
    assert problem.growing
    assert problem.noise == 0.1
    x, c = decisions(problem, 2000, 11), problem.sample_contexts(2000, np.random.default_rng(12))
    values = problem.evaluate(x, c)
    off = np.abs(problem.observe(x, c, np.random.default_rng(13)) - values)
    order = np.argsort(values)
    assert off[order[-500:]].mean() > 1.5 * off[order[:500]].mean()


def test_unbounded_contexts_are_told_without_bounds():
    problem = made("newsvendor-costs", 1)
    assert problem.distribution.bounds is None
    assert problem.contexts["demand"] == Real()
