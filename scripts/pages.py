"""Tables of a folder put into a page of the documentation."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windage.bench.tables import Sheet

DOCS = Path(__file__).parent.parent / "docs"


def bring(name: str, results: Path, made: Sequence[Sheet], folder: Path) -> None:
    """Write the tables of a results folder, named after it, and its manifest."""
    for sheet in made:
        replace(sheet, name=f"{name}-{sheet.name}").write(folder)
    shutil.copy(results / "manifest.json", folder / f"{name}-manifest.json")


def fill(page: Path, folder: Path) -> None:
    """Put each table between its marks: ``<!-- table paper-regret -->`` and ``<!-- end -->``."""

    def body(match: re.Match[str]) -> str:
        text = (folder / f"{match[1]}.md").read_text().strip()
        return f"<!-- table {match[1]} -->\n{text}\n<!-- end -->"

    marks = r"<!-- table ([\w-]+) -->.*?<!-- end -->"
    page.write_text(re.sub(marks, body, page.read_text(), flags=re.DOTALL))
