"""Measures how easily strangers find their way: rooms, names and sentences of the Python code.

    python .ci/house.py            prints one line a measure, with its limit
    python .ci/house.py --list     prints also what each measure counts

`tests/test_house.py` holds the limits.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CODE = ("jobs", "dags")
MODULES_IN_A_FOLDER = 16
STANDARD_TERMS = {"file_pruning", "from_landing", "landing", "listing", "partitioning"}
"""Names in -ing that the field has for a thing, and not for doing something."""
RIDDLES = re.compile(r"^(What|Which|Whether|How)\b")
ORACULAR = re.compile(r"\b(told|tells?)\b", re.IGNORECASE)
OTHER_WORDS = {"place", "places", "hot", "crowd", "hindsight", "trial", "keeping", "upkeep", "mend"}
"""Names of things for which `docs/glossary.md` has another word, or that once named several things."""


class Measure(NamedTuple):
    """One number, the most that it may be, and what it counts."""

    name: str
    value: float
    limit: float
    counted: tuple[str, ...] = ()


def modules() -> list[Path]:
    """Every Python module of the product."""
    return sorted(
        path for folder in CODE for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts
    )


def docstrings() -> Iterator[tuple[str, str]]:
    """Each docstring with where it is: of modules, classes, functions, and the texts below a constant."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", text


def _folders() -> Measure:
    counts: dict[Path, int] = defaultdict(int)
    for path in modules():
        counts[path.parent] += path.name != "__init__.py"
    over = [
        f"{folder.relative_to(ROOT)} {number}" for folder, number in counts.items() if number > MODULES_IN_A_FOLDER
    ]
    return Measure("modules in one folder, at most", max(counts.values()), MODULES_IN_A_FOLDER, tuple(over))


def _gerunds() -> Measure:
    names = [path for path in modules() if path.stem.endswith("ing") and path.stem not in STANDARD_TERMS]
    return Measure("module names in -ing", len(names), 0, tuple(str(path.relative_to(ROOT)) for path in names))


def _classes() -> Measure:
    modules_of: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules_of[node.name].append(str(path.relative_to(ROOT)))
    twice = [f"{name}: {', '.join(found)}" for name, found in modules_of.items() if len(found) > 1]
    return Measure("class names in two modules", len(twice), 0, tuple(twice))


def _riddles() -> Measure:
    texts = list(docstrings())
    found = [f"{where} {text.splitlines()[0]}" for where, text in texts if RIDDLES.match(text)]
    return Measure(
        "docstrings that open with What, Which, Whether, How: %", 100 * len(found) / len(texts), 2, tuple(found)
    )


def _oracles() -> Measure:
    texts = list(docstrings())
    words = sum(len(text.split()) for _, text in texts)
    found = [f"{where} {text.splitlines()[0]}" for where, text in texts for _ in ORACULAR.findall(text)]
    return Measure("told, tell, tells in 10,000 words of docstrings", 10_000 * len(found) / words, 2, tuple(found))


def _names() -> Measure:
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)} {name}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for field in ("id", "attr", "arg", "name")
        if isinstance(name := getattr(node, field, None), str) and name.strip("_").lower() in OTHER_WORDS
    ]
    return Measure("names that the glossary has another word for", len(found), 0, tuple(found))


def measures() -> list[Measure]:
    """Every measure, as the code is now."""
    return [_folders(), _gerunds(), _classes(), _names(), _riddles(), _oracles()]


def main() -> None:
    """Print the measures; with `--list` what they count, too."""
    for each in measures():
        print(f"{each.name:58} {each.value:8.1f}   limit {each.limit:g}")
        if "--list" in sys.argv:
            for line in each.counted:
                print(f"    {line}")


if __name__ == "__main__":
    main()
