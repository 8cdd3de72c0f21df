"""Maintenance of a pipeline's tables after a commit: compaction and retention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import unbounded
from tidemark.core.batch_result import BatchRecord
from tidemark.core.stream_output import OUTPUTS
from tidemark.core.streams import reach
from tidemark.core.times import DAY
from tidemark.core.watermarks import PartitionState, combine
from tidemark.ledger import maintenance
from tidemark.ledger.durability import lasting
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tail import kept
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import rules_of_streams

MERGE_EVERY = 50
"""Number of batches after which events and substreams are compacted; the small tables have their own rule."""


class SparkTables(Protocol):
    """Maintenance of the tables that Spark writes."""

    def merge(self, sources: Sequence[str], outputs: Sequence[str], since: int) -> float:
        """Compact small files; returns the seconds that it took."""
        ...

    def forget_substreams(self, floors: Mapping[tuple[str, str], int]) -> None:
        """Remove superseded states of substreams, and those at or below the floor of their partition."""
        ...

    def forget_keys(self, source: SourceSpec, states: Mapping[str, PartitionState]) -> None:
        """Remove the remembered keys that no later row can repeat."""
        ...

    def forget_ended(self, sources: Sequence[str], through: int, every: int) -> float | None:
        """Remove lifetimes that have ended from the tables of open ones, once every `every` batches. Returns the
        seconds that it took; None if nothing was due."""
        ...

    def retain(self, sources: Sequence[str], before: int, needed: Mapping[str, int | None]) -> None:
        """Delete whole days of events and of ended lifetimes. Of a source in `needed`, delete only rows before the
        given time (None: no rows)."""
        ...

    def retain_letters(self, tables: Sequence[str], first: int) -> None:
        """Delete dead letters of batches before `first`."""
        ...

    def vacuum(self, tables: Sequence[str], hours: int) -> int:
        """Delete files that no table has needed for `hours`; returns the number of tables."""
        ...


@dataclass(frozen=True)
class Maintenance:
    """Maintenance of one pipeline. `tables` starts a JVM; it is None if no JVM runs and none may be started."""

    spec: PipelineSpec
    ledger: Ledger
    tables: Callable[[], SparkTables] | None

    def after(self, records: Sequence[BatchRecord]) -> float | None:
        """Maintain the tables after a run of these batches. Returns the seconds spent on compaction; None if none was
        due."""
        with self._lasting():
            return self._after(records)

    def _lasting(self) -> AbstractContextManager[None]:
        """Context manager: commits to the version's tables are on the disk at its end."""
        return lasting(*(self.ledger.folder / name for name in (*self.ledger.stores, *self.written_by_spark())))

    def _after(self, records: Sequence[BatchRecord]) -> float | None:
        first, last = records[0], records[-1]
        merged = maintenance.compact(self.ledger)
        if self.tables is not None and self._merge_is_due(first, last):
            merged = (merged or 0.0) + self._merge(last, self.tables(), superseded=True)
        if self.tables is not None and (names := self._with_edges()):
            spent = self.tables().forget_ended(names, last.batch_id, MERGE_EVERY)
            merged = merged if spent is None else (merged or 0.0) + spent
        if self.tables is not None and self._retention_is_due(first, last):
            self._retain_rows(last)
        prior = self.ledger.before(first.run_first)
        if prior and prior.as_of // DAY != last.as_of // DAY:
            self._retain_batches(last.as_of)
        return merged

    def _merge_is_due(self, first: BatchRecord, last: BatchRecord) -> bool:
        """True if a run is the first with a JVM since a multiple of `MERGE_EVERY` batches."""
        prior = self._before(lambda batch: batch.run_last // MERGE_EVERY, first, last)
        return (prior.run_last if prior else 0) // MERGE_EVERY != last.run_last // MERGE_EVERY

    def _retention_is_due(self, first: BatchRecord, last: BatchRecord) -> bool:
        """True if a run is the day's first with a JVM, and not the pipeline's first."""
        if self.spec.retention.events is None and self.spec.retention.dead_letters is None:
            return False
        prior = self._before(lambda batch: batch.as_of // DAY, first, last)
        return prior is not None and prior.as_of // DAY != last.as_of // DAY

    def _before(
        self, period: Callable[[BatchRecord], int], first: BatchRecord, last: BatchRecord
    ) -> BatchRecord | None:
        """The last batch before the run of first..last that took objects (so a JVM ran) or is of an earlier period;
        None if there is none. The search ends there."""
        now = period(last)
        return self.ledger.before(
            first.run_first, lambda records: [each for each in kept(records) if each.objects or period(each) != now]
        )

    def _merge(self, last: BatchRecord, tables: SparkTables, superseded: bool) -> float:
        """Compact small files; if `superseded`, first remove superseded rows of substreams and keys."""
        earlier = self.ledger.before(last.batch_id - MERGE_EVERY + 1) or self.ledger.batches(1, last.batch_id)[0]
        oldest = earlier.as_of
        delay = max(source.landing_delay for source in self.spec.sources.values())
        if superseded:
            self._forget(last, tables)
        return tables.merge(list(self.spec.sources), self._outputs(OUTPUTS), oldest - delay - DAY)

    def _forget(self, last: BatchRecord, tables: SparkTables) -> None:
        """Remove rows of substreams and keys that later rows have superseded."""
        states = self.ledger.states(last.batch_id + 1)
        floors = {
            key: state.floor
            for key, state in states.items()
            if state.floor is not None and (rules := rules_of(self.spec).get(key[0])) and rules.substreams
        }
        for name, source in self.spec.sources.items():
            if source.deduplicate is not None:
                tables.forget_keys(source, {part: state for (of, part), state in states.items() if of == name})
        tables.forget_substreams(floors)

    def now(self, last: BatchRecord) -> float:
        """Compact everything that can be compacted, and delete what retention does not keep, however long ago the
        last time was. Returns the seconds spent on compaction.

        While a run is pending, superseded rows stay: abandoning the run would delete the rows that supersede them.
        """
        tables, settled = self._spark(), not self.ledger.last().pending
        with self._lasting():
            merged = maintenance.compact(self.ledger) or 0.0
            merged += self._merge(last, tables, settled)
            if settled:
                self._retain_rows(last)
                self._retain_batches(last.as_of)
            return merged

    def vacuum(self, hours: int) -> int:
        """Delete files that no table has needed for `hours`; returns the number of Spark's tables."""
        return self._spark().vacuum(self.written_by_spark(), hours)

    def written_by_spark(self) -> list[str]:
        """Names of the tables that Spark writes."""
        kept = [f"{kind}/{name}" for name in self._with_edges() for kind in ("lifetimes", "open_lifetimes")]
        kept += [f"seen/{name}" for name, source in self.spec.sources.items() if source.deduplicate]
        return [*(f"events/{name}" for name in self.spec.sources), *kept, *self._outputs(OUTPUTS), "substreams"]

    def _spark(self) -> SparkTables:
        if self.tables is None:
            raise ValueError("no JVM is there for maintenance")
        return self.tables()

    def _with_edges(self) -> list[str]:
        """Names of the sources that have tables of lifetimes."""
        return [name for name, source in self.spec.sources.items() if source.lifetimes.edges]

    def _outputs(self, kinds: Sequence[str]) -> list[str]:
        """Names of the tables of published streams, by kind."""
        published = [name for name, step in self.spec.streams.items() if step.published]
        return [f"{kind}/{name}" for kind in kinds for name in published]

    def needed(self, last: BatchRecord) -> dict[str, int | None]:
        """For each source of an incomplete stream: the time from which streams still need its rows after a run (None:
        all rows). No open window and no unpublished row begins earlier. Streams are held back to their open windows,
        so rows are earlier by at most what lifetimes and shifts add. Whether a waiting row has a gap depends on rows
        since its own start. A stream that is added later needs the rows that end after the watermark of its
        sources."""
        steps = rules_of_streams(self.spec)
        narrow = [step if step.fixed is None else replace(step, windows=None) for step in steps]
        moved = reach(steps if any(step.gapped for step in steps) else narrow)
        found: dict[str, int | None] = {}
        for step in steps:
            end = last.streams.get(step.name)
            if end is not None and end.state.complete:
                continue
            back = None if end is None or end.state.back is None else end.state.back - moved
            open_ = (step.gapped and step.endless) or unbounded(self.spec.streams, step.name)
            back = None if open_ else back
            for name in step.sources:
                found[name] = combine([found.get(name, back), back], None)
        for name, combined in last.combined.items():
            if not combined.complete:
                found[name] = combine([found.get(name, combined.watermark), combined.watermark], None)
        return found

    def _retain_rows(self, last: BatchRecord) -> None:
        """Delete, as retention says, old days of events that no stream needs, and old dead letters."""
        retention, as_of = self.spec.retention, last.as_of
        if retention.events is not None:
            self._spark().retain(list(self.spec.sources), as_of - retention.events, self.needed(last))
        if retention.dead_letters is not None:
            first = self.ledger.first_since(as_of - retention.dead_letters)
            self._spark().retain_letters(self._outputs(("dead_letters",)), first)

    def _retain_batches(self, as_of: int) -> None:
        """Delete, as retention says, old batches of the ledger."""
        if (duration := self.spec.retention.ledger) is not None:
            ages = [source.max_object_age for source in self.spec.sources.values()]
            oldest = None if None in ages else as_of - 2 * max(age for age in ages if age is not None)
            maintenance.retain(self.ledger, self.ledger.first_since(as_of - duration), oldest)
