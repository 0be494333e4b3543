"""What a server keeps for a while, and its helpers when a job hangs or their process dies."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from windage.errors import WindageError
from windage.web.background import Helper
from windage.web.site import Kept


def test_a_job_that_nobody_waits_for_any_more_is_not_begun():
    helper, go, done = Helper(lambda: ThreadPoolExecutor(1)), threading.Event(), []
    first = helper.submit(go.wait)
    with pytest.raises(WindageError, match="takes longer than expected"):
        helper.do(done.append, "late", seconds=0.01)
    go.set()
    assert first.result(30)
    assert helper.do(done.append, "next") is None
    assert done == ["next"]
    helper.close()


class Dying:
    """An executor whose process dies before it answers."""

    def __init__(self, answers):
        self.answers = answers

    def submit(self, job, *arguments):
        future = Future()
        answer = self.answers.pop(0)
        future.set_exception(answer) if isinstance(answer, Exception) else future.set_result(answer)
        return future


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_process_that_dies_is_replaced_once(deaths):
    helper = Helper(lambda: Dying([*[BrokenProcessPool()] * deaths, "answer"]))
    if deaths < 2:
        assert helper.do(print) == "answer"
    else:
        with pytest.raises(WindageError, match="has ended twice"):
            helper.do(print)


def test_only_the_last_few_are_kept():
    kept = Kept(2)
    keys = [kept.put(text) for text in (b"a", b"b", b"c")]
    assert [kept.get(key) for key in keys] == [None, b"b", b"c"]
    assert [kept.first(key) for key in ("x", "x", "y", "z", "x")] == [True, False, True, True, True]
    kept.drop("x")
    assert kept.first("x")
