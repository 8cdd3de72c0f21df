"""Finds from which time on the tables hold all rows of a source: `start` leaves earlier rows out, and retention
deletes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from tidemark.config import PipelineSpec, from_resolved
from tidemark.config.models.pipeline import RetentionSpec
from tidemark.config.models.stream_graph import has_long_sessions, sources_below, streams_below, unbounded
from tidemark.core.advance import read_from
from tidemark.core.batch_result import BatchRecord
from tidemark.core.shell import command
from tidemark.core.streams import opening_states
from tidemark.core.times import DAY, MAX_TIME, format_time
from tidemark.core.watermarks import Combined, latest
from tidemark.errors import ConfigError, Problem
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.rows import Row
from tidemark.runner.recorded import content_of
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import StreamProgress

_BOUND = "set at_most or max_duration"


@dataclass(frozen=True)
class KeptRows:
    """The rows that a version still has of the batches before `first`. `spec` is the present pipeline."""

    ledger: Ledger
    first: int
    spec: PipelineSpec

    def deleted_before(self, source: str) -> int | None:
        """Start of a day (microseconds UTC): retention has deleted rows of a source that arrived before it. None if
        it has deleted none."""
        if source not in self._deleted:
            bound = self._bound("events")
            self._deleted[source] = bound // DAY * DAY if bound is not None and self._lacks(source) else None
        return self._deleted[source]

    @cached_property
    def letters_before(self) -> int | None:
        """The as_of (microseconds UTC) before which retention has deleted dead letters of batches; None if it never
        has."""
        return self._bound("dead_letters")

    @cached_property
    def _deleted(self) -> dict[str, int | None]:
        return {}

    def _bound(self, kind: str) -> int | None:
        """The latest time up to which a recorded `retention` deletes rows of a kind; None without one."""
        ends = {row["configuration"]: row["as_of"] for row in self._rows}
        kept = {text: _retention(text, kind) for text in ends}
        return max((ends[text] - length for text, length in kept.items() if length is not None), default=None)

    def skipped_before(self, source: str) -> int | None:
        """Arrival before which `start` left rows of a source out of the first run; None if it left none out."""
        first = self._first_spec
        if first is None or source not in first.sources:
            return None
        return read_from(rules_of(first)[source], StreamProgress(first).read_from)

    def was_deleted(self, source: str, begin: int | None) -> bool:
        """True if retention has deleted rows of a source that arrived from `begin` on (None: at any time)."""
        deleted = self.deleted_before(source)
        return deleted is not None and (begin is None or begin < deleted)

    def was_skipped(self, source: str, begin: int) -> bool:
        """True if outputs from `begin` on depend on rows of a source that `start` left out."""
        skipped = self.skipped_before(source)
        started = self.spec.model_copy(update={"start": begin})
        needed = read_from(rules_of(self.spec)[source], StreamProgress(started).read_from)
        return skipped is not None and (needed is None or needed < skipped)

    def rows_since(self, combined: Mapping[str, Combined], streams: Collection[str]) -> dict[str, int]:
        """By source, the latest end that a row in no table may have; sources without such rows are left out.

        `combined` are the watermarks and `streams` the streams before `first`. If the pipeline has no new stream,
        nothing is looked up, and the answer is empty.
        """
        if self.spec.streams.keys() <= set(streams):
            return {}
        known = [name for name in self.spec.sources if name in combined]
        bounds = {name: self._incomplete(name, combined[name].watermark) for name in known}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def _incomplete(self, source: str, watermark: int | None) -> int | None:
        """Latest time at which rows of a source that are in no table may end; None if all rows are in tables."""
        rules, life = rules_of(self.spec)[source], self.spec.sources[source].longest
        skipped, deleted, ahead = self.skipped_before(source), self.deleted_before(source), rules.ahead
        left_out = None
        if skipped is not None and ahead is not None:
            left_out = MAX_TIME if life is None else skipped + ahead + rules.remembers + life - 1
        if deleted is None:
            return left_out
        arrived = None if ahead is None or life is None else deleted + ahead + life - 1
        ended = [bound for bound in (watermark, arrived) if bound is not None]  # rows that end later are not deleted
        return latest(left_out, min(ended, default=None))

    @cached_property
    def _rows(self) -> list[Row]:
        rows = self.ledger.stores["batches"].read(1, self.first - 1, ["batch_id", "as_of", "configuration"])
        return sorted(rows, key=lambda row: int(row["batch_id"]))

    @cached_property
    def _first_spec(self) -> PipelineSpec | None:
        """The configuration of the first run that is recorded; None before any."""
        recorded = [row["configuration"] for row in self._rows[:1]]
        contents = (content_of(text, self.spec, self.ledger.root) for text in recorded)
        return next((from_resolved(content, at=self.spec) for content in contents), None)

    @cached_property
    def _brought(self) -> Counter[str]:
        """Number of rows that the batches brought, by source."""
        found: Counter[str] = Counter()
        for batch in self.ledger.accounts(1, self.first - 1):
            for account in batch.accounts:
                found[account.source] += account.rows
        return found

    def _lacks(self, source: str) -> bool:
        """True if a source's table has fewer rows than its batches brought, or some of these are forgotten."""
        if not self._rows or self._rows[0]["batch_id"] != 1:
            return True
        earlier = pc.field("_batch_id") < self.first
        table = self.ledger.store(f"events/{source}")
        return table.open() is not None and table.dataset().count_rows(filter=earlier) < self._brought[source]


def ensure_rows(ledger: Ledger, spec: PipelineSpec) -> None:
    """Raise ConfigError for a new stream that depends on rows of any age, if rows of its sources are in no table."""
    first = ledger.last().next_batch_id
    prior = ledger.before(first)
    new = [] if prior is None else [name for name in spec.streams if name not in prior.streams]
    endless = [step.name for step in StreamProgress(spec).steps if step.name in new and step.endless]
    if prior is None or not endless:
        return
    since = KeptRows(ledger, first, spec).rows_since(prior.combined, prior.streams)
    below = {name: list(_missed(spec, name, since)) for name in endless}
    lacking = {name: _said(sources[0], since[sources[0]]) for name, sources in below.items() if sources}
    begin = ("--from", "T0")
    hint = f"or read landing again: {command('backfill', spec.path, options=(*begin, '--from-landing'))}"
    if not lacking:
        lacking = dict(_short_of_windows(spec, prior, endless, since))
        hint = f"or make it with its history: {command('backfill', spec.path, options=begin)}"
    if lacking:
        said = "a new stream that depends on rows of any age, but"
        raise ConfigError(
            [Problem(str(spec.path), f"streams.{name}", f"{said} {reason}") for name, reason in lacking.items()],
            hint=hint,
        )


def _short_of_windows(
    spec: PipelineSpec, prior: BatchRecord, endless: Sequence[str], since: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """New streams that may need old windows of a stream that is new or was added later; each with the reason."""
    recorded = {name: end.state for name, end in prior.streams.items()}
    opened = opening_states(StreamProgress(spec).steps, recorded, prior.combined, False, since)
    for name in endless:
        if (opened[name].begins or 0) < MAX_TIME:
            continue
        short = (each for each in streams_below(spec.streams, name) if spec.streams[each].windowed)
        where = next(each for each in short if opened[each].begins is not None)
        yield name, f"the stream {where!r} below it, which is added later, has no windows of before: {_BOUND}"


def _missed(spec: PipelineSpec, name: str, since: Mapping[str, int]) -> Iterator[str]:
    """Sources below a stream with rows that it needs and that are in no table.

    An unbounded stream needs rows of any age, others only rows that have not ended: `start` alone leaves these out.
    """
    any_age = unbounded(spec.streams, name) or has_long_sessions(spec.streams, name)
    for each in sources_below(spec.streams, name):
        if each in since and (any_age or since[each] == MAX_TIME):
            yield each


def _said(source: str, until: int) -> str:
    if until == MAX_TIME:
        return f"rows of the source {source!r} that start left out may last until now, and are in no table"
    return (
        f"rows of the source {source!r} up to {format_time(until)} are in no table, since start or retention left"
        f" them out: {_BOUND}"
    )


def _retention(configuration: str, kind: str) -> int | None:
    """The `retention` of a kind of rows in a recorded configuration, microseconds."""
    length: int | None = getattr(RetentionSpec.model_validate(json.loads(configuration)["retention"]), kind)
    return length
