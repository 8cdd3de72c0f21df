"""Accounts of a micro-batch's rows, by partition and object, from counts taken while the rows were written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from tidemark.core.batch_result import FINDINGS, Account, FindingSample, Occurrence, PartitionReport, Shifts
from tidemark.core.policy import Fate, Reason
from tidemark.core.punctuation import Marks
from tidemark.core.quality import MOST_EXAMPLES, RowChecks
from tidemark.core.watermarks import Seen, latest
from tidemark.spark.local_frames import Columns, small_frame
from tidemark.spark.read.format import UNREADABLE
from tidemark.spark.tables.fate_counter import Counted, Counts, FateGroup

_LIMIT = "__tidemark_limit"


def partitions_of(counts: Counts, source: str) -> dict[str, PartitionReport]:
    """Fates, reasons, moves, progress and findings of each partition."""
    return {name: _report(source, name, counted) for name, counted in counts.partitions.items()}


def with_marks(partitions: Mapping[str, PartitionReport], marks: Mapping[str, Marks]) -> dict[str, PartitionReport]:
    """The reports with the punctuation marks that a micro-batch left to each partition."""
    return {
        name: replace(report, seen=replace(report.seen, marks=marks[name])) for name, report in partitions.items()
    }


def files_of(counts: Counts) -> dict[str, tuple[int, bool]]:
    """By URI: the number of an object's rows, and True if its only row says that it cannot be read."""
    return {uri: (rows, rows == whole == 1) for uri, (rows, whole) in counts.files.items()}


def rows_per_file(events: DataFrame) -> dict[str, tuple[int, bool]]:
    """Result of `files_of`, computed from event rows for which no other counts are needed."""
    whole = F.coalesce(F.bool_or(F.col("_raw").startswith(UNREADABLE)), F.lit(False))
    found = events.groupBy("_file").agg(F.count("*"), whole).collect()
    return {row[0]: (row[1], row[1] == 1 and row[2]) for row in found}


def count_arrivals_before(events: DataFrame, own: str, limits: Mapping[str, int]) -> dict[str, Occurrence]:
    """Count, by partition, rows whose own arrival is before the estimated arrival that was used already (`limits`,
    microseconds)."""
    columns: Columns = [("_partition", pa.string()), (_LIMIT, pa.int64())]
    known = small_frame(events.sparkSession, limits.items(), columns)
    early = events.join(known, "_partition").where(F.col(own) < F.col(_LIMIT))
    found = early.groupBy("_partition").agg(
        F.count("*").alias("n"),
        F.min(own).alias("first"),
        F.max(own).alias("last"),
        F.min(_sample()).alias("sample"),
    )
    return {
        row["_partition"]: Occurrence(row["n"], row["first"], row["last"], _read_sample(row["sample"]))
        for row in found.collect()
    }


def occurrences(events: DataFrame) -> dict[str, Occurrence]:
    """By partition: the number of event rows, their first and last arrival, and as a sample the row with the lowest
    offset."""
    arrival = F.unix_micros("_arrival_time")
    found = events.groupBy("_partition").agg(
        F.count("*").alias("n"), F.min(arrival).alias("first"), F.max(arrival).alias("last"), F.min(_sample())
    )
    return {row[0]: Occurrence(row["n"], row["first"], row["last"], _read_sample(row[4])) for row in found.collect()}


def _sample() -> Column:
    times = [
        F.unix_micros(name).alias(alias) for name, alias in (("_event_time", "event"), ("_arrival_time", "arrival"))
    ]
    return F.struct(F.col("_offset").alias("offset"), *times, F.col("_file").alias("file"))


def _read_sample(row: Row) -> FindingSample:
    return FindingSample(row["offset"], row["event"], row["arrival"], row["file"])


def _report(source: str, name: str, counted: Counted) -> PartitionReport:
    moves, kinds = counted.moves, counted.kinds
    known = (*FINDINGS, Reason.VIOLATION, Reason.UNMATCHED, Reason.EXCLUDED)
    reasons = dict.fromkeys([*known, *sorted({reason for kind in kinds for reason in kind.reasons})])
    by_reason = {reason: [kind for kind in kinds if reason in kind.reasons] for reason in reasons}
    account = Account(
        source,
        name,
        {fate: _rows(kind for kind in kinds if kind.fate is fate) for fate in Fate},
        {reason: _rows(found) for reason, found in by_reason.items()},
        None if moves.largest is None else Shifts.of(moves.largest, moves.sizes),
    )
    arrived, high = latest(*[kind.last_arrival for kind in kinds]), latest(*[kind.high for kind in kinds])
    occurrences = {FINDINGS[reason]: _occurrence(by_reason[reason]) for reason in FINDINGS if by_reason[reason]}
    checks = RowChecks(counted.offsets, counted.broken, {fate: _firsts(kinds, fate) for fate in Fate})
    return PartitionReport(account, Seen(account.rows, arrived, high), occurrences, checks)


def _firsts(kinds: Iterable[FateGroup], fate: Fate) -> tuple[int, ...]:
    return tuple(sorted(kind.offset for kind in kinds if kind.fate is fate)[:MOST_EXAMPLES])


def _rows(kinds: Iterable[FateGroup]) -> int:
    return sum(kind.rows for kind in kinds)


def _occurrence(kinds: Sequence[FateGroup]) -> Occurrence:
    first = min(kinds, key=lambda kind: kind.offset)
    sample = FindingSample(first.offset, first.event_time, first.arrival_time, first.file)
    arrivals = [kind.first_arrival for kind in kinds if kind.first_arrival is not None]
    return Occurrence(
        _rows(kinds), min(arrivals, default=None), latest(*[kind.last_arrival for kind in kinds]), sample
    )
