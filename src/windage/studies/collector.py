"""The result collector: tells what people typed into the web page.

The page's form writes user attributes of a running trial, one after the other. The collector tells complete
ones by the same rules as ``windage tell``. A fault becomes a note on the trial.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from optuna.exceptions import ExperimentalWarning
from optuna.trial import FrozenTrial, Trial, TrialState

from windage.errors import InputError, TrialError, WindageError, missing_extra
from windage.space import Categorical
from windage.studies import reading, records
from windage.studies.beforehand import kept
from windage.studies.file import StudyFile
from windage.studies.plotly_parts import named
from windage.studies.second_look import oddities
from windage.studies.store import StudyStore

SIGN = "**windage:** "
"""How windage's own line of a note begins; the rest of the note is people's."""
Say = Callable[[str], None]


def libraries() -> Any:
    """optuna-dashboard, or an error that says how to get it."""
    try:
        import optuna_dashboard
        import plotly  # noqa: F401
    except ImportError as error:
        raise missing_extra("optuna-dashboard", "dashboard", "the web page") from error
    return optuna_dashboard


def register_form(store: StudyStore) -> None:
    """One form for contexts and value of a running trial; and the value's name in Optuna's own pictures."""
    dashboard, file = libraries(), store.file
    widgets = []
    for name in _asked_for(file):
        quantity = file.quantities[name]
        parts = (f"in {quantity.unit}" if quantity.unit else "", quantity.description)
        kind = file.contexts.get(name)
        choices = f"one of {', '.join(map(str, kind.choices))}" if isinstance(kind, Categorical) else ""
        described = ": ".join(part for part in (*parts, choices) if part) or "a number"
        widgets.append(dashboard.TextInputWidget(description=described, user_attr_key=name))
    dashboard.register_user_attr_form_widgets(store.study, widgets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        store.study.set_metric_names([named(file, "value")])


def _asked_for(file: StudyFile) -> list[str]:
    return [*file.contexts, "value"]


def submitted(file: StudyFile, trial: FrozenTrial) -> dict[str, Any] | None:
    """What was entered for a trial; None where the form is not complete.

    What was known before the decision, or is optional, may be left empty.
    """
    known = kept(trial, file.contexts).known
    found: dict[str, Any] = {}
    for name in _asked_for(file):
        entry = trial.user_attrs.get(name)
        entry = entry.strip() if isinstance(entry, str) else entry
        free = name in known or name in file.optional
        if entry is None and not free:
            return None
        if not free or entry not in (None, ""):
            found[name] = entry
    return found


def _met(file: StudyFile, entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entries[name] for name in file.contexts if name in entries}


def wrong(file: StudyFile, entries: Mapping[str, Any]) -> str:
    """What is wrong with a form, in a sentence; empty where nothing is."""
    typed = {name: str(entries.get(name, "")).strip() for name in file.contexts}
    met = {name: entry for name, entry in typed.items() if entry or name not in (*file.known, *file.optional)}
    try:
        file.check_known(met)
        file.check_value(str(entries.get("value", "")).strip())
    except InputError as error:
        return f"{error} Correct it in the form, and submit again."
    return ""


@dataclass
class ResultCollector:
    """Tells what people typed into the page, and says on the trial when something is wrong."""

    store: StudyStore
    keep_asking: bool = False
    """Have a decision waiting at any time."""
    say: Say = lambda _: None
    """Called with a line for the terminal."""
    _seen: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """The entries at the last collection, by trial."""
    _compared: set[int] = field(default_factory=set)
    """Trials that were told, and compared with what was typed."""

    def collect(self) -> int:
        """Tell what is complete and has not changed since the last call; how many results were told.

        The page writes one entry after the other: what changes at this moment may be half of a correction.
        """
        told, waiting = 0, 0
        with self.store.faults():
            for trial in self.store.trials(TrialState.RUNNING, TrialState.COMPLETE):
                taken = self._collect_from(trial)
                told += taken
                waiting += trial.state == TrialState.RUNNING and not taken and self.store.counts(trial)
        if self.keep_asking and not waiting:
            asked = self.store.ask()
            self.say(f"decision {asked.number} waits: {in_words(self.store.file.show(asked.decision))}")
        return told

    def _collect_from(self, trial: FrozenTrial) -> bool:
        """Whether its result was told now."""
        entries = submitted(self.store.file, trial)
        if entries is None or trial.number in self._compared:
            return False
        settled = self._seen.get(trial.number) == entries
        self._seen[trial.number] = entries
        if not settled:
            return False
        if trial.state == TrialState.COMPLETE:
            self._compared.add(trial.number)
            self._compare(trial, entries)
            return False
        return self._tell(trial, entries)

    def _tell(self, trial: FrozenTrial, entries: Mapping[str, Any]) -> bool:
        store = self.store
        met = _met(store.file, entries)
        try:
            odd = self._odd(trial, met, entries["value"])
            entry = store.tell(trial.number, met, entries["value"])
        except TrialError:
            now = reading.trial(store.study, trial.number)
            if now is None or now.state != TrialState.RUNNING:
                return False  # another was first: the next call compares
            raise
        except InputError as error:
            # the value waits for the correction; else half of it could be told, with the old value
            store.storage.set_trial_user_attr(reading.trial_id(store.study, trial.number), "value", None)
            note(store, trial, f"not taken: {error} Correct it in the form, and submit again.")
            self.say(f"decision {trial.number} not taken: {error}")
            return False
        shown = in_words(store.file.show({**entry.context, "value": entry.value}))
        if odd:
            mend = f"windage correct {store.file.path} {trial.number} ..."
            note(store, trial, f"told: {shown}. {' '.join(odd)} If that is wrong:  {mend}")
        else:
            note(store, trial, f"told: {shown}.", only_replace=True)
        self.say(f"decision {trial.number} told: {shown}")
        return True

    def _odd(self, trial: FrozenTrial, met: Mapping[str, Any], value: Any) -> list[str]:
        """What looks mistyped. It is taken: the form cannot ask again."""
        file = self.store.file
        outcome = file.check_value(value)
        context = file.check_context(met, kept(trial, file.contexts).known)
        return oddities(self.store, records.published(trial), context, outcome)

    def _compare(self, trial: FrozenTrial, entries: Mapping[str, Any]) -> None:
        """Someone else was first, and told something else: say that the entries do not count."""
        file = self.store.file
        told = {**records.context_of(trial), "value": trial.value}
        try:
            met = file.check_context(_met(file, entries), kept(trial, file.contexts).known)
            same = {**met, "value": file.check_value(entries["value"])} == told
        except WindageError:
            same = False
        if not same:
            shown = in_words(file.show(told))
            note(self.store, trial, f"this was told before: {shown}. What was typed here does not count.")


def in_words(shown: Mapping[str, str]) -> str:
    """``demand 8 kg, value 4 EUR``."""
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def note(store: StudyStore, trial: FrozenTrial, line: str, only_replace: bool = False) -> None:
    """Windage's line in the trial's note, in place of an earlier one; what people wrote stays."""
    dashboard = libraries()
    told = Trial(store.study, reading.trial_id(store.study, trial.number))
    lines = dashboard.get_note(told).splitlines()
    others = [text for text in lines if not text.startswith(SIGN)]
    if only_replace and len(others) == len(lines):
        return
    wanted = "\n".join([SIGN + line.replace("\n", " "), *others])
    if wanted != "\n".join(lines):
        dashboard.save_note(told, wanted)
