"""Rows that a recorded batch was made from and that retention has deleted since, so that it cannot be compared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import sources_below
from tidemark.core.batch_result import BatchRecord
from tidemark.core.times import format_time
from tidemark.ledger.ledger import Ledger
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.maintenance import Maintenance
from tidemark.runner.source_rules import rules_of

_OUTPUTS = {"streams", "dead_letters", "before_start"}


@dataclass(frozen=True)
class DeletedRows:
    """Finds out if rows are gone that a `record` was made from. `then` is the pipeline as recorded; rows of the
    sources `from_events` are read from the events tables, not from landing."""

    ledger: Ledger
    then: PipelineSpec
    record: BatchRecord
    from_events: Collection[str]

    def reason(self, table: str) -> str | None:
        """Say why a table of the batch cannot be compared; None if all rows that it was made from may be there."""
        kind, _, name = table.partition("/")
        if kind in _OUTPUTS:
            gone = [each for each in sources_below(self.then.streams, name) if self._judged(each) or self._read(each)]
        else:
            gone = [each for each in self.then.sources if name in ("", each) and self._judged(each)]
        if not gone:
            return None
        before = format_time(self._kept.deleted_before(gone[0]) or 0)[:10]
        return f"{table}: retention.events has deleted rows of {gone[0]} that it needs, which arrived before {before}"

    def stored(self, table: str) -> str | None:
        """Say why the rows of the batch in a table cannot be compared; None if they may all be there."""
        kind, _, name = table.partition("/")
        events = kind in ("events", "lifetimes") and self._kept.deleted_before(name) is not None
        letters = kind == "dead_letters" and self.then.retention.dead_letters is not None
        kept = "retention.events" if events else "retention.dead_letters"
        return f"{table}: {kept} has deleted rows of it" if (events or letters) and self._short(table) else None

    @cached_property
    def _kept(self) -> KeptRows:
        return KeptRows(self.ledger, self.ledger.last().next_batch_id, self.then)

    @cached_property
    def _needed(self) -> dict[str, int | None]:
        """By source, the time from which the streams of the batch's run read rows; None: all."""
        prior = self.ledger.before(self.record.run_first)
        if prior is None:
            return dict.fromkeys(self.then.sources)
        return Maintenance(self.then, self.ledger, None).needed(prior)

    def _read(self, source: str) -> bool:
        """True if deleted rows of a source may end at or after the time from which streams read them."""
        deleted = self._kept.deleted_before(source)
        if deleted is None or source not in self._needed:
            return False
        since, ahead, life = (
            self._needed[source],
            rules_of(self.then)[source].ahead,
            self.then.sources[source].longest,
        )
        return since is None or ahead is None or life is None or deleted + ahead + life > since

    def _judged(self, source: str) -> bool:
        """True if a source's rows of the batch are deleted, or rows before them that decide about their fates."""
        deleted, spec = self._kept.deleted_before(source), self.then.sources[source]
        if deleted is None:
            return False
        if (
            spec.lifetimes.edges
            or spec.punctuated is not None
            or (source in self.from_events and self._short(f"events/{source}"))
        ):
            return True
        states = self.ledger.states(self.record.batch_id)
        mine = [state for (name, _), state in states.items() if name == source]
        since = []
        if spec.deduplicate is not None:
            since += [
                None if each.last_arrival is None else each.last_arrival - spec.deduplicate.within for each in mine
            ]
        if spec.over and spec.timestamp_by:
            ahead = rules_of(self.then)[source].ahead
            since += [None if each.floor is None or ahead is None else each.floor - ahead for each in mine]
        return any(each is None or each < deleted for each in since)

    def _short(self, table: str) -> bool:
        """True if a table has fewer rows of the batch than it recorded."""
        mine = pc.field("_batch_id") == self.record.batch_id
        recorded = sum(digest.rows for digest in self.record.digests if digest.table == table)
        return self.ledger.store(table).dataset().count_rows(filter=mine) < recorded
