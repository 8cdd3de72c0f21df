"""The page on the protocol is that of the model and of the code."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import events_outside
from explore import BEGINS, RECORDED, STEPS
from guards import NAMES
from invariants import INVARIANTS
from state import Budget
from test_conformance import FORGED
from test_protocol_model import BUILDS, FULL, LONGEST, SMALL, UPKEEP, WITHDRAWALS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:4] for line in TEXT.splitlines() if re.match(r"\| `", line)]
NAMED = re.compile(r"`([\w.]+)`(?: and `([\w.]+)`)? in `([\w/]+\.py)`")


def named(column: int) -> list[str]:
    """Words in a column of the table of actions."""
    return [word for row in ROWS for word in re.findall(r"`([\w.]+)`", row[column])]


def defined(path: str) -> set[str]:
    """Functions of a module, methods with their class."""
    tree = ast.parse((ROOT / "jobs" / "tidemark" / path).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def test_each_action_is_in_the_table_once():
    steps = {action.__name__ for action in chain(BEGINS, *STEPS.values(), *RECORDED.values())}
    outside = {
        action.__name__ for action in (events_outside.crash, events_outside.lose_lease, events_outside.restore)
    }
    assert sorted(named(0)) == sorted(steps | outside | {"judge"})


def test_each_function_is_where_the_table_says():
    found = [
        (name, path) for *names, path in NAMED.findall("".join(row[1] for row in ROWS)) for name in names if name
    ]
    assert len(found) > 40
    assert [(name, path) for name, path in found if name not in defined(path)] == []
    unplaced = {name for name in named(1) if not name.endswith(".py")} - {name for name, _ in found}
    assert unplaced == set()


def test_each_guard_is_in_the_table_and_each_invariant_is_said():
    assert set(named(2)) == set(NAMES)
    said = set(re.findall(r"^- \*\*.*?\*\* \(`(\w+)`\)", TEXT, re.MULTILINE))
    assert said == {*(rule.__name__ for rule in INVARIANTS), "leads_out"}


def test_the_page_names_the_guards_that_are_switched_off_in_the_product():
    tests = (Path(__file__).parent / "test_guards_in_code.py").read_text(encoding="utf-8")
    off = {name for name in NAMES if f"def test_{name}_" in tests}
    said = TEXT.partition("switched off in the product, too:")[2].partition("That")[0]
    assert set(re.findall(r"`(\w+)`", said)) == off
    assert len(off) >= 8


def test_the_page_gives_the_number_of_forged_histories():
    assert f"refuses {len(FORGED)} forged histories" in TEXT


def test_the_page_gives_the_bounds_of_each_exploration():
    words = {"crashes": "crash", "losses": "lost lease", "builds": "build", "promotions": "promotion"}
    bounds = {
        "runs": FULL,
        "upkeep": UPKEEP,
        "builds": BUILDS,
        "withdrawals": WITHDRAWALS,
        "with the fast tests": SMALL,
    }
    for name, budget in bounds.items():
        (row,) = re.findall(rf"^\| {name} \| ([^|]*) \|", TEXT, re.MULTILINE)
        for kind, word in words.items():
            number = getattr(budget, kind)
            plural = "" if number == 1 else "es" if word == "crash" else "s"
            assert not number or f"{number} {word}{plural}" in row
        assert len(row.split(",")) == sum(left > other for left, other in zip(budget, Budget(), strict=True))
    assert f"within {LONGEST} steps" in TEXT
    assert f"its {len(NAMES)}\nguards" in TEXT
