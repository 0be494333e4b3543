"""A look at a new place: what it is worth, and when it is taken."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate

from windage import Integer, Optimizer, Real, places
from windage.combined import ExpectedBound, ExpectedGain
from windage.density import Nodes, sobol
from windage.maximize import score
from windage.methods import MOST_SERVED
from windage.places import (
    CHANCE,
    ENOUGH,
    KNOWN,
    PAUSE,
    REST,
    another_place,
    moved_on,
    since_the_last,
    weaker_half,
    worth,
)
from windage.space import DecisionSpace
from windage.surrogate import ProductGP, Training, fit, kernels


def test_a_new_place_gains_what_an_exponential_law_says():
    means = torch.tensor([0.1, 0.4, 0.2, 1.6], dtype=torch.double)
    near = torch.eye(4, dtype=torch.double)
    mean, spread = float(means[:3].mean()), float(means[:3].std(correction=0))
    low = mean - spread  # an exponential law with this mean and deviation begins here

    def excess(f):
        return (f - 1.6) * math.exp(-(f - low) / spread) / spread

    gain, cost = worth(means, near)
    assert gain == pytest.approx(integrate.quad(excess, 1.6, low + 60 * spread)[0], rel=1e-6)
    assert cost == pytest.approx(1.6 - mean)


def test_a_place_counts_once_however_often_it_was_seen():
    means = torch.tensor([0.1, 0.4, 0.2, 1.6], dtype=torch.double)
    often = torch.tensor([0, 1, 1, 1, 1, 1, 2, 3, 3, 3])
    near = (often[:, None] == often).double()
    assert worth(means[often], near) == pytest.approx(worth(means, torch.eye(4, dtype=torch.double)))


@pytest.mark.parametrize("means", [[1.0], [1.0, 1.0, 1.0]])
def test_where_nothing_is_known_of_other_places_a_look_gains_nothing(means):
    means = torch.tensor(means, dtype=torch.double)
    for near in (torch.ones(len(means), len(means)).double(), torch.eye(len(means)).double()):
        assert worth(means, near)[0] == 0


def test_a_place_has_half_the_lengthscale():
    class Model:
        scales = (torch.tensor([0.4, 9.0], dtype=torch.double),)

    a, b = torch.tensor([[0.1, 0.2]]).double(), torch.tensor([[0.3, 0.5]]).double()
    s = (0.2 / 0.2) ** 2 + (0.3 / 0.5) ** 2  # the second is cut to half the box
    expected = kernels.matern52(torch.tensor([[s]], dtype=torch.double))[0]
    assert torch.allclose(places._near(Model(), a, b), expected)


BLOCKS = DecisionSpace.of({"a": Real(0, 1), "b": Real(0, 1)}).blocks
HILL = torch.tensor([0.25, 0.25], dtype=torch.double)
SERVED = 320.0
LAW = Nodes.equal(sobol(8, 1, 0))


def settled(height, around=14, hill=HILL, after=()):
    """What is known after a look around, 18 decisions on a hill, and others after them; seen in logs."""
    rng = np.random.default_rng(3)
    there = rng.uniform(size=(14, 2))[:around]
    x = np.concatenate([there, hill.numpy() + 0.01 * rng.normal(size=(18, 2)), *[[place] for place in after]])
    x = torch.from_numpy(x)
    ripple = torch.sin(12 * x[:, 0]) * torch.cos(11 * x[:, 1])  # on a plain, which has places of its own
    y = ripple + height * (-(x - hill).square().sum(1) / 0.02).exp()
    y = y.exp() * torch.from_numpy(1 + 0.1 * rng.uniform(size=len(x)))
    c = torch.from_numpy(rng.uniform(size=(len(x), 1)))
    data = Training(x, c, (y - y.mean()) / y.std(), (0, 1), "matern", True, (0, 1)).in_logs(0.3)
    model = ProductGP(data, fit(data))
    return ExpectedGain([model], LAW, 0.5, MOST_SERVED)


def test_by_the_law_of_places_it_leaves_a_low_hill_for_one_not_seen_and_stays_on_a_high_one(monkeypatch):
    monkeypatch.setattr(places, "CHANCE", 1.0)
    monkeypatch.setattr(ExpectedGain, "worth_knowing", lambda *given: torch.tensor(-1.0))
    found = another_place(settled(0.2), HILL, BLOCKS, SERVED, 5)
    assert found is not None
    known = settled(0.2).posteriors[0].model.data.x
    assert float((known - found).norm(dim=1).min()) > 0.05
    assert torch.equal(found, another_place(settled(0.2), HILL, BLOCKS, SERVED, 5))
    assert another_place(settled(2.0), HILL, BLOCKS, SERVED, 5) is None


def test_once_the_best_is_of_another_peak_a_place_without_a_chance_is_not_looked_at(monkeypatch):
    acquisition = settled(0.2)
    found = another_place(acquisition, HILL, BLOCKS, SERVED, 5)
    means = acquisition.posteriors[0].moments(acquisition.posteriors[0].model.data.x)[0]
    chance = float(acquisition.chance(found[None], means.max()[None]))
    assert CHANCE <= chance < 0.5
    monkeypatch.setattr(ExpectedGain, "worth_knowing", lambda *given: torch.tensor(-1.0))
    monkeypatch.setattr(places, "moved_on", lambda means, near, first: True)
    for least, looked in ((chance, True), (1.01 * chance, False)):
        monkeypatch.setattr(places, "CHANCE", least)
        again = another_place(acquisition, HILL, BLOCKS, SERVED, 5)
        assert torch.equal(again, found) if looked else again is None
    monkeypatch.setattr(places, "moved_on", lambda means, near, first: False)
    assert torch.equal(another_place(acquisition, HILL, BLOCKS, SERVED, 5), found)


def test_the_best_has_moved_on_if_it_is_of_another_peak_than_the_best_before_the_first_look():
    means = torch.tensor([0.5, 1.0, 0.2, 3.0, 2.0], dtype=torch.double)
    near = torch.eye(5, dtype=torch.double)
    near[3, 1] = near[1, 3] = 0.2
    near[3, 4] = near[4, 3] = 0.05
    assert [moved_on(means, near, first) for first in (1, 2, 3, 4, 5)] == [True, False, False, False, False]
    assert moved_on(torch.tensor([0.5, 1, 0.2, 1.5, 2]).double(), near, 2)
    assert moved_on(torch.tensor([0.5, 0.1, 0.2, 1.5, 2]).double(), near, 4)


def test_where_the_law_expects_nothing_the_surrogates_may(monkeypatch):
    acquisition = settled(0.2)
    looked = another_place(acquisition, HILL, BLOCKS, SERVED, 5)
    model = acquisition.posteriors[0].model
    level = acquisition.posteriors[0].moments(model.data.x)[0].max()[None]
    worth_one = float(ExpectedGain([model], LAW, 0.5, 1.0).worth_knowing(looked[None], level))
    worth_none = float(ExpectedGain([model], LAW, 0.5, 0.0).worth_knowing(looked[None], level))
    assert worth_none < 0 < worth_one - worth_none
    enough = -worth_none / (worth_one - worth_none)  # for so many decisions to come
    monkeypatch.setattr(places, "CHANCE", 1.0)
    for served, expected in ((1.01 * enough, True), (0.99 * enough, False)):
        found = another_place(ExpectedGain([model], LAW, 0.5, served), HILL, BLOCKS, 0.0, 5)
        assert torch.equal(found, looked) if expected else found is None


def test_it_waits_for_enough_observations_and_for_decisions_to_settle(monkeypatch):
    known = settled(0.2)
    assert another_place(known, HILL, BLOCKS, SERVED, 5) is not None
    assert another_place(known, HILL + 0.5, BLOCKS, SERVED, 5) is None
    monkeypatch.setattr(places, "ENOUGH", 17)  # 34 of two decisions, and 32 are known
    assert another_place(known, HILL, BLOCKS, SERVED, 5) is None


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("likely", [False, True])
@pytest.mark.parametrize("pays", [False, True])
def test_what_a_look_showed_is_followed_before_the_next(pays, likely, moved, monkeypatch):
    """With a gain and a chance for two decisions, with one of them for more; with a chance alone at first."""
    monkeypatch.setattr(places, "CHANCE", 0.0 if likely else 1.0)
    monkeypatch.setattr(places, "moved_on", lambda means, near, first: moved)
    monkeypatch.setattr(ExpectedGain, "worth_knowing", lambda *given: torch.tensor(-1.0))
    after = [[0.8, 0.6], *[[0.25, 0.25]] * 20]
    looks = 14 + 2 + 1 - 2 * ENOUGH  # after the first twelve: around, to know the hill, and the place

    def looked(waited):
        known = settled(0.2, after=after[: waited + 1])
        return another_place(known, HILL, BLOCKS, SERVED if pays else 0.0, 5) is not None

    pause = REST if pays and likely else PAUSE + looks
    assert not looked(pause - 1)
    assert looked(pause) == (likely or (pays and not moved))
    monkeypatch.setattr(places, "EARLY", 1)
    assert looked(pause) == (pays and likely)


def test_a_decision_is_a_look_until_its_place_was_seen_twice():
    of = torch.tensor([0, 0, 0, 1, 0, 0, 1, 0, 1])  # the places of decisions; a look: 0, 1, 3, 6
    near = (of[:, None] == of).double()
    assert KNOWN == 2
    for count in range(2, len(of) + 1):
        told = near[:count, :count]
        seen = [int((of[:i] == of[i]).sum()) for i in range(count)]
        looks = [i for i in range(count) if seen[i] < 2]
        for first in (0, 3):
            assert since_the_last(told, first) == (count - 1 - looks[-1], sum(i >= first for i in looks))


def test_the_look_goes_where_the_surrogates_like_it_best_among_places_hardly_known():
    acquisition = settled(0.2)
    found = another_place(acquisition, HILL, BLOCKS, SERVED, 5)
    model = acquisition.posteriors[0].model
    candidates = sobol(places.CHOICE, 2, 5)
    unknown = [x for x in candidates if float(places._near(model, x[None], model.data.x).sum()) < 2]
    best = model.data.x[int(acquisition.posteriors[0].moments(model.data.x)[0].argmax())]
    weak = ExpectedBound([model], weaker_half([model], LAW, best), 0.5)
    values = [float(score(weak, x[None])) for x in unknown]
    assert 0 < len(unknown) < len(candidates)
    assert torch.equal(found, unknown[int(np.argmax(values))])


def test_the_weaker_half_of_the_law_is_of_the_contexts_with_the_least_outcome():
    known = settled(0.2).posteriors[0].model
    law = Nodes(sobol(9, 1, 3), torch.tensor([1.0, 2, 4, 1, 2, 4, 1, 2, 4]).double() / 21)
    half = weaker_half([known], law, HILL)
    means = [known.botorch.posterior(torch.cat([HILL, c])[None]).mean.item() for c in law.points]
    left, expected = 0.5, {}
    for i in np.argsort(means):
        share = min(left, float(law.weights[i]))
        if share > 1e-12:
            expected[float(law.points[i])] = share / 0.5
        left -= share
    assert dict(zip(half.points[:, 0].tolist(), half.weights.tolist(), strict=True)) == pytest.approx(
        expected
    )


def test_the_look_goes_to_what_is_good_where_the_best_place_is_weak():
    """The best place and one like it are good under low contexts, a third under high ones."""
    hill = 0.2 + 0.01 * np.random.default_rng(0).normal(size=(18, 2))
    around = [[0.2, 0.8], [0.3, 0.85], [0.8, 0.8], [0.85, 0.7], [0.8, 0.2], [0.5, 0.5]]
    x = torch.from_numpy(np.concatenate([around, hill]))
    c = torch.tensor([0.2, 0.8, 0.8, 0.2, 0.3, 0.7] + [0.2, 0.8] * 9).double()[:, None]
    y = torch.tensor([1.5, 0.1, 0.6, 0.1, 0.1, 0.1] + [3.0, 0.1] * 9).double()
    data = Training(x, c, (y - y.mean()) / y.std(), (0, 1), "matern", True, (0, 1)).in_logs(0.1)
    model = ProductGP(data, replace(fit(data), x=(0.3, 0.3), c=(0.5,)))
    best, law = x[-1], Nodes.equal(sobol(16, 1, 0))
    assert float(weaker_half([model], law, best).points.min()) > 0.4
    acquisition = ExpectedGain([model], law, 0.5, MOST_SERVED)
    unknown = (x for x in sobol(places.CHOICE, 2, 5) if float(places._near(model, x[None], data.x).sum()) < 2)
    whole = max(unknown, key=lambda x: float(score(acquisition, x[None])))
    found = another_place(acquisition, best, BLOCKS, 1e9, 5)
    assert float(found.min()) > 0.5
    assert float(whole.min()) < 0.5  # under the whole law it would go beside what is like the best


def test_where_every_place_is_known_it_stays(monkeypatch):
    monkeypatch.setattr(places, "KNOWN", 0.0)
    monkeypatch.setattr(places, "since_the_last", lambda near, first: (99, 0))
    assert another_place(settled(0.2), HILL, BLOCKS, SERVED, 5) is None


def skewed(x):
    return math.exp(3 * math.sin(9 * x["a"]) * math.cos(7 * x["b"]))


def test_a_study_in_logs_takes_the_new_place_and_so_does_the_restored_one(monkeypatch):
    optimizer = Optimizer(
        {"a": Real(0, 1), "b": Real(0, 1)}, {"w": Real(0, 1)}, seed=2, initial=5, raw_samples=32, restarts=2
    )
    rng = np.random.default_rng(2)
    for i in range(30):
        x = rng.uniform(size=2) if i < 16 else 0.4 + 0.01 * rng.normal(size=2)
        decision = {"a": float(x[0]), "b": float(x[1])}
        optimizer.tell(decision, {"w": float(rng.uniform())}, skewed(decision))
    elsewhere = torch.tensor([0.9, 0.1], dtype=torch.double)
    monkeypatch.setattr(places, "another_place", lambda *given: elsewhere)
    restored = Optimizer.from_dict(optimizer.to_dict())
    assert optimizer.ask().decision == restored.ask().decision == {"a": 0.9, "b": 0.1}


def test_a_place_of_whole_numbers_is_a_valid_decision():
    whole = DecisionSpace.of({"a": Integer(0, 20), "b": Integer(1, 9)}).blocks
    tried = [another_place(settled(0.2), HILL, whole, SERVED, seed) for seed in range(6)]
    found = torch.stack([place for place in tried if place is not None])  # an error where none was
    steps = found * torch.tensor([20.0, 8.0])
    assert torch.allclose(steps, steps.round())
