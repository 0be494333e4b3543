"""What commands on a study file share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windage.studies import need_optuna

if TYPE_CHECKING:
    from windage.studies.store import StudyStore

StudyPath = Annotated[Path, typer.Argument(metavar="FILE", help="The study file, such as shop.toml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]


def open_store(path: Path, to_ask: bool = False) -> StudyStore:
    """The study of a file; ``to_ask``: its method and settings are checked first."""
    import logging

    need_optuna()
    import optuna

    from windage.studies.file import load
    from windage.studies.store import StudyStore

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    return StudyStore.open(load(path), to_ask)


def rows_are(count: int) -> str:
    """``1 row is``, ``3 rows are``."""
    return "1 row is" if count == 1 else f"{count} rows are"


def described(store: StudyStore, name: str, value: Any) -> str:
    """A value with its unit and what it is."""
    quantity = store.file.quantities[name]
    return quantity.show(value) + (f"   ({quantity.description})" if quantity.description else "")
