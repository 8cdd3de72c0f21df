"""Facts about the rows of one run, collected while its micro-batches are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidemark.core.advance import States
from tidemark.core.batch_result import Outcome, PartitionReport
from tidemark.core.policy import Fate
from tidemark.core.quality import MOST_EXAMPLES, RowRule
from tidemark.core.watermarks import Seen


@dataclass
class PartitionRows:
    """Rows of one partition: `taken` counted by offsets, `fates` counted by fate, and the results of row checks.
    `breaking` and `firsts` have the lowest offsets, as examples."""

    taken: int = 0
    fates: int = 0
    offsets_wrong: int = 0
    broken: dict[RowRule, int] = field(default_factory=dict)
    breaking: dict[RowRule, tuple[int, ...]] = field(default_factory=dict)
    firsts: dict[Fate, tuple[int, ...]] = field(default_factory=dict)

    def add(self, report: PartitionReport, first: int, next_: int, skipped: int) -> None:
        """Add one micro-batch: its report and its offsets [first, next_), which include `skipped` rows."""
        rows = report.account.rows
        self.taken += next_ - first - skipped
        self.fates += rows
        if report.checks is None:
            return
        offsets = report.checks.offsets
        differing = abs(next_ - first - skipped - rows)
        beside = offsets.first < first or offsets.last >= next_
        wrong = beside or differing or (not skipped and not offsets.whole(first, rows))
        self.offsets_wrong += max(1, differing) if wrong else 0
        for rule, found in report.checks.broken.items():
            self.broken[rule] = self.broken.get(rule, 0) + found.rows
            self.breaking[rule] = _lowest(self.breaking.get(rule, ()), found.offsets)
        for fate, first_ones in report.checks.firsts.items():
            self.firsts[fate] = _lowest(self.firsts.get(fate, ()), first_ones)


@dataclass
class RowFacts:
    """Numbers of rows of one source: `recorded` in the table's log, and `counted` by judging."""

    recorded: int = 0
    counted: int = 0


@dataclass
class Gathered:
    """Facts about rows by source and partition, and by source."""

    partitions: dict[tuple[str, str], PartitionRows] = field(default_factory=dict)
    sources: dict[str, RowFacts] = field(default_factory=dict)

    def add(self, outcomes: Mapping[str, Outcome], before: States, after: States) -> None:
        """Add one micro-batch, with the states of partitions before and after it."""
        for source, outcome in outcomes.items():
            for name, report in outcome.partitions.items():
                key = source, name
                first = before[key].next_offset if key in before else 0
                skipped = outcome.skipped.get(name, Seen(0, None, None)).rows
                rows = self.partitions.setdefault(key, PartitionRows())
                rows.add(report, first, after[key].next_offset, skipped)
            if outcome.recorded is not None:
                known = self.sources.setdefault(source, RowFacts())
                known.recorded += outcome.recorded
                known.counted += sum(report.account.rows for report in outcome.partitions.values())

    def examples(self, source: str, fate: Fate) -> tuple[str, ...]:
        """Return some rows of a source with a fate, as arguments of `tidemark explain`."""
        found = [
            example(of, partition, offset)
            for (of, partition), rows in sorted(self.partitions.items())
            if of == source
            for offset in rows.firsts.get(fate, ())
        ]
        return tuple(found[:MOST_EXAMPLES])


def example(source: str, partition: str, offset: int) -> str:
    """Return a row as arguments of `tidemark explain`."""
    return f"{source} {partition} {offset}"


def _lowest(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({*one, *other})[:MOST_EXAMPLES])
