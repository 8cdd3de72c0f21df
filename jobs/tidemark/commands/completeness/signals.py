"""Computes the events that `publish` emits: one for the runs, and for each stream a key for each complete period.

Both depend only on the ledger and on the record of the newest event (`Emitted`), never on the run or call that did
the work: a person's run, a release, a promotion or a crash in between makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tidemark.commands.completeness.changed import changed
from tidemark.commands.summaries import stream_summary, time_text, watermarks_summary
from tidemark.config.scheduling.periods import StreamPeriods
from tidemark.context import RunContext
from tidemark.core.batch_result import BatchRecord, total
from tidemark.core.completeness.emitted import DuePeriods, Emitted, due
from tidemark.core.completeness.periods import Period, Periods
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.times import format_time, from_datetime, within_years
from tidemark.ledger.ledger import Ledger
from tidemark.records import LONGEST_LIST
from tidemark.records.runs import PublishedRun, rows_by_fate
from tidemark.storage import Location, delta_table, is_table
from tidemark.verbs import explained

MOST = 1_000
"""Number of periods of a stream that are emitted at a time, the oldest first; the next call emits the rest."""
_TIMES = ("_system_timestamp", "_window_start")


@dataclass(frozen=True)
class Signal:
    """An event for each key (without keys, one event), its `extra`, and the record `after` it is emitted."""

    keys: tuple[str, ...]
    extra: Mapping[str, Any]
    after: Emitted


@explained
def run_signal(context: RunContext, before: Emitted | None) -> Signal | None:
    """The event for consumers of the whole pipeline: counts of all runs since the event `before` (None: all runs).
    None if these runs read and wrote no row, and the live version is the same."""
    end, warehouse = _last(context.ledger), context.warehouse
    if end is None:
        return None
    before, version = _of_warehouse(before, warehouse), context.ledger.version
    records = context.ledger.batches(1 if before is None else before.batch + 1, end.batch_id)
    switched = before is not None and before.version != version
    facts = _published(context, end, records)
    if not (switched or facts["rows"] or any(each["rows"] for each in facts["streams"].values())):
        return None
    after = Emitted(version, end.batch_id, warehouse=warehouse)
    return Signal((), facts | {"version": version, "promoted": switched}, after)


@explained
def stream_signal(context: RunContext, stream: str, asked: StreamPeriods, before: Emitted | None) -> Signal | None:
    """The keys of a stream's periods that are complete but not emitted, after the event `before` (None: no event
    yet). None if no period is due."""
    end, warehouse = _last(context.ledger), context.warehouse
    if end is None or stream not in end.streams:
        return None
    state, periods = end.streams[stream].state, asked.periods
    watermark = _watermark(state, periods, end.as_of)
    known = _of_warehouse(before, warehouse) or _first(context, stream, asked, state)
    if watermark is None or known is None:
        return None
    version = context.ledger.version
    if known.version != version:
        known = known.switched(version, changed(context.ledger, stream, known), periods, watermark)
    found = due(known, periods, watermark, MOST)
    if not found.again and not found.new:
        return None
    keys = tuple(dict.fromkeys(period.key for period in (*found.again, *found.new)))
    after = replace(found.after, batch=end.batch_id, warehouse=warehouse)
    return Signal(keys, _about(context, stream, periods, end, found), after)


def _of_warehouse(before: Emitted | None, warehouse: str | None) -> Emitted | None:
    """The record `before`, unless it is about a warehouse that no longer exists."""
    return before if before and before.warehouse in (None, warehouse) else None


def _last(ledger: Ledger) -> BatchRecord | None:
    """The last batch of the last run that is wholly committed."""
    run = ledger.last().last_run
    return None if run is None else next(iter(ledger.batches(run.last, run.last)), None)


def _published(context: RunContext, end: BatchRecord, records: Sequence[BatchRecord]) -> PublishedRun:
    """Counts over batches, with the progress at the last one."""
    fates, _ = total(account for record in records for account in record.accounts)
    streams = {name: stream_summary(_summed(name, end, records)) for name in end.streams}
    return {
        "run_id": end.run_id,
        "as_of": format_time(end.as_of),
        "runs": list(dict.fromkeys(record.run_id for record in records))[-LONGEST_LIST:],
        "watermarks": watermarks_summary(context.ledger.states(end.batch_id + 1), end.combined),
        "streams": streams,
        "rows": sum(fates.values()),
        **rows_by_fate(fates),
    }


def _summed(stream: str, end: BatchRecord, records: Sequence[BatchRecord]) -> StreamEnd:
    """The end of a stream, with counts of all these batches."""
    ends = [record.streams[stream] for record in records if stream in record.streams]
    counts = {name: sum(getattr(each, name) for each in ends) for name in ("rows", "outside", "dead_letters")}
    return StreamEnd(end.streams[stream].state, **counts)


def _watermark(state: StreamState, periods: Periods, as_of: int) -> int | None:
    """The time up to which a stream is complete. If all its sources are complete, it is the end of the period (at
    least a day) that contains the last run's as_of."""
    return periods.whole(as_of, as_of + 1)[1] if state.complete else state.back


def _first(context: RunContext, stream: str, asked: StreamPeriods, state: StreamState) -> Emitted | None:
    """The record before the first event. Periods count from the configured time, else from the first output time of
    the stream, else from the day of its first row. None before the first row."""
    begins = [time for time in (asked.since, state.begins, context.spec.start) if time is not None]
    if begins:
        since = asked.periods.first_from(begins[0]).start
    elif (first := _first_row(context, stream)) is not None:
        since = asked.periods.whole(first, first + 1)[0]
    else:
        return None
    return Emitted(context.ledger.version, 0, since=since, through=since)


def _first_row(context: RunContext, stream: str) -> int | None:
    """The earliest time of an event or of a stream's row, by the bounds in the tables' logs."""
    tables = [f"events/{name}" for name in context.spec.sources]
    locations = [context.ledger.folder / name for name in (*tables, f"streams/{stream}")]
    return min((time for location in locations if is_table(location) for time in _bounds(location)), default=None)


def _bounds(location: Location) -> Iterator[int]:
    actions = pa.table(delta_table(location).get_add_actions(flatten=True))
    for name in (f"min.{each}" for each in _TIMES):
        if name in actions.column_names:
            yield from (from_datetime(time) for time in actions[name].to_pylist() if time is not None)


def _about(context: RunContext, stream: str, periods: Periods, end: BatchRecord, found: DuePeriods) -> dict[str, Any]:
    """The facts of an event about its stream. `again`: ranges of periods that were emitted before and differ now."""
    ledger = context.ledger
    return {
        "stream": stream,
        "unit": periods.unit.value,
        "zone": periods.zone,
        "run_id": end.run_id,
        "as_of": format_time(end.as_of),
        "watermark": time_text(end.streams[stream].state.watermark),
        "complete": end.streams[stream].state.complete,
        "version": ledger.version,
        "path": str(ledger.folder / "streams" / stream),
        "again": [[_text(first.start), _text(last.end)] for first, last in _runs(found.again)],
    }


def _text(time: int) -> str:
    return format_time(within_years(time))


def _runs(periods: Iterable[Period]) -> list[tuple[Period, Period]]:
    """Ranges of adjacent periods: the first and the last period of each."""
    found: list[tuple[Period, Period]] = []
    for period in periods:
        if found and found[-1][1].end == period.start:
            found[-1] = (found[-1][0], period)
        else:
            found.append((period, period))
    return found
