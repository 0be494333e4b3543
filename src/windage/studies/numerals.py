"""Numbers as tables have them: decimal points and commas, thousands marks, currency signs.

``1,200.50``, ``1.200,50``, ``1 200,50``, ``1'200`` and ``€ 120`` can be read in one way only. ``1,200`` can
be read in two: the other cells say which mark is the decimal one, or it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from windage.errors import InputError

Mark = Literal[".", ","]
CURRENCY = "€$£¥₹"
BLANKS = " \u00a0\u2009\u202f'’"
"""Between thousands: blanks of several widths, and the apostrophe."""
LONGEST = 400
"""Characters: a float has at most 309 digits before its point."""
SPACED = re.compile(rf"[0-9]{{1,3}}(?:[{BLANKS}][0-9]{{3}})+(?=[.,]|$)")
PARTS = re.compile(r"([+-]?)([0-9]*(?:[.,][0-9]*)*)((?:[eE][+-]?[0-9]+)?)")


@dataclass(frozen=True)
class Numeral:
    """A cell taken apart."""

    sign: str
    body: str
    """Digits and marks."""
    exponent: str
    decimal: Mark | None
    """Which mark the cell itself shows to be the decimal one; None where it shows none."""
    ambiguous: bool = False
    """Whether its one mark may stand for thousands or for decimals."""

    def text(self, decimal: Mark) -> str:
        """As Python writes it, where this mark is the decimal one."""
        thousands = "," if decimal == "." else "."
        return self.sign + self.body.replace(thousands, "").replace(decimal, ".") + self.exponent


def parse(cell: str) -> Numeral | None:
    """A cell as a number, or None where it is none."""
    if len(cell) > LONGEST:
        return None
    text = _without_currency(cell.replace("−", "-").strip())
    sign = text[:1] if text[:1] in ("+", "-") else ""
    bare = text[len(sign) :].lstrip()
    grouped = SPACED.match(bare)
    if grouped:
        bare = re.sub(f"[{BLANKS}]", "", grouped[0]) + bare[grouped.end() :]
    found = PARTS.fullmatch(sign + bare)
    if not found or not any(map(str.isdigit, found[2])):
        return None
    return _marked(found[1], found[2], found[3], bool(grouped))


def _without_currency(text: str) -> str:
    """Without one currency sign before or after the number."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    rest = text[len(sign) :].strip()
    if rest[:1] and rest[0] in CURRENCY:
        rest = rest[1:].lstrip()
    elif rest and rest[-1] in CURRENCY:
        rest = rest[:-1].rstrip()
    return sign + rest if not (sign and rest[:1] in ("+", "-")) else text


def _marked(sign: str, body: str, exponent: str, spaced: bool) -> Numeral | None:
    """Which of its marks is the decimal one, as far as the number itself shows it; None: it is no number."""
    marks = [mark for mark in body if mark in ".,"]
    if not marks:
        return Numeral(sign, body, exponent, None)
    last: Mark = "." if marks[-1] == "." else ","
    other: Mark = "," if last == "." else "."
    if other in marks:  # both: the last is the decimal one
        whole = body.rpartition(last)[0]
        right = marks.count(last) == 1 and _is_grouped(whole, other) and not spaced
        return Numeral(sign, body, exponent, last) if right else None
    if len(marks) > 1:  # thousands alone
        right = _is_grouped(body, last) and not (spaced or exponent)
        return Numeral(sign, body, exponent, other) if right else None
    ambiguous = _is_grouped(body, last) and not (spaced or exponent)
    return Numeral(sign, body, exponent, None if ambiguous else last, ambiguous)


def _is_grouped(digits: str, mark: str) -> bool:
    """``1,200,000``: groups of three, and no 0 in front."""
    return re.fullmatch(rf"[1-9][0-9]{{0,2}}(?:{re.escape(mark)}[0-9]{{3}})+", digits) is not None


def decimal_mark(cells: Iterable[str]) -> Mark | None:
    """The mark that all cells agree on as the decimal one; None where they show none, or both."""
    shown = {n.decimal for n in map(parse, cells) if n is not None and n.decimal is not None}
    return shown.pop() if len(shown) == 1 else None


def plain(cell: str, settled: Mark | None, separator: str, label: str) -> str:
    """A cell as Python writes numbers; as it is where it is no number; an InputError where it is ambiguous.

    ``settled``: the decimal mark of the other cells. Without one, the comma is decimal where ``;`` separates
    the columns (spreadsheets write ``;`` for that reason), and the point where something else does.
    """
    found = parse(cell)
    if found is None:
        return cell
    if not found.ambiguous:
        return found.text(found.decimal or ".")
    usual: Mark = "," if separator == ";" else "."
    if settled is None and usual not in found.body:
        decimals = found.text("," if "," in found.body else ".")
        raise InputError(
            f"{label} is {cell!r}, which could be {found.body.replace(',', '').replace('.', '')} or "
            f"{decimals}: write it without a mark for thousands, or as {decimals}0."
        )
    return found.text(settled or usual)
