"""What helper processes compute: the next decision, the recommendation, what-if, the pictures.

Each is a plain function of the study file's path, with plain results. What was fitted stays in the process
that fitted it, as long as the study stands as it was.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess as ParentProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windage.errors import InputError, NotEnoughDataError
from windage.space import Categorical
from windage.studies import locks
from windage.studies.beforehand import Beforehand, MissingKnownError
from windage.studies.history import History
from windage.studies.sentences import lines, threshold_of
from windage.web import charts, learnt
from windage.web.live import LiveStudy, version

if TYPE_CHECKING:
    from windage.studies.file import StudyFile
    from windage.studies.store import Everything, StudyStore

Plain = dict[str, Any]
MOST_LEVELS = 12
"""Of a table of what is best for each kind of day."""
UNKNOWN: Plain = {"each": None, "notes": {"warn": [], "more": []}}
"""What ``learn`` finds, before it did."""
REPLACED = "asked again with a forecast"
"""Why a decision was closed."""
_STUDIES: dict[str, LiveStudy] = {}
_KNOWN: dict[str, tuple[str, Everything]] = {}
_HISTORIES: dict[str, History] = {}


def begin() -> None:
    """A helper process begins: it ends with its parent, and leaves Ctrl-C to it."""
    from windage.studies.storage import quiet

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quiet()
    warnings.simplefilter("ignore")
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: ParentProcess) -> None:
    parent.join()
    os._exit(0)


def warm() -> None:
    """Import the engine."""
    import windage.optimizer
    import windage.studies.pictures  # noqa: F401


def ask(
    path: str,
    known: Mapping[str, Any] | None = None,
    forecast: Mapping[str, Mapping[str, Any]] | None = None,
    instead: int | None = None,
) -> int:
    """Have a decision waiting, for what is known; its number.

    ``instead``: an open decision whose place it takes, if that is for the same but for the forecast.
    """
    store, given = _study(path), Beforehand(known or {}, forecast or {})
    try:
        with store.faults(), locks.hold(store.storage, store.file.name, "asking"):
            for one in store.state().open:
                if one.number == instead and _outdated(one.beforehand, given):
                    new = store.ask(True, given).number  # where it is refused, the open one stays
                    store.fail(one.number, REPLACED)
                    return new
            found = store.next(given)
    except MissingKnownError as error:  # it does not come whole out of a process
        raise InputError(str(error)) from None
    return found[0].number if isinstance(found, list) else found.number


def _outdated(before: Beforehand, now: Beforehand) -> bool:
    """Whether a decision was made for the same day without the forecast that there is now."""
    return before.known == now.known and bool(now.forecast) and before.forecast != now.forecast


def best(path: str) -> Plain | None:
    """The recommendation in words; None where nothing was told yet."""
    store = _study(path)
    try:
        key, found = _everything(path, store)
    except NotEnoughDataError:
        return None
    mine = found.optimizer.recommend(threshold=threshold_of(store.file, None))
    mine = replace(mine, decision=found.axes.to_optuna(mine.decision))
    shift = found.optimizer.shift
    return {
        "version": key,
        "decision": dict(mine.decision),
        "shown": store.file.show(mine.decision),
        "lines": lines(store.file, mine),
        "robust": mine.criterion == "worst_case",
        "note": mine.note.replace(shift.words(), "").strip() if shift else mine.note,
        **UNKNOWN,
    }


def learn(path: str) -> Plain:
    """What else there is to say of the recommendation: for each kind of day, what changed, what matters."""
    store = _study(path)
    _, found = _everything(path, store)
    return {"each": _each(store.file, found), "notes": learnt.sentences(store.file, found)}


def _each(file: StudyFile, found: Everything) -> Plain | None:
    """The best for each kind of day, where one condition is known beforehand and has few."""
    choices = [name for name in file.known if isinstance(file.contexts[name], Categorical)]
    if len(choices) != 1 or len(file.contexts[choices[0]].choices) > MOST_LEVELS:  # type: ignore[union-attr]
        return None
    value, rows = file.quantities["value"], []
    for level, best in found.optimizer.recommend(for_each=choices[0]).items():
        low, high = best.outcome.interval
        mine = found.axes.to_optuna(best.decision)
        shown = [file.quantities[name].figure(mine[name]) for name in file.space]
        ends = [value.figure(best.expected), f"{value.figure(low)} to {value.figure(high)}"]
        rows.append([str(level), *shown, *ends])
    units = [file.quantities[name].unit for name in (*choices, *file.space)]
    names = [*choices, *file.space, "on average", "a single day"]
    return {"head": list(zip(names, [*units, value.unit, value.unit], strict=True)), "rows": rows}


def what_if(path: str, decision: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> Plain:
    """What to expect of a decision, checked before; ``known``: on a day of which this is known."""
    store = _study(path)
    _, found = _everything(path, store)
    checked = store.file.check_decision(decision)
    threshold, day = threshold_of(store.file, None), store.file.check_known(known or {})
    at = found.optimizer.predict(found.axes.to_windage(checked), threshold=threshold, known=day or None)
    at = replace(at, decision=store.file.ordered(checked))
    return {"shown": store.file.show({**day, **at.decision}), "lines": lines(store.file, at)}


def draw(path: str, decision: Mapping[str, Any]) -> Plain:
    """Pictures of what is known now: ``decision`` is the one recommended."""
    store = _study(path)
    key, found = _everything(path, store)
    state = store.state()
    return {"version": key, "figures": charts.known(store.file, found, decision, state.entries)}


def settle(path: str) -> Plain:
    """One more point of how the recommendation settled; ``left``: points that are still missing."""
    store = _study(path)
    key, found = _everything(path, store)
    history = _HISTORIES.setdefault(path, History())
    missing = history.missing(store.sampler(), store.file, found.axes, found.known)
    left = next(missing, 0)
    return {"version": key, "left": left, "figures": charts.settled(store.file, history.points(found.known))}


def _study(path: str) -> StudyStore:
    return _STUDIES.setdefault(path, LiveStudy(Path(path), may_create=False)).store()


def _everything(path: str, store: StudyStore) -> tuple[str, Everything]:
    """All that is known, fitted once as long as it stays."""
    key = version(store, store.state())
    kept = _KNOWN.get(path)
    if kept is None or kept[0] != key:
        kept = (key, store.everything())
        _KNOWN[path] = kept
    return kept
