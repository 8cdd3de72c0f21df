"""Finds out if retention has deleted rows that a recorded batch was made from, so that it cannot be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import sources_below
from tidemark.core.batch import ObjectState
from tidemark.core.batch_result import BatchRecord
from tidemark.core.times import format_time
from tidemark.core.watermarks import UNKNOWN, PartitionState
from tidemark.ledger.ledger import Ledger
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.maintenance import Maintenance
from tidemark.runner.source_rules import rules_of

_OUTPUTS = {"streams", "dead_letters", "before_start"}


@dataclass(frozen=True)
class DeletedRows:
    """Finds out if rows are gone that the batch `record` was made from. `then` is the pipeline as recorded. Rows of
    the sources in `from_events` are read from events tables, not from landing. `differing`: tables with other rows
    now."""

    ledger: Ledger
    kept: KeptRows
    then: PipelineSpec
    record: BatchRecord
    from_events: Collection[str] = ()
    differing: Collection[str] = ()

    def reason(self, table: str) -> str | None:
        """Say why a table of the batch cannot be compared; None if all rows that it was made from may be there."""
        kind, _, name = table.partition("/")
        if kind in _OUTPUTS:  # made from the events table, and from watermarks
            below, moved = sources_below(self.then.streams, name), "watermarks" in self.differing
            gone = [each for each in below if self._read(each) or (moved and self._judged(each))]
        else:
            gone = [each for each in self.then.sources if name in ("", each) and self._judged(each)]
        if not gone:
            return None
        before = format_time(self.kept.deleted_before(gone[0]) or 0)[:10]
        return f"{table}: retention.events has deleted rows of {gone[0]} that it needs, which arrived before {before}"

    def stored(self, table: str) -> str | None:
        """Say why the rows of the batch in a table cannot be compared; None if all of them may be there."""
        kind, _, name = table.partition("/")
        if kind in ("events", "lifetimes") and self._old(name) and self._short(table):
            return f"{table}: retention.events has deleted rows of it"
        letters = self.kept.letters_before if kind == "dead_letters" else None
        if letters is not None and self.record.as_of < letters and self._short(table):
            return f"{table}: retention.dead_letters has deleted rows of it"
        return None

    @cached_property
    def _needed(self) -> dict[str, int | None]:
        """By source, the time from which the streams of the batch's run read rows; None: all."""
        prior = self.ledger.before(self.record.run_first)
        if prior is None:
            return dict.fromkeys(self.then.sources)
        return Maintenance(self.then, self.ledger, None).needed(prior)

    def _read(self, source: str) -> bool:
        """True if streams may need deleted rows of a source: rows that may end at or after the time from which
        streams read, or rows of the run itself."""
        deleted = self.kept.deleted_before(source)
        if deleted is None or source not in self._needed:
            return False
        since, ahead = self._needed[source], rules_of(self.then)[source].ahead
        life = self.then.sources[source].longest
        if since is None or ahead is None or life is None or deleted + ahead + life > since:
            return True
        run = self.ledger.batches(self.record.run_first, self.record.batch_id)
        return any(self._lacks(each, f"events/{source}") for each in run)

    def _judged(self, source: str) -> bool:
        """True if the batch's rows of a source are deleted, or earlier rows on which their fates depend."""
        deleted, spec = self.kept.deleted_before(source), self.then.sources[source]
        if deleted is None:
            return False
        if spec.lifetimes.edges or any(each < deleted for each in self._since(source)):
            return True
        from_table = source in self.from_events or self._unread(source)
        if from_table and self._old(source) and self._short(f"events/{source}"):
            return True
        imported = () if spec.punctuated is None else spec.punctuated.import_from
        return any(self.kept.deleted_before(each) is not None and self._short(f"events/{each}") for each in imported)

    def _since(self, source: str) -> Iterator[int]:
        """Arrivals from which earlier rows decide about duplicates and substreams of the batch's partitions."""
        spec, ahead = self.then.sources[source], rules_of(self.then)[source].ahead
        for state in filter(None, self._states(source)):
            if spec.deduplicate is not None and state.last_arrival is not None:
                yield state.last_arrival - spec.deduplicate.within
            if spec.over and spec.timestamp_by:
                yield 0 if state.floor is None or ahead is None else state.floor - ahead

    def _states(self, source: str) -> list[PartitionState | None]:
        """States before the batch of the partitions that it has rows of; None for a new partition."""
        mine = [each.partition for each in self.record.accounts if each.source == source and each.rows]
        known = self.ledger.states(self.record.batch_id)
        return [known.get((source, partition)) for partition in mine if partition != UNKNOWN]

    def _unread(self, source: str) -> bool:
        """True if an object was quarantined whole: only its row of the events table has the reason."""
        objects = self.ledger.objects_of(self.record)
        return any(item.source == source and item.state is ObjectState.QUARANTINED for item in objects)

    def _old(self, source: str) -> bool:
        """True if the batch may have rows of deleted days: arrivals never go back within a partition."""
        deleted = self.kept.deleted_before(source)
        arrivals = [None if state is None else state.last_arrival for state in self._states(source)]
        return deleted is not None and (not arrivals or any(each is None or each < deleted for each in arrivals))

    def _short(self, table: str) -> bool:
        return self._lacks(self.record, table)

    def _lacks(self, record: BatchRecord, table: str) -> bool:
        """True if a table has fewer rows of a batch than it recorded."""
        recorded = sum(digest.rows for digest in record.digests if digest.table == table)
        there = self.ledger.store(table).dataset().count_rows(filter=pc.field("_batch_id") == record.batch_id)
        return there < recorded
