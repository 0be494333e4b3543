"""Random streams: one for each purpose, study and trial, and no draw shared between two of them."""

from itertools import product
from typing import get_args

import numpy as np
import pytest

from contracts import METHODS, optimizer, run
from windage.search import Purpose, Seeds, sobol

PURPOSES = get_args(Purpose)


def test_every_purpose_study_and_trial_has_a_seed_of_its_own():
    cases = list(product((0, 1, 2, 2**31, 2**70), range(60), PURPOSES))
    seeds = {Seeds(study, trial)(purpose) for study, trial, purpose in cases}
    assert len(seeds) == len(cases)
    assert 0 not in seeds  # of the points that are the same in every study


def test_seeds_do_not_change_between_processes_or_versions():
    assert Seeds(7)("first decisions") == Seeds(7, 0)("first decisions")
    assert [Seeds(7, 3)(purpose) for purpose in PURPOSES[:2]] == [3351598949, 1916955614]


def test_streams_of_different_purposes_differ():
    drawn = [np.random.default_rng(Seeds(7, 3)(purpose)).random(64) for purpose in PURPOSES]
    points = [sobol(64, 2, Seeds(7, 3)(purpose)) for purpose in PURPOSES]
    for i in range(len(PURPOSES)):
        for j in range(i):
            assert abs(np.corrcoef(drawn[i], drawn[j])[0, 1]) < 0.45
            assert np.abs(points[i] - points[j]).max() > 0.05
            # nor does one continue the other
            assert not set(drawn[i]) & set(drawn[j])
            assert not set(points[i].ravel()) & set(points[j].ravel())


@pytest.mark.parametrize("method", [*METHODS, "random"])
def test_no_seed_of_a_study_serves_two_purposes(method, monkeypatch):
    used: dict[int, set[str]] = {}
    plain = Seeds.__call__

    def noted(self, purpose):
        seed = plain(self, purpose)
        used.setdefault(seed, set()).add(purpose)
        return seed

    monkeypatch.setattr(Seeds, "__call__", noted)
    opt = optimizer(method, initial=2)
    run(opt, 4)
    opt.ask(2)
    opt.recommend()
    opt.density.sample(2)
    purposes = set().union(*used.values())
    assert all(len(shared) == 1 for shared in used.values())
    assert {"first decisions", "recommendation", "density", "ensemble"} <= purposes
    assert ("candidates" in purposes) == (method != "random")


def test_candidates_of_an_ask_and_of_a_recommendation_are_different_points(monkeypatch):
    from windage import proposal

    seeds, search = [], proposal.maximize
    monkeypatch.setattr(proposal, "maximize", lambda *given: seeds.append(given[4]) or search(*given))
    opt = optimizer(initial=1)
    run(opt, 4)
    opt.recommend()
    assert len(set(seeds)) == len(seeds) == 4
