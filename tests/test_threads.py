"""One BLAS thread while the engine computes, and as many as before when it is done, whatever happens."""

import sys
from dataclasses import replace
from threading import Barrier, Event, Thread, local

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from contracts import optimizer, quick, run
from windage import Optimizer, Real, threads
from windage.methods import get_method
from windage.threads import one_thread

WAIT = 60
"""Seconds after which a test that hangs fails."""


ABLE: set[str] = set()
"""The BLAS libraries that can use several threads: other packages may bring some that cannot."""


def counts() -> set[int]:
    """How many threads these use."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["filepath"] in ABLE}


@pytest.fixture
def before(monkeypatch):
    """Two threads, as a user may have set them, and nothing changed at the end."""
    with threadpool_limits(2, "blas"):
        pools, handling = threadpool_info(), np.geterr()
        found = {p["filepath"] for p in pools if p["user_api"] == "blas" and p["num_threads"] == 2}
        assert found
        monkeypatch.setattr(f"{__name__}.ABLE", found)
        yield
        assert threadpool_info() == pools
        assert np.geterr() == handling


def study(build) -> Optimizer:
    """One whose method calls ``build`` in the middle of an ask."""
    plain = get_method("sbo-kde")
    method = replace(plain, name="watched", build=lambda state: build() or plain.build(state))
    opt = Optimizer({"x": Real(0, 1)}, {"c": Real(0, 1)}, method, seed=0, **quick("sbo-kde", initial=1))
    opt.tell({"x": 0.5}, {"c": 0.5}, 1.0)
    return opt


def in_threads(*works) -> list[BaseException]:
    """Each work in a thread of its own; what they raised."""
    raised: list[BaseException] = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            raised.append(error)

    started = [Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(WAIT)
        assert not thread.is_alive()
    return raised


def test_an_ask_computes_in_one_thread_and_then_there_are_as_many_as_before(before):
    seen = []
    opt = study(lambda: seen.append(counts()))
    opt.ask()
    opt.recommend()
    opt.predict({"x": 0.2})
    assert seen == [{1}]
    run(optimizer("drbo-mmd"), 6)


def test_asks_that_overlap_in_two_threads_leave_the_number_of_threads_alone(before):
    """The one that ends first leaves the other in one thread, and the last restores."""
    inside, ended, seen = Barrier(2, timeout=WAIT), Event(), []

    def first():
        inside.wait()

    def second():
        inside.wait()
        assert ended.wait(WAIT)
        seen.append(counts())

    quick_one, slow_one = study(first), study(second)
    raised = in_threads(lambda: (quick_one.ask(), ended.set()), slow_one.ask)
    assert raised == []
    assert seen == [{1}]
    assert len(quick_one.pending) == len(slow_one.pending) == 1


@pytest.mark.parametrize("failing", ["first", "last", "both"])
def test_an_ask_that_raises_leaves_the_number_of_threads_alone(before, failing):
    inside, ended, seen = Barrier(2, timeout=WAIT), Event(), []

    def first():
        inside.wait()
        if failing != "last":
            raise RuntimeError("first")

    def last():
        inside.wait()
        assert ended.wait(WAIT)
        seen.append(counts())
        if failing != "first":
            raise RuntimeError("last")

    def ask_first():
        try:
            study(first).ask()
        finally:
            ended.set()

    raised = in_threads(ask_first, study(last).ask)
    assert (
        sorted(map(str, raised)) == {"first": ["first"], "last": ["last"], "both": ["first", "last"]}[failing]
    )
    assert seen == [{1}]


def test_a_refused_question_leaves_the_number_of_threads_alone(before):
    opt = study(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        opt.ask()
    assert opt.pending == ()
    assert counts() == {2}
    with pytest.raises(ZeroDivisionError):  # and again
        opt.ask()


def test_many_asks_at_once_give_what_each_gives_alone(before):
    """Eight studies in eight threads, started together."""
    alone = [run(optimizer(seed=seed), 7) for seed in range(8)]
    together, start = {}, Barrier(8, timeout=WAIT)

    def work(seed):
        start.wait()
        together[seed] = run(optimizer(seed=seed), 7)

    assert in_threads(*(lambda seed=seed: work(seed) for seed in range(8))) == []
    assert [together[seed] for seed in range(8)] == alone


def test_the_limit_may_be_nested(before):
    with one_thread():
        with one_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}


class OfEachThread(local):
    """A library whose number of threads is each Python thread's own, as with OpenMP."""

    num_threads = 4

    def set_num_threads(self, number):
        self.num_threads = number


def test_a_library_with_a_number_for_each_thread_is_limited_and_restored_in_each(monkeypatch):
    library, inside, ended, seen = OfEachThread(), Barrier(2, timeout=WAIT), Event(), []
    monkeypatch.setattr(threads, "_libraries", lambda: ([], [library]))

    def work(wait):
        with one_thread():
            inside.wait()
            assert not wait or ended.wait(WAIT)
            seen.append(library.num_threads)
        seen.append(library.num_threads)
        ended.set()

    assert in_threads(lambda: work(wait=False), lambda: work(wait=True)) == []
    assert seen == [1, 4, 1, 4]
    assert library.num_threads == 4


def test_what_is_not_finite_makes_no_noise_inside_and_does_outside(before):
    with one_thread():
        assert np.isinf(np.array([1.0]) / 0)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        _ = np.array([1.0]) / 0


def test_asks_and_tells_of_several_threads_on_one_optimizer_lose_nothing():
    opt = optimizer("random", initial=4)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work():
        for _ in range(30):
            trial = opt.ask()
            opt.tell(trial, context={"c": 0.4}, value=1.0)

    try:
        workers = [Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    assert len(opt.observations) == 120
    assert not opt.pending
    assert opt.ask().number == 120
