"""Tables of a folder put into a page of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def fill(page: Path, folder: Path) -> None:
    """Put each table between its marks: ``<!-- table paper-regret -->`` and ``<!-- end -->``."""

    def body(match: re.Match[str]) -> str:
        text = (folder / f"{match[1]}.md").read_text().strip()
        return f"<!-- table {match[1]} -->\n{text}\n<!-- end -->"

    marks = r"<!-- table ([\w-]+) -->.*?<!-- end -->"
    page.write_text(re.sub(marks, body, page.read_text(), flags=re.DOTALL))
