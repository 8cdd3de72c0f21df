"""From which time on the tables hold all rows of a source: `start` leaves earlier rows out, and retention deletes
them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from tidemark.config import PipelineSpec, from_resolved
from tidemark.config.models.pipeline import RetentionSpec
from tidemark.config.models.stream_graph import has_long_sessions, sources_below, unbounded
from tidemark.core.advance import SourceRules, read_from
from tidemark.core.batch_result import BatchRecord
from tidemark.core.times import DAY, format_time
from tidemark.errors import ConfigError, Problem
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.rows import Row
from tidemark.runner.recorded import content_of
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import StreamProgress


@dataclass(frozen=True)
class KeptRows:
    """The rows that a version has of its log, of the batches before `first`. `spec` is the pipeline now."""

    ledger: Ledger
    first: int
    spec: PipelineSpec

    def deleted_before(self, source: str) -> int | None:
        """Start of a day (microseconds UTC), before which rows of a source arrived that retention has deleted; None
        if it has deleted none. It deletes whole days."""
        ends = {row["configuration"]: row["as_of"] for row in self._rows}
        kept = {text: _retention(text) for text in ends}
        bounds = [ends[text] - length for text, length in kept.items() if length is not None]
        return max(bounds) // DAY * DAY if bounds and self._lacks(source) else None

    def skipped_before(self, source: str) -> int | None:
        """Arrival before which `start` left rows of a source out of the first run; None if it left none out."""
        if not self._rows:
            return None
        first = from_resolved(content_of(self._rows[0]["configuration"], self.spec, self.ledger.root), at=self.spec)
        start = StreamProgress(first).read_from
        return read_from(rules_of(first)[source], start) if source in first.sources else None

    def was_deleted(self, source: str, begin: int | None) -> bool:
        """True if retention has deleted rows of a source that arrived at `begin` or later; None: at any time."""
        deleted = self.deleted_before(source)
        return deleted is not None and (begin is None or begin < deleted)

    def was_skipped(self, source: str, begin: int) -> bool:
        """True if outputs from `begin` on depend on rows of a source that `start` left out."""
        skipped = self.skipped_before(source)
        started = self.spec.model_copy(update={"start": begin})
        needed = read_from(rules_of(self.spec)[source], StreamProgress(started).read_from)
        return skipped is not None and (needed is None or needed < skipped)

    def rows_since(self, prior: BatchRecord) -> dict[str, int]:
        """By source with rows that are in no table, the time up to which such rows may end; all others are there.
        `prior` is the last batch before `first`."""
        found = {}
        for name, rules in rules_of(self.spec).items():
            times = list(self._bounds(name, rules, prior)) if name in prior.combined else []
            if times:
                found[name] = max(times)
        return found

    def _bounds(self, name: str, rules: SourceRules, prior: BatchRecord) -> Iterator[int]:
        """Rows that end at or after the watermark are not deleted, whatever their arrival."""
        ahead, life = rules.ahead, self.spec.sources[name].longest
        skipped, deleted = self.skipped_before(name), self.deleted_before(name)
        if skipped is not None and ahead is not None:
            yield skipped + ahead + rules.remembers + (life or 1) - 1
        if deleted is not None:
            passed = prior.combined[name].watermark
            bounds = [] if passed is None else [passed]
            bounds += [] if ahead is None or life is None else [deleted + ahead + life - 1]
            yield from [min(bounds)] if bounds else []

    @cached_property
    def _rows(self) -> list[Row]:
        rows = self.ledger.stores["batches"].read(1, self.first - 1, ["batch_id", "as_of", "configuration"])
        return sorted(rows, key=lambda row: int(row["batch_id"]))

    def _lacks(self, source: str) -> bool:
        """True if a source's table has fewer rows than its batches brought, or some of these are forgotten."""
        if not self._rows or self._rows[0]["batch_id"] != 1:
            return True
        accounts = (each for record in self.ledger.accounts(1, self.first - 1) for each in record.accounts)
        brought = sum(each.rows for each in accounts if each.source == source)
        earlier = pc.field("_batch_id") < self.first
        table = self.ledger.store(f"events/{source}")
        return table.open() is not None and table.dataset().count_rows(filter=earlier) < brought


def ensure_rows(ledger: Ledger, spec: PipelineSpec) -> None:
    """Raise ConfigError for a new stream that depends on rows of any age, if some of its sources' are in no table."""
    first = ledger.last().next_batch_id
    prior = ledger.before(first)
    new = [] if prior is None else [name for name in spec.streams if name not in prior.streams]
    endless = [name for name in new if unbounded(spec.streams, name) or has_long_sessions(spec.streams, name)]
    if prior is None or not endless:
        return
    since = KeptRows(ledger, first, spec).rows_since(prior)
    below = {name: [each for each in sources_below(spec.streams, name) if each in since] for name in endless}
    problems = [
        Problem(
            str(spec.path),
            f"streams.{name}",
            f"a new stream that depends on rows of any age, but rows of the source {sources[0]!r} up to"
            f" {format_time(since[sources[0]])} are in no table, since start or retention left them out: set at_most"
            " or max_duration",
        )
        for name, sources in below.items()
        if sources
    ]
    if problems:
        raise ConfigError(
            problems, hint=f"or read landing again: tidemark backfill {spec.path} --from T0 --from-landing"
        )


def _retention(configuration: str) -> int | None:
    """The `retention.events` of a recorded configuration, microseconds."""
    return RetentionSpec.model_validate(json.loads(configuration)["retention"]).events
