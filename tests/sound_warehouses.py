"""Checks the warehouses that tests leave, with `pytest --verify`: each must be sound to the last row, and be what a
trace of the protocol's model leaves (tests/protocol/conformance.py).

Tests of damage leave warehouses that are not; they are named here, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import conformance

from tidemark.context import RunContext
from tidemark_verify.check import Warehouse

_LOST = "a table has lost commits, and stays so"
_BESIDE = "streams are written beside the runs, which record none"
_MADE = "the test writes rows of the ledger"
_READ = "files of events are gone, to show that none is read"
DAMAGED = {
    "test_a_pipeline_whose_tables_are_damaged_hides_no_other": "files are garbled",
    "test_a_run_that_closes_nothing_reads_no_events": _READ,
    "test_a_command_that_meets_a_damaged_file_names_it": "a file is garbled or missing, and stays so",
    "test_a_history_that_is_no_trace_is_refused": "the history is forged",
    "test_a_log_that_is_cut_off_is_named_with_the_command": _LOST,
    "test_a_run_over_edges_reads_no_events_of_earlier_batches": _READ,
    "test_a_table_that_lost_its_newest_commit_is_named": _LOST,
    "test_a_thousand_edits_are_found_and_placed": "the warehouse is tampered with",
    "test_a_version_is_not_promoted_if_retention_has_deleted_runs": "batches go, and retention is off",
    "test_checks_are_shown_that_were_recorded_in_the_table_quality": _MADE,
    "test_closing_reads_the_rows_of_closing_windows_and_no_older_ones": _READ,
    "test_each_cell_is_what_the_runs_come_to": "no run has made the tables: the test writes rows of events",
    "test_last_commit_check_no_run_goes_on_from_an_older_copy": "a table is replaced by an older copy",
    "test_no_command_shows_an_error_of_a_library": "a file is garbled or missing, and stays so",
    "test_objects_are_told_from_the_plan_and_quality_is_let_go": "rows of quality are lost for good",
    "test_only_what_is_abnormal_is_to_be_looked_at": _MADE,
    "test_only_files_of_the_days_of_the_slice_are_read": _READ,
    "test_people_and_programs_get_the_answer_first_and_what_to_do": "a file is missing between two checks",
    "test_readers_are_told_too": _LOST,
    "test_sixty_edits_are_found_and_placed": "the warehouse is tampered with",
    "test_the_same_for_many_sources": "no run has made the tables: the test writes rows of events",
    "test_what_cannot_be_made_again_is_told": "rows of events are lost for good",
    "test_what_the_steps_of_the_product_leave_conforms": "rows have no digests: only their batches matter",
    "test_where_batches_lost_a_whole_run_it_says_what_to_restore": _LOST,
    "test_windows_of_a_size_and_published_rows_are_those_of_the_oracle": _BESIDE,
    "test_windows_of_rows_are_those_of_the_oracle": _BESIDE,
    "test_without_batches_nothing_can_be_rebuilt": "batches is damaged, and stays so",
}
"""Tests that leave a damaged warehouse, by the start of their name, and what they damage."""
UNGUARDED = "[unguarded]"
"""End of the names of tests that switch a guard off, and so leave what the guard prevents."""
WRITTEN_BY_TESTS = {
    "test_statements_for_a_person_are_printed_alone": "the test makes a version live by a commit of its own",
    "test_the_link_follows_and_is_neither_data_nor_damage": "the test makes a version live by a commit of its own",
}
"""Tests that leave a sound warehouse which is no trace of the model, and why."""


def damaged(test: str) -> bool:
    """True if a test leaves a damaged warehouse."""
    return test.startswith(tuple(DAMAGED)) or test.endswith(UNGUARDED)


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


def faults(made: set[Path], folder: Path | None, test: str) -> Iterator[str]:
    """Every flaw of the warehouses that a test leaves at places and below a folder."""
    below = set() if folder is None else {path.parents[1] for path in folder.rglob("versions/_delta_log")}
    for root in sorted(made | below):
        if (root / "versions" / "_delta_log").is_dir() and list(root.glob("v*/batches/_delta_log")):
            warehouse = Warehouse(root, everything=True)
            warehouse.check()
            yield from (f"{root}: {flaw}" for flaw in warehouse.found)
            if not test.startswith(tuple(WRITTEN_BY_TESTS)):
                found, _ = conformance.check_folder(root, leases=True)
                yield from [f"{root}: not a trace of the model: {found}"] if found else ()
