"""Damaged input of every kind: how much was tried, and every traceback that was found.

    python scripts/fuzz.py --count 10000            # all kinds, seeded
    python scripts/fuzz.py --only 1234              # one input again, with its traceback

Good study files, tables, saved states, databases, their attributes and command lines are damaged: pieces
deleted, doubled and swapped, random bytes, odd and huge numbers, odd Unicode, wrong types. A typed error of
windage, or an exit of the command line, is right. Anything else is a traceback, and so is what takes longer
than a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from typer.testing import CliRunner

from windage import Categorical, Integer, Optimizer, Real, WindageError, cli
from windage.studies.csv_rows import read_rows
from windage.studies.file import load
from windage.studies.file_sampler import file_sampler
from windage.studies.store import StudyStore

SECONDS = 60
"""An input that takes longer counts as a fault."""
FEW = 200
"""Characters of a damaged command line that are printed."""

STUDY = """direction = "maximize"
aim = "earn"
budget = 20
method = "auto"
storage = "sqlite:///shop.db"
lease_days = 7
forget = "30 days"
drift = false
seed = 3
initial = 2
[value]
unit = "EUR"
description = "profit"
[decisions.stock]
low = 0
high = 40
unit = "kg"
[decisions.crates]
low = 1
high = 6
integer = true
[decisions.dose]
low = 0.5
high = 4.5
step = 0.5
[decisions.shelf]
choices = ["top", "low", 3]
[contexts.demand]
low = 0
unit = "kg"
[contexts.heat]
low = 0.1
high = 50
log = true
outside = "clip"
[contexts.weekday]
choices = ["mon", "sat", 3]
[contexts.guests]
low = 0
high = 9
integer = true
optional = true
[settings]
raw_samples = 16
restarts = 2
members = 1
kernel = "matern"
bandwidth = "silverman"
boundary = "reflect"
"""
TABLE = """date,stock,crates,dose,shelf,demand [kg],heat,weekday,guests,demand forecast,value
2026-11-18,5,2,0.5,top,9,20,mon,4,8±2,5
18.11.2026,"5,5",3,1.5,low,12.5,30,SAT,,"12,5+-3","1,200.50"
2026-11-19 08:30,40,6,4.5,3,0,0.1,3,9,1,-7
,10,1,2,top,7,"€ 12",mon,0,,1e3
"""
TELL = [
    "--decision",
    "stock=5",
    "--decision",
    "crates=2",
    "--decision",
    "dose=1.5",
    "--decision",
    "shelf=top",
]
MET = ["--context", "demand=4", "--context", "heat=20", "--context", "weekday=sat"]
KNOWN = ["--known", "weekday=sat", "--forecast", "demand=8±2"]
LINES = [
    ["ask", "shop.toml"],
    ["ask", "shop.toml", "--json"],
    ["tell", "shop.toml", "0", "--value", "3", *MET],
    ["tell", "shop.toml", "0", "--failed", "it rained"],
    ["tell", "shop.toml", *TELL, "--value", "3", *MET],
    ["tell", "shop.toml", "--csv", "days.csv"],
    ["renew", "shop.toml", "0", "--days", "3"],
    ["recommend", "shop.toml", "--json"],
    ["status", "shop.toml"],
    ["status", "shop.toml", "--json"],
    ["export", "shop.toml", "--csv", "out.csv"],
    ["export", "shop.toml", "--parquet", "out.parquet"],
    ["init", "new.toml"],
    ["init", "new.toml", "--force"],
    ["methods", "--json"],
    ["--version"],
    ["correct", "shop.toml", "0", "--value", "3", *MET, "--decision", "stock=7", "--why", "a typo"],
    ["correct", "shop.toml", "2", "--context", "heat=30", "--json"],
    ["forget", "shop.toml", "3", "--why", "not ours"],
    ["undo", "shop.toml", "1"],
    ["undo", "shop.toml", "0", "--json"],
    ["history", "shop.toml"],
    ["history", "shop.toml", "--json"],
    ["predict", "shop.toml", "stock=5", "crates=2", "--threshold", "3"],
    ["predict", "shop.toml", "shelf=low", "--json"],
    ["ask", "shop.toml", "--another"],
    ["ask", "shop.toml", "--another", *KNOWN, "--known", "guests=3", "--json"],
    ["recommend", "shop.toml", *KNOWN],
    ["recommend", "shop.toml", "--for-each", "weekday", "--json"],
    ["predict", "shop.toml", "stock=5", *KNOWN],
    ["tell", "shop.toml", *TELL, "--value", "3", *MET, "--time", "2026-11-18", "--forecast", "demand=5"],
    ["tell", "shop.toml", "5", "--value", "3", *MET, "--context", "guests=2", "--time", "18.11.2026"],
    ["tell", "shop.toml", "--csv", "days.csv", "--replace"],
    ["tell", "shop.toml", "4", "--value", "3", *MET, "--sure", "--json"],
]
"""None of them goes on by itself, and none runs a program."""
GOOD = [
    ["tell", "shop.toml", "--csv", "days.csv", "--sure"],
    ["ask", "shop.toml"],
    ["ask", "shop.toml", "--another", *KNOWN],
    ["correct", "shop.toml", "0", "--value", "6", "--decision", "stock=6", "--why", "a typo"],
    ["correct", "shop.toml", "0", "--context", "demand=8", "--context", "weekday=mon"],
    ["forget", "shop.toml", "1", "--why", "another shop"],
    ["correct", "shop.toml", "2", "--value", "7"],
    ["undo", "shop.toml", "2"],
]
"""How the good study came to be."""
AFTER = [["status", "shop.toml"], ["ask", "shop.toml", "--another"], ["recommend", "shop.toml"]]
CHANGING = [line for line in LINES if line[0] in ("tell", "correct", "forget", "undo")]
READING = [line for line in LINES if line[0] in ("status", "export", "history", "predict")]

NUMBERS = [
    "0", "-1", "1e308", "1e300", "-1e300", "5e-324", "1e-300", "1e400", "nan", "inf", "-inf", "1_000", "0x10",
    "1e30", "1" * 20, "9" * 30, "9" * 500, "9" * 5000, "-0.0", "1,5", "1.200,50", "²", "١٢", "１２", "½",
    "1e", "+", "--1",
]  # fmt: skip
ODD = [
    "", " ", "\0", "\x7f", "\ufeff", "\u2028", "\u202e", "é", "日本", "😀", "\ud800", '"', "'", "\\", "\n",
    "\r", "=", "[", "]", "{", "}", "#", ";", "\t", "%s", "{0}", "../", "~", "null", "true", "-", "--", "[[",
    "'''", "a" * 300, "[" * 5000,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2.5, 10**30, 10**400, -(10**5000), 2**63, 5e-324, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"), "", "x", "5", [], {}, [[]], [None], {"a": 1}, "\ud800",
]  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A traceback."""

    index: int
    kind: str
    line: str
    """Its last line."""
    text: str


def damaged_text(text: str, rng: random.Random) -> str:
    """Text with some pieces deleted, doubled, moved or replaced."""
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at, size = rng.randrange(len(text) + 1), rng.choice([1, 1, 2, 5, 20, 100])
        piece = text[at : at + size]
        new = rng.choice(
            ["", piece * 2, piece * 50, piece[::-1], piece.upper(), rng.choice(NUMBERS), rng.choice(ODD)]
        )
        text = text[:at] + new + text[at + (size if rng.random() < 0.7 else 0) :]
        if rng.random() < 0.5:
            text = _other_number(text, rng)
    return text


def _other_number(text: str, rng: random.Random) -> str:
    """One of the numbers in a text in place of another."""
    spots = [i for i, sign in enumerate(text) if sign.isdigit() and (i == 0 or not text[i - 1].isdigit())]
    if not spots:
        return text
    start = rng.choice(spots)
    end = start
    while end < len(text) and text[end].isdigit():
        end += 1
    return text[:start] + rng.choice(NUMBERS) + text[end:]


def damaged_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Bytes with some flipped, cut off, doubled or made up."""
    way = rng.randrange(5)
    if way == 0:
        return raw[: rng.randrange(len(raw) + 1)]
    if way == 1:
        return rng.randbytes(rng.choice([0, 1, 16, 4096]))
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 4, 64, 1024])):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    if way == 2:
        at = rng.randrange(len(changed) + 1)
        changed[at:at] = rng.randbytes(rng.choice([1, 100]))
    return bytes(changed)


def damaged_state(state: Any, rng: random.Random) -> Any:
    """A saved state with one part replaced, left out or doubled."""
    if isinstance(state, dict) and state and rng.random() < 0.85:
        key = rng.choice(sorted(state))
        if rng.random() < 0.1:
            return {k: v for k, v in state.items() if k != key}
        if rng.random() < 0.05:
            return {**state, rng.choice(ODD): state[key]}
        return {**state, key: damaged_state(state[key], rng)}
    if isinstance(state, list) and state and rng.random() < 0.8:
        at = rng.randrange(len(state))
        if rng.random() < 0.1:
            return [*state, state[at]]
        return [*state[:at], damaged_state(state[at], rng), *state[at + 1 :]]
    return rng.choice(VALUES)


def json_text(state: Any) -> str:
    """As JSON, with numbers that Python's own writer refuses."""
    try:
        return json.dumps(state)
    except ValueError:
        return "9" * 5000


class Bench:
    """A folder with a good study, of which each input gets a damaged part."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.good = folder, folder / "good"
        self.good.mkdir()
        os.chdir(self.good)
        (self.good / "shop.toml").write_text(STUDY)
        (self.good / "days.csv").write_text(TABLE)
        for line in GOOD:
            result = CliRunner().invoke(cli.app, line)
            if result.exit_code:
                raise SystemExit(f"the good study is not good: {result.exception!r}")
        self.database = (self.good / "shop.db").read_bytes()
        self.store = StudyStore.open(load(self.good / "shop.toml"))
        contexts: dict[str, Any] = {"c": Real(low=0), "day": Categorical(["mon", "sat"]), "n": Integer(0, 5)}
        quick: dict[str, Any] = {"raw_samples": 16, "restarts": 2, "members": 2, "forget": 9}
        optimizer = Optimizer({"x": Real(0, 1)}, contexts, seed=1, initial=1, **quick)
        for k in range(4):
            met = {"c": k + 0.5, "day": "sat" if k == 3 else "mon", "n": None if k == 2 else k}
            optimizer.tell({"x": k / 4}, context=met, value=k, time=20000 + k, forecast={"c": (k, 2)})
            optimizer.ask(known={"day": "sat"}, forecast={"c": [1.0, 2.0, k]})
        self.state = json.loads(json.dumps(optimizer.to_dict()))

    def fresh(self) -> Path:
        """A folder with the good study."""
        work = self.folder / "work"
        os.chdir(self.folder)
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.good, work)
        os.chdir(work)
        return work

    def study_file(self, rng: random.Random) -> None:
        """A damaged study file."""
        path = Path("other.toml")
        text = damaged_text(STUDY, rng).encode("utf-8", "replace")
        path.write_bytes(damaged_bytes(text, rng) if rng.random() < 0.1 else text)
        file = load(path)
        file_sampler(file)
        file.check_decision({n: rng.choice([*NUMBERS, *ODD, "top", "1"]) for n in file.space})

    def study_file_in_use(self, rng: random.Random) -> None:
        """A damaged study file, and the commands on it."""
        work = self.fresh()
        (work / "shop.toml").write_bytes(damaged_text(STUDY, rng).encode("utf-8", "replace"))
        self.command(rng.choice([*AFTER, *CHANGING, *READING]))

    def table(self, rng: random.Random) -> None:
        """A damaged table."""
        raw = damaged_text(TABLE, rng).encode(rng.choice(["utf-8", "utf-8", "utf-16", "cp1252"]), "replace")
        read_rows(self.store, damaged_bytes(raw, rng) if rng.random() < 0.2 else raw, "other.csv")

    def table_in_use(self, rng: random.Random) -> None:
        """A damaged table told, and what follows."""
        work = self.fresh()
        (work / "days.csv").write_bytes(damaged_text(TABLE, rng).encode("utf-8", "replace"))
        line = [
            "tell",
            "shop.toml",
            "--csv",
            "days.csv",
            *rng.choice([[], ["--sure"], ["--replace", "--sure"]]),
        ]
        self.command(line)
        self.command(rng.choice([*AFTER, *READING]))

    def saved_state(self, rng: random.Random) -> None:
        """A damaged saved state."""
        state = self.state
        for _ in range(rng.choice([1, 1, 2])):
            state = damaged_state(state, rng)
        found = Optimizer.from_dict(state)
        if rng.random() < 0.3:
            found.ask()
            found.recommend()

    def told(self, rng: random.Random) -> None:
        """Odd numbers told one by one, and what follows."""
        self.fresh()
        for _ in range(2):
            number = rng.choice(NUMBERS)
            odd = {"demand": NUMBERS, "heat": NUMBERS, "weekday": ["mon", *ODD], "guests": NUMBERS}
            met = [word for name, of in odd.items() for word in ("--context", f"{name}={rng.choice(of)}")]
            parts = ["--value", number, *rng.choice([met, MET]), *TELL]
            before = ["--forecast", f"demand={rng.choice(NUMBERS)}±{rng.choice(NUMBERS)}"]
            with contextlib.suppress(WindageError):
                self.command([*rng.choice(AFTER[1:]), *rng.choice([before, ["--known", *met[-1:]]])])
            way = rng.choice(
                [["tell", "shop.toml"], ["tell", "shop.toml", "--sure"], ["correct", "shop.toml", "0"]]
            )
            with contextlib.suppress(WindageError):
                self.command([*way, *parts])
        self.command(rng.choice([*AFTER, *READING]))

    def damaged_database(self, rng: random.Random) -> None:
        """A damaged database."""
        work = self.fresh()
        (work / "shop.db").write_bytes(damaged_bytes(self.database, rng))
        self.command(rng.choice([*AFTER, *CHANGING, *READING]))

    def damaged_attributes(self, rng: random.Random) -> None:
        """Odd attributes of the study and of its trials, which others may write."""
        work = self.fresh()
        with contextlib.closing(sqlite3.connect(work / "shop.db")) as connection, connection:
            for _ in range(rng.choice([1, 1, 2])):
                self.damage_attribute(connection, rng)
        for _ in range(2):
            with contextlib.suppress(WindageError):
                self.command(rng.choice([*AFTER, *CHANGING, *READING, ["undo", "shop.toml", "0"]]))

    @staticmethod
    def damage_attribute(connection: sqlite3.Connection, rng: random.Random) -> None:
        """One attribute, more often one of a change."""
        table = rng.choice([*["study_system"] * 4, "trial_user", "trial_system"]) + "_attributes"
        key, name, text = rng.choice(
            connection.execute(f"SELECT {table[:-1]}_id, key, value_json FROM {table} ORDER BY 1").fetchall()
        )
        way = rng.random()
        try:
            new = json_text(damaged_state(json.loads(text), rng))
        except (ValueError, RecursionError):  # it is damaged already
            new = text
        if way < 0.15:
            new = damaged_text(text, rng)
        elif way < 0.25:
            name = rng.choice([name, name[:-1]]) + rng.choice([*NUMBERS, *ODD])
        new, name = (word.replace("\ud800", "?") for word in (new, name))
        connection.execute(
            f"UPDATE OR IGNORE {table} SET key = ?, value_json = ? WHERE {table[:-1]}_id = ?",
            (name, new, key),
        )

    def command_line(self, rng: random.Random) -> None:
        """A damaged command line."""
        self.fresh()
        line = list(rng.choice(LINES))
        for _ in range(rng.choice([1, 1, 2])):
            at = rng.randrange(len(line)) if line else 0
            word = line[at] if line else ""
            new = rng.choice(
                [[], [word, word], [damaged_text(word, rng)], [rng.choice(NUMBERS)], [rng.choice(ODD)]]
            )
            line[at : at + 1] = new
        line = [word.replace("\0", "").replace("\ud800", "\udcff") for word in line]  # as a system passes on
        self.command([word for word in line if "/" not in word and "~" not in word])

    @staticmethod
    def command(line: list[str]) -> None:
        """A command, with the error that it raised."""
        result = CliRunner().invoke(cli.app, line)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception


KINDS = {
    "study_file": 28, "table": 27, "saved_state": 13, "command_line": 13, "damaged_database": 4, "told": 4,
    "study_file_in_use": 2, "table_in_use": 2, "damaged_attributes": 7,
}  # fmt: skip
"""Of a hundred inputs."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """A TimeoutError where the block takes longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tried(bench: Bench, seed: int, index: int) -> Found | None:
    """One input; None where it was taken or refused in words."""
    rng = random.Random(f"{seed} {index}")
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    act: Callable[[random.Random], None] = getattr(bench, kind)
    quiet = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
            limited(SECONDS),
        ):
            warnings.simplefilter("ignore")
            act(rng)
    except WindageError:
        return None
    except Exception as error:
        return Found(index, kind, f"{type(error).__name__}: {error}"[:FEW], traceback.format_exc())
    finally:
        os.chdir(bench.good)
    return None


def run(count: int, seed: int = 0, first: int = 0) -> list[Found]:
    """Every traceback of so many inputs."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="windage-fuzz-", ignore_cleanup_errors=True) as folder:
        try:
            bench = Bench(Path(folder))
            return [f for i in range(first, first + count) if (f := tried(bench, seed, i)) is not None]
        finally:
            os.chdir(here)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Damaged input of every kind.")
    parser.add_argument("--count", type=int, default=1000, help="how many inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one input again, by its number")
    given = parser.parse_args()
    os.environ.pop("WINDAGE_STORAGE", None)
    if given.only is not None:
        for found in run(1, given.seed, given.only):
            print(found.text)
        return
    all_found = run(given.count, given.seed)
    for found in all_found:
        print(f"{found.index} {found.kind}: {found.line}")
    print(f"{given.count} inputs tried, {len(all_found)} tracebacks found.")
    sys.exit(bool(all_found))


if __name__ == "__main__":
    main()
