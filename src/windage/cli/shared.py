"""What commands on a study file share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.errors import InputError
from windage.studies import need_optuna

if TYPE_CHECKING:
    from windage.studies.beforehand import Beforehand
    from windage.studies.store import StudyStore

Pairs = list[str]
FORMS = {
    "--context": "NAME=VALUE, such as --context demand=3.5",
    "--known": "NAME=VALUE, such as --known weekday=sat",
    "--forecast": "NAME=FORECAST, such as --forecast demand=80±15",
    "--decision": "NAME=VALUE, with the name of a decision variable, such as --decision stock=20",
    "": "NAME=VALUE, with the name of a decision variable, such as stock=20",
}
"""How an option is written; "" is an argument."""
StudyPath = Annotated[Path, typer.Argument(metavar="FILE", help="The study file, such as shop.toml.")]
Known = Annotated[
    Pairs | None,
    typer.Option("--known", metavar="NAME=VALUE", help="What is known beforehand, such as weekday=sat."),
]
Forecast = Annotated[
    Pairs | None,
    typer.Option("--forecast", metavar="NAME=FORECAST", help="What is forecast, such as demand=80±15."),
]
FEW = 5
"""So many lines or odd things are named, then only counted."""
Sure = Annotated[bool, typer.Option("--sure", help="Take what looks mistyped without asking again.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]


def open_store(path: Path, to_ask: bool = False) -> StudyStore:
    """The study of a file; ``to_ask``: its method and settings are checked first."""
    need_optuna()
    from windage.studies.file import load
    from windage.studies.storage import quiet
    from windage.studies.store import StudyStore

    quiet()
    return StudyStore.open(load(path), to_ask)


def pairs(given: Sequence[str], option: str = "") -> dict[str, str]:
    """``["demand=3"]`` → ``{"demand": "3"}``."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise InputError(f"{option} {text!r} must be {FORMS[option]}.".lstrip())
        if name.strip() in found:
            raise InputError(f"{option} {name.strip()!r} is given twice.".lstrip())
        found[name.strip()] = value.strip()
    return found


def given_of(store: StudyStore, known: Pairs | None, forecast: Pairs | None) -> Beforehand:
    """What is known before the decision, or an InputError."""
    from windage.studies import beforehand

    return beforehand.check(store.file, pairs(known or (), "--known"), pairs(forecast or (), "--forecast"))


def in_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def rows_are(count: int) -> str:
    """``1 row is``, ``3 rows are``."""
    return "1 row is" if count == 1 else f"{count} rows are"


def described(store: StudyStore, name: str, value: Any) -> str:
    """A value with its unit and what it is."""
    quantity = store.file.quantities[name]
    return quantity.show(value) + (f"   ({quantity.description})" if quantity.description else "")


def ask_again(odd: Sequence[str], as_json: bool) -> None:
    """Ask a person whether what looks mistyped is right; an InputError elsewhere, or where it is not."""
    if not odd:
        return
    more = [f"and {len(odd) - FEW} more"] if len(odd) > FEW else []
    words = " ".join([*(one[0].upper() + one[1:] for one in odd[:FEW]), *more])
    if not as_json and in_terminal():
        if typer.confirm(f"{words} Sure?", default=False):
            return
        raise InputError("nothing was changed. Say it again with the right numbers.")
    raise InputError(f"{words} Nothing was changed. If it is right, say it again with --sure.")
