"""The same seed and the same tells give the same bits: again, elsewhere, after a rest, under questions."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import windage
from contracts import METHODS, draw, easy, optimizer, run, story
from windage import Optimizer

ALL = [*METHODS, "random"]
CODE = "import json, contracts; print(json.dumps({m: contracts.story(m) for m in contracts.TABLE}))"


@cache
def alone(method: str) -> str:
    return story(method)


@cache
def elsewhere(threads: str) -> dict[str, str]:
    """The stories of all methods as another process tells them, with so many threads."""
    path = [str(Path(windage.__file__).parents[1]), str(Path(__file__).parents[1])]
    more = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
    environment = {**os.environ, **more, "PYTHONPATH": os.pathsep.join(path)}
    given = [sys.executable, "-c", CODE]
    done = subprocess.run(given, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


@pytest.mark.parametrize("method", ALL)
def test_a_study_asked_twice_gives_the_same_bits(method):
    assert story(method) == alone(method)
    assert (
        run(optimizer(method, seed=1, initial=2), 3)[-1] != run(optimizer(method, seed=2, initial=2), 3)[-1]
    )


@pytest.mark.xdist_group("elsewhere")
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("method", ALL)
def test_another_process_gives_the_same_bits_with_any_number_of_threads(method, threads):
    assert elsewhere(threads)[method] == alone(method)


@pytest.mark.parametrize("method", ALL)
def test_a_study_restored_at_every_step_gives_the_same_bits(method):
    def rest(opt):
        return Optimizer.from_dict(json.loads(json.dumps(opt.to_dict(), sort_keys=True)))

    assert story(method, rest) == alone(method)


@pytest.mark.parametrize("method", ALL)
def test_questions_between_asks_change_nothing(method):
    def question(opt):
        before = opt.to_dict()
        opt.recommend()
        opt.predict([{"x": 0.1, "y": 0.2}, {"x": 0.5, "y": 0.5}])
        opt.density.pdf(0.5)
        opt.density.sample(3)
        _ = opt.observations, opt.pending, repr(opt)
        assert opt.to_dict() == before
        return opt

    assert story(method, question) == alone(method)


def test_in_these_stories_some_fits_are_kept():
    """Else a study would be restored where nothing depends on what was before."""
    fitted = []

    def note(opt):
        fitted.append(opt.fits_to_dict()["joint rbf"]["count"])
        return opt

    story("bq-kde", note)
    assert 1 < len(set(fitted)) < len(fitted) / 2


@pytest.mark.parametrize("method", METHODS)
def test_a_restored_optimizer_continues_exactly(method):
    """From the first decisions on, with a trial that travels."""
    whole = optimizer(method)
    run(whole, 6)
    waiting = whole.ask()
    restored = Optimizer.from_dict(json.loads(json.dumps(whole.to_dict(), sort_keys=True)))
    assert restored.to_dict() == whole.to_dict()
    assert restored.pending == (waiting,)
    for opt in (whole, restored):
        opt.tell(waiting, context={"c": 0.4}, value=0.1)
    assert run(whole, 2, seed=5) == run(restored, 2, seed=5)
    assert restored.recommend() == whole.recommend()
    assert restored.to_dict() == whole.to_dict()


@pytest.mark.parametrize("method", METHODS)
def test_from_the_first_ask_on_questions_change_nothing(method):
    silent, curious = optimizer(method), optimizer(method)
    rng = np.random.default_rng(0)
    for _ in range(7):
        context = draw(rng)
        for opt in (silent, curious):
            trial = opt.ask()
            opt.tell(trial, context=context, value=easy(trial.decision, context))
        curious.recommend()
        curious.density.sample(3)
        curious.predict({"x": 0.1, "y": 0.2})
    assert silent.ask() == curious.ask()


@pytest.mark.parametrize("history", [0, 24])
def test_a_restored_study_decides_alike_where_one_kernel_stands_for_all(history, monkeypatch):
    """Also where the kernels are about as likely as each other, and all came as history."""
    monkeypatch.setattr("windage.gp.ensemble.DECIDED", 20)
    rng = np.random.default_rng(5)
    opt = windage.Optimizer({"x": windage.Real(0, 1)}, {"c": windage.Real(0, 1)}, seed=3, raw_samples=32)
    for step in range(34):
        x, c = map(float, rng.random(2))
        value = float(np.sin(9 * x) + c * abs(x - 0.4) + (0.05 if step < 22 else 1.0) * rng.normal())
        opt.tell({"x": x}, context={"c": c}, value=value)
        if step >= history:
            opt.cancel(opt.ask())
            copy = windage.Optimizer.from_dict(json.loads(json.dumps(opt.to_dict())))
            assert copy.predict({"x": 0.3}) == opt.predict({"x": 0.3})
            assert copy.ask().decision == opt.ask().decision
            opt.cancel(opt.pending[0])
