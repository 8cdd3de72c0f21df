"""What runs report and leave in the product, made from the oracle's verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

import oracle_punctuation
from tidemark.core.advance import Advance, BatchPosition, Key, SourceRules, advance
from tidemark.core.batch_result import FINDINGS, Account, FindingSample, Occurrence, Outcome, PartitionReport
from tidemark.core.policy import Action, Policy, Tolerance, reason_of
from tidemark.core.punctuation import Every, Marks, Punctuation
from tidemark.core.watermarks import Seen, latest

NOWHERE = Advance({}, (), {}, frozenset())
"""The state before the first run."""


def rules_of(name: str, source: Any) -> SourceRules:
    """The rules of a source of one of the oracles."""
    partitions = ("0",) if source.single else source.partitions
    if isinstance(source, oracle_punctuation.Source):
        every = Every(source.count, source.period) if source.count or source.period else None
        issues = Punctuation(Action(source.violations), every, source.delay, source.followed, None, source.final)
        return SourceRules(name, Policy.of_punctuations(), partitions, 0, False, punctuation=issues)

    def tolerance(pair: tuple[int, str] | None) -> Tolerance | None:
        return None if pair is None else Tolerance(pair[0], Action(pair[1]))

    own = source.timestamp_by
    order = Tolerance(source.out_of_order[0], Action(source.out_of_order[1]))
    policy = Policy(tolerance(source.early), tolerance(source.late), order) if own else Policy.of_arrival()
    return SourceRules(name, policy, partitions, source.landing_delay, own and source.over, own)


def judged(verdicts: Sequence[Any], marks: Mapping[str, Marks] | None = None) -> Outcome:
    """What the engine reports of these rows of one micro-batch."""
    partitions = {}
    for name in {verdict.partition for verdict in verdicts}:
        rows = [verdict for verdict in verdicts if verdict.partition == name]
        reasons = Counter(reason_of(reason) for row in rows for reason in row.reasons)
        seen = Seen(
            len(rows),
            latest(*[row.arrival for row in rows]),
            latest(*[row.system_timestamp for row in rows]),
            None if marks is None else marks[name],
        )
        found = {FINDINGS[reason]: occurrence(count) for reason, count in reasons.items() if reason in FINDINGS}
        partitions[name] = PartitionReport(Account("s", name, {}, reasons), seen, found)
    return Outcome(partitions=partitions)


def occurrence(count: int) -> Occurrence:
    return Occurrence(count, None, None, FindingSample())


def run_of(
    rules: Mapping[str, SourceRules], before: Advance, batches: Sequence[Mapping[str, Outcome]], end: Any, **keys: Any
) -> list[Advance]:
    """The result of each micro-batch of a run."""
    found: list[Advance] = []
    brought: frozenset[Key] = frozenset()
    for number, outcomes in enumerate(batches):
        position = BatchPosition(end.as_of, number == len(batches) - 1, brought=brought, **keys)
        before = advance(rules, before.states, before.combined, outcomes, position)
        found.append(before)
        brought = before.brought
    return found


def cuts(draw: Any, rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The rows in one, two or three consecutive parts."""
    places = sorted(draw(st.integers(0, len(rows))) for _ in range(draw(st.integers(0, 2))))
    for first, last in zip([0, *places], [*places, len(rows)], strict=True):
        yield rows[first:last]
