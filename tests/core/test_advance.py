"""Progress at the end of a run, where the whole product was once found to differ from the rules."""

from __future__ import annotations

from dataclasses import replace

from tidemark.core.advance import BatchPosition, SourceRules, States, advance
from tidemark.core.batch_result import Account, Diagnostic, Outcome, PartitionReport
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import Punctuation
from tidemark.core.watermarks import UNKNOWN, Combined, Seen

SECOND = 1_000_000
OFF = Policy(early=None, late=None, out_of_order=Tolerance(0, Action.ADJUST))


def rules(*partitions: str) -> SourceRules:
    return SourceRules("s", OFF, partitions, 0, substreams=False)


def skipped(partition: str) -> dict[str, Outcome]:
    """A batch whose only row moves no watermark."""
    return {"s": Outcome((), skipped={partition: Seen(1, 5 * SECOND, None)})}


def test_unknown_rows_that_come_late_take_no_watermark() -> None:
    recorded = {"s": Combined(9 * SECOND)}
    done = advance({"s": rules()}, {}, recorded, skipped(UNKNOWN), BatchPosition(10 * SECOND, True))
    assert done.states["s", UNKNOWN].watermark is None
    other = advance({"s": rules()}, {}, recorded, skipped("p"), BatchPosition(10 * SECOND, True))
    assert other.states["s", "p"].watermark == 9 * SECOND


def test_rows_before_the_start_count_for_offsets_and_arrivals_alone() -> None:
    report = PartitionReport(Account("s", "p", {}, {}), Seen(2, 7 * SECOND, 6 * SECOND), {})
    outcome = Outcome(partitions={"p": report}, skipped={"p": Seen(3, 8 * SECOND, None), "q": Seen(4, None, None)})
    done = advance({"s": rules()}, {}, {}, {"s": outcome}, BatchPosition(10 * SECOND, False))
    p, q = done.states["s", "p"], done.states["s", "q"]
    assert (p.next_offset, p.last_arrival, p.high) == (5, 8 * SECOND, 6 * SECOND)
    assert (q.next_offset, q.last_arrival, q.high) == (4, None, None)
    assert done.combined == {}


def test_a_source_that_was_complete_stays_so_when_it_no_longer_imports() -> None:
    source = replace(rules(), punctuation=Punctuation(Action.DROP))
    recorded = {"s": Combined(9 * SECOND, complete=True)}
    done = advance({"s": source}, {}, recorded, {}, BatchPosition(10 * SECOND, True))
    assert done.combined == recorded


def test_with_late_off_a_partition_idle_in_two_runs_is_reported_even_at_one_as_of() -> None:
    states: States = {}
    found = []
    for _ in range(3):
        done = advance({"s": rules("never")}, states, {}, {}, BatchPosition(10 * SECOND, True))
        states = done.states
        found.append([finding.type for finding in done.findings])
    assert found == [[], [Diagnostic.NOT_PROGRESSING], [Diagnostic.NOT_PROGRESSING]]


def test_a_row_ends_idleness() -> None:
    states: States = {}
    found = []
    for outcomes in ({}, skipped("p"), {}, {}):
        done = advance({"s": rules("p")}, states, {}, outcomes, BatchPosition(10 * SECOND, True))
        states = done.states
        found.append(len(done.findings))
    assert found == [0, 0, 0, 1]
