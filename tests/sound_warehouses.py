"""Checks the warehouses that tests leave, with `pytest --verify`: each must be sound to the last row.

Tests of damage leave warehouses that are not; they are named here, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tidemark.context import RunContext
from tidemark_verify.check import Warehouse

DAMAGED: dict[str, str] = {}
"""Tests that leave a damaged warehouse, by the start of their name, and what they damage."""


def noticed(patch: Callable[[object, str, object], None]) -> set[Path]:
    """A set that takes the places of all pipelines that are held from now on."""
    made: set[Path] = set()
    hold = RunContext.hold

    def held(context: RunContext, wait: bool) -> AbstractContextManager[None]:
        if isinstance(context.root, Path):
            made.add(context.root)
        return hold(context, wait)

    patch(RunContext, "hold", held)
    return made


def faults(made: set[Path], folder: Path | None) -> Iterator[str]:
    """Every flaw of warehouses at places, and of those below a folder."""
    below = set() if folder is None else {path.parents[1] for path in folder.rglob("versions/_delta_log")}
    for root in sorted(made | below):
        if (root / "versions" / "_delta_log").is_dir() and list(root.glob("v*/batches/_delta_log")):
            warehouse = Warehouse(root, everything=True)
            warehouse.check()
            yield from (f"{root}: {flaw}" for flaw in warehouse.found)
