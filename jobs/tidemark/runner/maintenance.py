"""What a run does after it has committed: merge small files, forget what retention no longer asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from tidemark.config import PipelineSpec
from tidemark.core.batch_result import BatchRecord
from tidemark.core.times import DAY
from tidemark.ledger import maintenance
from tidemark.ledger.durability import lasting
from tidemark.ledger.ledger import Ledger
from tidemark.runner.executor import rules_of

OUTPUTS = ("streams", "dead_letters", "before_start")
MERGE_EVERY = 50
"""Batches after which events and substreams are merged; the small tables know their own time."""


class SparkTables(Protocol):
    """What upkeep needs of the Spark room."""

    def merge(
        self, sources: Sequence[str], outputs: Sequence[str], since: int, floors: dict[tuple[str, str], int]
    ) -> float:
        """Merge small files; seconds it took."""
        ...

    def forget_ended(self, sources: Sequence[str], through: int, every: int) -> float | None:
        """Forget that lifetimes that have ended were open, once in so many batches; seconds it took."""
        ...

    def retain(self, sources: Sequence[str], before: int) -> None:
        """Delete whole days of events, and of lifetimes that have ended."""
        ...

    def retain_letters(self, tables: Sequence[str], first: int) -> None:
        """Delete dead letters of batches before the first."""
        ...

    def vacuum(self, tables: Sequence[str], hours: int) -> int:
        """Delete files that no table has needed for so long; how many tables there are."""
        ...


@dataclass(frozen=True)
class Keeping:
    """Upkeep of one pipeline. `tables` starts a JVM: it is asked for only where one runs already."""

    spec: PipelineSpec
    ledger: Ledger
    tables: Callable[[], SparkTables] | None

    def after(self, records: Sequence[BatchRecord]) -> float | None:
        """Seconds spent on merging after a run of these batches; None when nothing had to be merged."""
        with self._lasting():
            return self._after(records)

    def _lasting(self) -> AbstractContextManager[None]:
        """What replaces files that a version relies on is on the disk at the end."""
        return lasting(*(self.ledger.folder / name for name in (*self.ledger.stores, *self.written_by_spark())))

    def _after(self, records: Sequence[BatchRecord]) -> float | None:
        first, last = records[0], records[-1]
        merged = maintenance.compact(self.ledger)
        if self.tables is not None and (first.run_first - 1) // MERGE_EVERY != last.run_last // MERGE_EVERY:
            merged = (merged or 0.0) + self._merge(last, self.tables())
        if self.tables is not None and (names := self._with_edges()):
            spent = self.tables().forget_ended(names, last.batch_id, MERGE_EVERY)
            merged = merged if spent is None else (merged or 0.0) + spent
        prior = self.ledger.before(first.run_first)
        if prior and prior.as_of // DAY != last.as_of // DAY:
            self._retain(last.as_of)
        return merged

    def _merge(self, last: BatchRecord, tables: SparkTables) -> float:
        earlier = self.ledger.before(last.batch_id - MERGE_EVERY + 1) or self.ledger.batches(1, last.batch_id)[0]
        oldest = earlier.as_of
        delay = max(source.landing_delay for source in self.spec.sources.values())
        states = self.ledger.states(last.batch_id + 1)
        floors = {
            key: state.floor
            for key, state in states.items()
            if state.floor is not None and (rules := rules_of(self.spec).get(key[0])) and rules.substreams
        }
        return tables.merge(list(self.spec.sources), self._outputs(OUTPUTS), oldest - delay - DAY, floors)

    def now(self, last: BatchRecord) -> float:
        """Seconds spent on merging everything that may be, whenever that was done last."""
        tables = self._spark()
        with self._lasting():
            merged = maintenance.compact(self.ledger) or 0.0
            return merged + self._merge(last, tables)

    def vacuum(self, hours: int) -> int:
        """Delete files that no table has needed for so many hours; how many tables of Spark's were looked at."""
        return self._spark().vacuum(self.written_by_spark(), hours)

    def written_by_spark(self) -> list[str]:
        """The tables that Spark writes."""
        kept = [f"{kind}/{name}" for name in self._with_edges() for kind in ("lifetimes", "open_lifetimes")]
        return [*(f"events/{name}" for name in self.spec.sources), *kept, *self._outputs(OUTPUTS), "substreams"]

    def _spark(self) -> SparkTables:
        if self.tables is None:
            raise ValueError("no JVM is there for upkeep")
        return self.tables()

    def _with_edges(self) -> list[str]:
        """The sources of which lifetimes are kept."""
        return [name for name, source in self.spec.sources.items() if source.lifetimes.edges]

    def _outputs(self, kinds: Sequence[str]) -> list[str]:
        """The tables of published streams, by kind."""
        published = [name for name, step in self.spec.streams.items() if step.published]
        return [f"{kind}/{name}" for kind in kinds for name in published]

    def _retain(self, as_of: int) -> None:
        """Once a day: whole days of events, and batches of the ledger."""
        retention = self.spec.retention
        if retention.events is not None and self.tables is not None:
            self.tables().retain(list(self.spec.sources), as_of - retention.events)
        if retention.dead_letters is not None and self.tables is not None:
            first = self.ledger.first_since(as_of - retention.dead_letters)
            self.tables().retain_letters(self._outputs(("dead_letters",)), first)
        if retention.ledger is not None:
            ages = [source.max_object_age for source in self.spec.sources.values()]
            oldest = None if None in ages else as_of - 2 * max(age for age in ages if age is not None)
            maintenance.retain(self.ledger, self.ledger.first_since(as_of - retention.ledger), oldest)
