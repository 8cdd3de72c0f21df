"""Columns of the small tables. Times are timestamps of microseconds in UTC, years 0001 to 9999.

There are no map types, since not every Delta reader has them: a mapping is a struct or a list of pairs. `plans`, the
objects and findings of a planned run, is the only table that no reader needs.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from tidemark.core.policy import Fate, Reason

Kinds = dict[str, pa.DataType]


def _struct(kinds: Kinds) -> pa.DataType:
    return pa.struct(list(kinds.items()))


def _schema(kinds: Kinds) -> pa.Schema:
    return pa.schema(list(kinds.items()))


TIME: pa.DataType = pa.timestamp("us", tz="UTC")
_LONG, _TEXT, _FLAG = pa.int64(), pa.string(), pa.bool_()

REASONS = tuple(reason for reason in Reason if reason not in (Reason.DUPLICATE, Reason.EMPTY))
"""Reasons that are counted in a struct. Reasons added later are counted in `further_reasons`."""
_REASONS: Kinds = {reason.value: _LONG for reason in REASONS}
_FURTHER: Kinds = {"source": _TEXT, "partition": _TEXT, "reason": _TEXT, "rows": _LONG}
_SHIFTS: Kinds = {"largest": _LONG, "p50": _LONG, "p95": _LONG, "p99": _LONG}
_TOTALS: Kinds = {"rows": _LONG, **{fate.value: _LONG for fate in Fate}}
_COUNTS: Kinds = {
    "source": _TEXT,
    "partition": _TEXT,
    **_TOTALS,
    "by_reason": _struct(_REASONS),
    "shifts": _struct(_SHIFTS),
}
_DIGEST: Kinds = {"table": _TEXT, "rows": _LONG, "digest": _TEXT}
_COMBINED: Kinds = {"source": _TEXT, "watermark": TIME, "complete": _FLAG, "closed": _FLAG}
_STREAM: Kinds = {
    "stream": _TEXT,
    "watermark": TIME,
    "complete": _FLAG,
    "reached": TIME,
    "idle_bound": TIME,
    "begins": TIME,
    "idle_until": TIME,
    "bounds": pa.list_(_struct({"batch_id": _LONG, "time": TIME})),
    "open_since": TIME,
    "rows": _LONG,
    "outside": _LONG,
    "dead_letters": _LONG,
}
STREAM_TIMES = tuple(name for name, kind in _STREAM.items() if kind == TIME)
_WRITTEN: Kinds = {"table": _TEXT, "writer": _TEXT, "batch_id": _LONG, "rows": _LONG}
_FILE: Kinds = {"table": _TEXT, "path": _TEXT, "size": _LONG, "sha256": _TEXT, "log": _TEXT}
_TIMING: Kinds = {"phase": _TEXT, "seconds": pa.float64()}
_SAMPLE: Kinds = {"offset": _LONG, "event_time": TIME, "arrival_time": TIME, "file": _TEXT}
_OBJECT: Kinds = {
    "batch_id": _LONG,
    "source": _TEXT,
    "uri": _TEXT,
    "size": _LONG,
    "modified": TIME,
    "tag": _TEXT,
    "rows": _LONG,
    "state": _TEXT,
}

BATCHES = _schema(
    {
        "batch_id": _LONG,
        "run_id": _TEXT,
        "run_first": _LONG,
        "run_last": _LONG,
        "as_of": TIME,
        "status": _TEXT,
        "plan": _TEXT,
        "configuration": _TEXT,
        "fingerprint": _TEXT,
        "engine": _TEXT,
        "closing": pa.list_(_TEXT),
        "objects": _LONG,
        "bytes": _LONG,
        **_TOTALS,
        "by_reason": _struct(_REASONS),
        "counts": pa.list_(_struct(_COUNTS)),
        "further_reasons": pa.list_(_struct(_FURTHER)),
        "digests": pa.list_(_struct(_DIGEST)),
        "combined": pa.list_(_struct(_COMBINED)),
        "streams": pa.list_(_struct(_STREAM)),
        "timings": pa.list_(_struct(_TIMING)),
        "beyond": _TEXT,
        "suites": _TEXT,
        "written": pa.list_(_struct(_WRITTEN)),
        "reason": _TEXT,
        "files": pa.list_(_struct(_FILE)),
        "ledger_digests": pa.list_(_struct(_DIGEST)),
        "chain_before": _TEXT,
        "chain": _TEXT,
    }
)
"""`written` names, for every table and writer, the last batch that brought it rows; null in batches of 0.1.0.
`beyond` has, as JSON in microseconds, the states of streams whose progress lies beyond the years 1 to 9999, for
example by a shift or an open window; null if there are none. In `streams` such times are set to their bound.
`further_reasons` counts duplicates and the rows that each requirement refuses, by partition; null if there are none.
`suites` has, as JSON in a run's last batch, the users' suites that existed when the run was planned; null in batches
older than this column. The last four columns belong to the chain of batches (docs/chain.md)."""

OBJECTS = _schema({**_OBJECT, "uri_key": pa.int32()})
"""`uri_key` is a checksum of source and uri: a look-up reads only these four bytes an object."""

PLANS = _schema({**_OBJECT, "plan": _TEXT, "finding": _TEXT})

WATERMARKS = _schema(
    {
        "batch_id": _LONG,
        "source": _TEXT,
        "partition": _TEXT,
        "watermark": TIME,
        "complete": _FLAG,
        "high": TIME,
        "last_arrival": TIME,
        "last_seen": TIME,
        "estimated_arrival": TIME,
        "estimated_high": TIME,
        "floor": TIME,
        "idle": _FLAG,
        "next_offset": _LONG,
        "since": TIME,
        "counted": _LONG,
        "period": _LONG,
        "open_lifetimes": _LONG,
    }
)

DIAGNOSTICS = _schema(
    {
        "batch_id": _LONG,
        "source": _TEXT,
        "partition": _TEXT,
        "type": _TEXT,
        "count": _LONG,
        "first_time": TIME,
        "last_time": TIME,
        "sample": _struct(_SAMPLE),
        "tolerance": _LONG,
        "message": _TEXT,
    }
)

QUALITY = _schema(
    {
        "batch_id": _LONG,
        "run_id": _TEXT,
        "table": _TEXT,
        "expectation": _TEXT,
        "observed": pa.float64(),
        "limit": pa.float64(),
        "success": _FLAG,
        "severity": _TEXT,
        "examples": pa.list_(_TEXT),
        "message": _TEXT,
    }
)

ADVICE = _schema(
    {
        "batch_id": _LONG,
        "as_of": TIME,
        "source": _TEXT,
        "late": _LONG,
        "out_of_order": _LONG,
        "rows": _LONG,
        "adjusted": _LONG,
        "dropped": _LONG,
        "own_adjusted": _LONG,
        "own_dropped": _LONG,
        "delay": _LONG,
        "longest_delay": _LONG,
        "present": _FLAG,
        "recommended": _FLAG,
        "target_dropped": pa.float64(),
        "target_adjusted": pa.float64(),
    }
)
"""A cell of the last advice on a source, from the rows up to `batch_id`: durations in microseconds, shares from 0 to
1; a `late` that is null is `off`."""

VERSIONS = _schema(
    {
        "version": _LONG,
        "created": TIME,
        "promoted": TIME,
        "live": _FLAG,
        "from": TIME,
        "to": TIME,
        "fingerprint": _TEXT,
        "configuration": _TEXT,
        "base": _LONG,
        "through": _LONG,
        "rebuilt": _LONG,
        "input_rows": _LONG,
        "difference": _TEXT,
        "from_landing": _FLAG,
        "origin": _LONG,
        "backfilled": _TEXT,
    }
)
"""Columns from `from` on were added since 0.1.0 and are null in the first version. `base` is the version that a
backfill started from, `through` its last batch at that time, `rebuilt` the first batch that differs (null: no batch),
`difference` the backfill's report, as JSON, `from_landing` true if landing was reread (null: not), `origin` the
version whose row numbering it uses (null: its own, or not recorded), `backfilled` the batches that this and earlier
backfills made, as JSON, `[[first, last], ...]` (null: not recorded)."""

EXCLUSIONS = _schema({"source": _TEXT, "uri": _TEXT, "reason": _TEXT, "recorded": TIME})

TABLES = {
    "batches": BATCHES,
    "objects": OBJECTS,
    "watermarks": WATERMARKS,
    "diagnostics": DIAGNOSTICS,
    "plans": PLANS,
    "quality": QUALITY,
    "advice": ADVICE,
}

BOUNDED = {"batches": "batch_id,run_id", "objects": "batch_id,uri", "versions": "version"}
"""Columns whose bounds the log keeps for every file; in other tables `batch_id`. Each bound makes every commit
slower, and no look-up needs another."""

GROUP_ROWS = {"batches": 256, "objects": 16_384}
"""Rows of a row group: few in tables with wide rows (every row of `batches` carries its configuration), many in
tables where a whole column is searched, since opening a group costs more than reading its numbers."""

ALL_DIFFERENT = {"objects": ("uri_key",)}
"""Columns in which hardly a value occurs twice: a dictionary of them would be larger, and slower to read."""

_PROPERTIES = {
    "delta.checkpointInterval": "32",
    "delta.logRetentionDuration": "interval 1 hours",
    "delta.deletedFileRetentionDuration": "interval 1 days",
}
"""Properties of all small tables. None is read by time travel (every row has its batch), so the log is kept short:
each commit lists the log's folder, and thirty days of commits would make the thousandth batch slower than the first.
Replaced files stay a day for readers that opened the table before."""


def with_integer_times(schema: pa.Schema) -> pa.Schema:
    """The schema with every timestamp, nested ones too, as an integer of microseconds."""
    return pa.schema([field.with_type(_integer_times(field.type)) for field in schema])


def _integer_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_integer_times(field.type)) for field in kind])
    if isinstance(kind, pa.ListType):
        return pa.list_(_integer_times(kind.value_type))
    return kind


def properties(table: str) -> dict[str, str]:
    """Delta properties of a new small table."""
    return {**_PROPERTIES, "delta.dataSkippingStatsColumns": ",".join(bounded(table))}


def bounded(table: str) -> list[str]:
    """The columns of a table whose bounds are kept."""
    return BOUNDED.get(table, "batch_id").split(",")


def batch_column(columns: Collection[str]) -> str:
    """The column of a table that has the number of the batch; in small tables it has no leading underscore."""
    return "_batch_id" if "_batch_id" in columns else "batch_id"
