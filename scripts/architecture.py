"""Counts the engine: the table of docs/architecture.md.

    python scripts/architecture.py            # print the table
    python scripts/architecture.py --write    # put it into docs/architecture.md

The engine is everything under src/windage but its users (bench, studies, web, cli, pictures) and the bridge.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "windage"
PAGE = ROOT / "docs" / "architecture.md"
OUTSIDE = ("bench", "cli", "demo.py", "plots", "plots.py", "studies", "web", "botorch.py")
"""What is no part of the engine: users of it, and the bridge to BoTorch."""
TUNING = (
    ("methods/auto.py", "INITIAL"),
    ("methods/auto.py", "EARN"),
    ("methods/auto.py", "LEARN"),
    ("methods/auto.py", "MEMBERS"),
    ("gp/priors.py", "COMMON"),
    ("gp/priors.py", "OWN"),
    ("gp/ensemble.py", "DECIDED"),
    ("prediction.py", "FREEDOM"),
)
"""The tuning constants of the default: choices of ours that decide which decisions it takes. Not among them
are the choices of others (BoTorch's priors, the paper's formulas and budgets) and numbers of the numerics
(tolerances, sizes of chunks, when to refit), which decide how fast the same maximum is found."""
BEGIN, END = "<!-- counted: scripts/architecture.py --write -->", "<!-- end of counted -->"


@dataclass(frozen=True)
class Constant:
    """A constant of a module, with the text that explains it."""

    module: str
    name: str
    value: str
    reason: str


def modules() -> list[Path]:
    """The modules of the engine."""
    found = sorted(SOURCE.rglob("*.py"))
    return [path for path in found if path.relative_to(SOURCE).parts[0] not in OUTSIDE]


def code_lines(text: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*blank, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def functions(path: Path) -> list[tuple[int, str]]:
    """The length of each function in lines, and its name."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    where = path.relative_to(SOURCE)
    return [((n.end_lineno or n.lineno) - n.lineno + 1, f"{where}: {n.name}") for n in nodes]


def constants(path: Path) -> list[Constant]:
    """The numbers that a module names in capital letters; the text below a line is their reason."""
    body = ast.parse(path.read_text()).body
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else [value]
        text = after.value if isinstance(after, ast.Expr) else None
        reason = " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""
        for name, number in zip(names, values, strict=False):
            if isinstance(name, ast.Name) and name.id.isupper() and is_number(number):
                module = str(path.relative_to(SOURCE))
                found.append(Constant(module, name.id, ast.unparse(number), reason))
    return found


def is_number(node: ast.expr) -> bool:
    """Whether an expression is made of numbers alone."""
    kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    parts = list(ast.walk(node))
    numbers = [p.value for p in parts if isinstance(p, ast.Constant)]
    return all(isinstance(p, kinds) for p in parts) and all(isinstance(n, int | float) for n in numbers)


def tuning() -> list[Constant]:
    """The tuning constants of the default, as they stand in their modules."""
    every = {(c.module, c.name): c for path in modules() for c in constants(path)}
    return [every[key] for key in TUNING]


def table() -> str:
    """The counts as Markdown."""
    texts = {path: path.read_text() for path in modules()}
    longest = max(texts, key=lambda path: texts[path].count("\n"))
    length, function = max(entry for path in texts for entry in functions(path))
    chosen = tuning()
    numerical = sum(len(constants(path)) for path in texts) - len(chosen)
    rows = [
        ("modules of the engine", len(texts)),
        ("lines", f"{sum(text.count(chr(10)) for text in texts.values()):,}"),
        ("lines of code (no blank lines, comments, docstrings)", f"{sum(map(code_lines, texts.values())):,}"),
        ("longest module", f"{longest.relative_to(SOURCE)}, {texts[longest].count(chr(10))} lines"),
        ("longest function", f"{function}, {length} lines with its docstring"),
        ("tuning constants of the default", len(chosen)),
        ("other named numbers (numerics, and choices of others)", numerical),
    ]
    counts = "\n".join(f"| {name} | {value} |" for name, value in rows)
    named = "\n".join(f"| `{c.name}` | {c.value} | `{c.module}` | {c.reason} |" for c in chosen)
    return f"""{BEGIN}
| counted | |
|---|---|
{counts}

| tuning constant of the default | value | in | why |
|---|---|---|---|
{named}
{END}"""


def page() -> str:
    """docs/architecture.md with the table as it is now."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    return before + table() + rest.split(END)[1]


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="into docs/architecture.md")
    if parser.parse_args().write:
        PAGE.write_text(page())
    print(table())


if __name__ == "__main__":
    main()
