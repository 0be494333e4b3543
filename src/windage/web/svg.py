"""Small pictures as SVG: lines, bands, dots and bars between two axes. Colours are the style sheet's.

Every text is escaped. A picture has a title and a description for people who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 14, 50
"""Room around the plot, for the numbers and names of its axes."""
TICKS = 5
"""About so many numbers along an axis."""
TICK_LETTERS = 8
LONGEST = 42
"""Letters of an axis' name."""
LETTER = 8.0
"""Width of a letter, to see whether numbers fit."""


@dataclass(frozen=True)
class Scale:
    """A range of numbers, or of places of words, along an axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    words: tuple[str, ...] = ()
    """In place of numbers: word k stands at k."""
    show: Callable[[float], str] = "{:.3g}".format

    def at(self, value: float) -> float:
        """Where a number is drawn."""
        low, high = self._inner(self.low), self._inner(self.high)
        share = (self._inner(value) - low) / (high - low) if high > low else 0.5
        return self.start + min(max(share, -0.5), 1.5) * (self.end - self.start)

    def _inner(self, value: float) -> float:
        return math.log(max(value, 1e-300)) if self.log else value

    def ticks(self) -> list[tuple[float, str]]:
        """Numbers or words to write."""
        if self.words:
            return [(k, _cut(word, TICK_LETTERS)) for k, word in enumerate(self.words)]
        if self.log:
            found = [
                10.0**k for k in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            ]
            inside = [v for v in found if self.low <= v <= self.high]
            return [(v, self.show(v)) for v in (inside if len(inside) > 1 else [self.low, self.high])]
        return [(v, self.show(v)) for v in nice(self.low, self.high)]


def nice(low: float, high: float) -> list[float]:
    """Round numbers between two ends."""
    if not high > low:
        return [low]
    raw = (high - low) / TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    step = min((m * size for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - raw))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


@dataclass
class Picture:
    """One picture: what is drawn, in order."""

    title: str
    description: str
    x: Scale
    y: Scale
    x_name: str = ""
    y_numbers: bool = True
    parts: list[str] = field(default_factory=list)

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> None:
        """A line through points."""
        self.parts.append(f'<polyline class="{kind}" points="{self._points(xs, ys)}"/>')

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> None:
        """The room between two lines."""
        edge = self._points([*xs, *reversed(xs)], [*low, *reversed(high)])
        self.parts.append(f'<polygon class="band" points="{edge}"/>')

    def dots(self, xs: Sequence[float], ys: Sequence[float], kind: str, radius: float = 3.5) -> None:
        """A dot for each point."""
        for x, y in zip(xs, ys, strict=True):
            place = f'cx="{self.x.at(x):.1f}" cy="{self.y.at(y):.1f}"'
            self.parts.append(f'<circle class="{kind}" {place} r="{radius:g}"/>')

    def bars(self, edges: Sequence[float], heights: Sequence[float]) -> None:
        """A bar between each two edges."""
        for a, b, height in zip(edges[:-1], edges[1:], heights, strict=True):
            left, right, top = self.x.at(a), self.x.at(b), self.y.at(height)
            size = f'width="{max(right - left - 1, 0.5):.1f}" height="{max(self.y.at(0) - top, 0):.1f}"'
            self.parts.append(f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" {size}/>')

    def columns(self, xs: Sequence[float], half: float, heights: Sequence[float]) -> None:
        """A bar around each x, so wide to either side."""
        for x, height in zip(xs, heights, strict=True):
            self.bars([x - half, x + half], [height])

    def uprights(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str) -> None:
        """An upright line for each x."""
        for x, a, b in zip(xs, low, high, strict=True):
            ends = f'y1="{self.y.at(a):.1f}" y2="{self.y.at(b):.1f}"'
            self.parts.append(
                f'<line class="{kind}" x1="{self.x.at(x):.1f}" x2="{self.x.at(x):.1f}" {ends}/>'
            )

    def _points(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        return " ".join(f"{self.x.at(x):.1f},{self.y.at(y):.1f}" for x, y in zip(xs, ys, strict=True))

    def svg(self, key: str) -> str:
        """The whole; ``key`` is its own among the pictures of a page."""
        said = f'<title id="{key}-t">{escape(self.title)}</title>'
        said += f'<desc id="{key}-d">{escape(self.description)}</desc>'
        head = (
            f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="{key}-t {key}-d" preserveAspectRatio="xMidYMid meet">{said}'
        )
        clip = (
            f'<clipPath id="{key}-c"><rect x="{LEFT}" y="{TOP - 6}" width="{WIDTH - LEFT - RIGHT + 6}" '
            f'height="{HEIGHT - TOP - BOTTOM + 6}"/></clipPath>'
        )
        drawn = f'<g clip-path="url(#{key}-c)">{"".join(self.parts)}</g>'
        return f"{head}{clip}{''.join(self._axes())}{drawn}</svg>"

    def _axes(self) -> list[str]:
        base, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        found = [f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{base}" y2="{base}"/>']
        last = -math.inf
        for value, words in self.x.ticks():
            at, half = self.x.at(value), LETTER * len(words) / 2
            if at - half < last:
                continue  # it would cover the number before
            last = at + half + LETTER
            found.append(
                f'<text class="tick" x="{at:.1f}" y="{base + 18}" text-anchor="middle">{escape(words)}</text>'
            )
        for value, words in self.y.ticks() if self.y_numbers else ():
            at = self.y.at(value)
            found.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
            found.append(
                f'<text class="tick" x="{LEFT - 8}" y="{at + 5:.1f}" text-anchor="end">{escape(words)}</text>'
            )
        middle = (LEFT + right) / 2
        name = escape(_cut(self.x_name, LONGEST))
        found.append(
            f'<text class="name" x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{name}</text>'
        )
        return found


def across(low: float, high: float, **more: object) -> Scale:
    """A scale along the foot of a picture."""
    return Scale(low, high, LEFT + 6, WIDTH - RIGHT - 6, **more)  # type: ignore[arg-type]


def upward(low: float, high: float, **more: object) -> Scale:
    """A scale along the side of a picture."""
    return Scale(low, high, HEIGHT - BOTTOM, TOP, **more)  # type: ignore[arg-type]


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"
