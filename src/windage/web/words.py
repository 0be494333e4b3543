"""Sentences of the command line as the page says them."""

from __future__ import annotations

import re

CHANGED = (
    "The study file has changed since this page was opened: look at the boxes again, then save once more."
)
HINTS = (
    (
        r"If that was wrong:  windage correct FILE \d+ --value \.\.\.",
        "If that was wrong, correct it in the table of days.",
    ),
    (
        r"Tell what was really done as history: windage tell .*",
        "Add what was really done as a day of your own.",
    ),
    (
        r"Those under way are in  windage status FILE ; a new one comes by  windage ask FILE",
        "Open the page anew.",
    ),
    (
        r"Say  windage tell FILE \d+ --failed 'cut off'  and ask again\.",
        'Say below that it "brought no result".',
    ),
    (r": write one with  windage init .*", ". Bring it back to its place; nothing told is lost."),
    (r"\bsay  windage \w+ FILE[^.]*", "open the page anew"),
)
"""What the command line advises, and what the page does."""


def for_page(message: str) -> str:
    """A fault with the page's own advice, as a sentence."""
    for pattern, words in HINTS:
        message = re.sub(pattern, words, message)
    return message[:1].upper() + message[1:]
