"""Locks: one worker at a time; one that is not given in time is a fault, and nothing is changed."""

import os
import subprocess
import sys
import threading
import time

import optuna
import pytest

from shops import ask, fault
from windage.studies import locks
from windage.studies.file import load
from windage.studies.locks import LockError
from windage.studies.storage import StorageError
from windage.studies.store import StudyStore

HOLDER = """
import sys, time
from pathlib import Path
from windage.studies import locks
from windage.studies.file import load
from windage.studies.store import StudyStore
store = StudyStore.open(load(Path("shop.toml")))
with locks.hold(store.storage, store.file.name, sys.argv[1]):
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def held(shop, request):
    """Another process that holds the lock."""
    other = subprocess.Popen([sys.executable, "-c", HOLDER, request.param], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    yield other
    other.kill()
    other.communicate()


@pytest.mark.parametrize("held", ["asking"], indirect=True)
def test_an_ask_that_is_locked_out_says_who_holds_the_lock(shop, held, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    message = fault("ask", "shop.toml")
    assert "the study 'shop' is locked" in message
    assert f"process {held.pid} on " in message
    assert "Wait for it or end it" in message
    assert StudyStore.open(load(shop)).trials() == []  # nothing was changed
    held.kill()
    held.wait()
    assert ask(shop)["number"] == 0  # the lock ends with the process that holds it


@pytest.mark.parametrize("held", ["telling"], indirect=True)
def test_a_tell_that_is_locked_out_changes_nothing(shop, held, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    ask(shop)  # asks have a lock of their own
    assert "has been telling" in fault("tell", "shop.toml", "0", "--value", "1", "--context", "demand=2")
    assert [t.state.name for t in StudyStore.open(load(shop)).trials()] == ["RUNNING"]


def test_a_holder_that_cannot_be_read_is_another_process(tmp_path):
    assert locks._process_that_holds(tmp_path / "none") == "another process"
    (tmp_path / "odd").write_text("[1]")
    assert locks._process_that_holds(tmp_path / "odd") == "another process"


def test_threads_wait_for_each_other_and_give_up(monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    storage, inside = optuna.storages.InMemoryStorage(), threading.Event()
    done = threading.Event()

    def other():
        with locks.hold(storage, "shop", "asking"):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    with (
        pytest.raises(LockError, match="another thread of this process"),
        locks.hold(storage, "shop", "asking"),
    ):
        pass
    with locks.hold(storage, "shop", "telling"):
        done.set()
    thread.join()
    with locks.hold(storage, "shop", "asking"), locks.hold(storage, "shop", "asking"):
        pass  # the thread that has it may take it again


def test_the_lock_leaves_nothing_behind_that_names_its_holder(shop):
    store = StudyStore.open(load(shop))
    with locks.hold(store.storage, "shop", "asking"):
        assert str(os.getpid()) in (shop.parent / "shop.db.asking.holder").read_text()
    assert not (shop.parent / "shop.db.asking.holder").exists()
    assert issubclass(LockError, StorageError)  # so that `windage run` waits for it
    start = time.monotonic()
    with locks.hold(store.storage, "shop", "asking"):
        assert time.monotonic() - start < 5
