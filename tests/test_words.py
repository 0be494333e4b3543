"""The words of the field: some that are not are held off.

Only unambiguous ones are here. Ordinary English ("one place", "look at") is free.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORDS = {
    "law": ("laws?", "distribution"),
    "caught": ("caught", "stuck in a local optimum"),
    "stand-in": (r"stand[_-]ins?", "coarse approximation"),
    "pull back": (r"pull(?:s|ed|ing)?[\s_-]+back", "vector-Jacobian product"),
    "knee": ("knees?", "shift"),
    "clarity": ("clarity", "correlation"),
    "grain": ("grains?", "noise that nearby decisions share"),
    "clerk": ("clerks?", "collector"),
    "painter": ("painters?", "plot worker"),
    "book": ("books?", "study store"),
}
"""Word → what is looked for, and the word of the field."""
ALLOWED = {
    ("src/windage/serialization.py", "knee"): "a key of saved studies that earlier versions wrote",
}
"""Where a word must stay, and why."""


def scanned() -> list[Path]:
    """Sources, documents and examples; the changelog tells of old names and is free."""
    found = [*ROOT.glob("src/windage/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py")]
    return sorted([*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def words_in(text: str) -> list[tuple[int, str]]:
    """(line, word) of each that is there, in names with capitals or underscores too."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    found = []
    for word, (pattern, _) in WORDS.items():
        for match in re.finditer(rf"(?<![a-z]){pattern}(?![a-z])", spaced, flags=re.IGNORECASE):
            found.append((1 + spaced.count("\n", 0, match.start()), word))
    return sorted(found)


@pytest.mark.parametrize("path", scanned(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_word_of_our_own_stands_for_one_of_the_field(path):
    name = str(path.relative_to(ROOT))
    found = words_in(path.read_text()) + [(0, word) for _, word in words_in(path.stem)]
    wrong = [f"{name}:{line}: {word}" for line, word in found if (name, word) not in ALLOWED]
    hints = sorted({f"{word!r} → {WORDS[word][1]!r}" for _, word in found})
    assert not wrong, "\n".join([*wrong, *hints])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("under the worst law near it", "law"),
        ("two laws", "law"),
        ("class ClippedLaw:", "law"),
        ("law_contexts = 1", "law"),
        ("a seed that is caught", "caught"),
        ("on a stand-in of it", "stand-in"),
        ("Gradients are pulled\nback by hand", "pull back"),
        ("def pull_back(self):", "pull back"),
        ('row.get("knee")', "knee"),
        ("of great clarity", "clarity"),
        ("with a grain of salt", "grain"),
        ("class Clerk:", "clerk"),
        ("the painter draws", "painter"),
        ("from windage.studies.book import Book", "book"),
        ("a flaw, a lawn, kneeling, a textbook and its bookkeeping, finely grained, standing in line", None),
        ("the estimated distribution, stuck in a local optimum", None),
    ],
)
def test_a_planted_word_is_found_and_others_are_not(text, word):
    assert {found for _, found in words_in(text)} == ({word} if word else set())


def test_the_line_is_named():
    assert words_in("one\ntwo\nthe law of three\n") == [(3, "law")]


@pytest.mark.parametrize(("name", "word"), ALLOWED)
def test_what_is_allowed_is_still_needed(name, word):
    assert word in {found for _, found in words_in((ROOT / name).read_text())}
