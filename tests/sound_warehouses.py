"""Checks the warehouses that tests leave, with `pytest --verify`: each must be sound to the last row.

Tests of damage leave warehouses that are not; they are named here, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tidemark.context import RunContext
from tidemark_verify.check import Warehouse

DAMAGED = {
    "test_a_command_that_meets_a_damaged_file_names_it": "a file is garbled or missing, and stays so",
    "test_a_run_over_edges_reads_no_events_of_earlier_batches": "files of events are gone, to show that none is read",
    "test_a_thousand_edits_are_found_and_placed": "the warehouse is tampered with",
    "test_objects_are_told_from_the_plan_and_quality_is_let_go": "rows of quality are lost for good",
    "test_people_and_programs_get_the_answer_first_and_what_to_do": "a file is missing between two checks",
    "test_sixty_edits_are_found_and_placed": "the warehouse is tampered with",
    "test_what_cannot_be_made_again_is_told": "rows of events are lost for good",
    "test_without_batches_nothing_can_be_rebuilt": "batches is damaged, and stays so",
}
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
