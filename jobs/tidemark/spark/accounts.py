"""What became of a micro-batch's rows, per partition and object, read back from what was written.

Reading back rather than counting on the way makes the first run, a repair after a crash and a replay one
code path, and counts what is in the table and not what was sent to it. Rows are first grouped by all that
matters with counts and extremes alone, which Spark does in compiled code without holding rows; quantiles
and sums come from the few groups. Objects stand in groups and joins by a hash of their URI: long texts
there would cost more than all else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tidemark.core.account import Account, Diagnostic, Occurrence, PartitionReport, Sample, Shifts
from tidemark.core.policy import Fate, Reason
from tidemark.core.progress import Seen
from tidemark.spark.formats import UNREADABLE
from tidemark.spark.small import small_frame

FINDINGS = {
    Reason.EARLY: Diagnostic.EARLY,
    Reason.LATE: Diagnostic.LATE,
    Reason.OUT_OF_ORDER: Diagnostic.OUT_OF_ORDER,
    Reason.INVALID_TIME: Diagnostic.INVALID_TIME,
    Reason.INVALID_ROW: Diagnostic.INVALID_ROW,
}
_QUANTILES = [0.5, 0.95, 0.99]
_hashed = F.xxhash64
_TEXT, _FATE, _OBJECT, _KEY = "reasons", "fate", "object", "key"


@dataclass(frozen=True)
class Told:
    """What the rows of a batch say: by partition, and by URI the rows of each object with whether its one row
    says that it cannot be read."""

    partitions: dict[str, PartitionReport]
    files: dict[str, tuple[int, bool]]


def report(events: DataFrame, source: str, uris: Sequence[str]) -> Told:
    """Fates, reasons, moves, progress and findings of each partition, and the rows of each object of `uris`."""
    standing, named = _object(events.sparkSession, uris)
    by = _grouped(events, standing).groupingSets([["_partition"], [_OBJECT]], "_partition", _OBJECT)
    found = by.agg(F.grouping(_OBJECT).alias("of_partition"), *_sums(), *_moves(), *_findings()).collect()
    partitions = [row for row in found if row["of_partition"]]
    samples = _samples(events, partitions)
    return Told(
        {row["_partition"]: _partition_report(source, row, samples) for row in partitions},
        {
            named[row[_OBJECT]]: (row["rows"], row["rows"] == 1 and row["whole"])
            for row in found
            if not row["of_partition"]
        },
    )


def rows_per_file(events: DataFrame) -> dict[str, tuple[int, bool]]:
    """By URI: rows of each object, and whether its one row says that it cannot be read."""
    found = events.groupBy("_file").agg(F.count("*"), _whole()).collect()
    return {row[0]: (row[1], row[1] == 1 and row[2]) for row in found}


def count_arrivals_before(events: DataFrame, own: str, limits: Mapping[str, int]) -> dict[str, Occurrence]:
    """Rows whose own arrival is before the estimated arrival already used for their partition."""
    limit = F.element_at(
        F.create_map(*[F.lit(part) for item in limits.items() for part in item]), F.col("_partition")
    )
    early = events.where(F.col("_partition").isin(list(limits))).where(F.col(own) < limit)
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


def _object(spark: SparkSession, uris: Sequence[str]) -> tuple[Column, dict[Any, str]]:
    """What stands for an object in groups, and the URI of each: a hash, or the URI where two share one."""
    listed = small_frame(spark, [(uri,) for uri in uris], [("_file", pa.string())])
    hashed = _hashed("_file")
    named = {row[0]: row[1] for row in listed.select(hashed, "_file").collect()}
    return (hashed, named) if len(named) == len(uris) else (F.col("_file"), {uri: uri for uri in uris})


def _grouped(events: DataFrame, standing: Column) -> DataFrame:
    """Rows that share partition, object, fate, reasons and size of move (to three significant digits)."""
    fate = F.lit(None).cast("int")
    for number, each in enumerate(Fate):
        fate = F.when(F.col("_disposition") == each.value, number).otherwise(fate)
    off = F.col("_disposition") != Fate.ON_TIME.value
    size = F.abs(F.unix_micros("_system_timestamp") - F.unix_micros("_event_time"))
    move = F.when(F.col("_disposition") == Fate.ADJUSTED.value, size)
    grain = F.pow(F.lit(10), F.greatest(F.floor(F.log10(F.greatest(F.col("move"), F.lit(1)))) - 2, F.lit(0)))
    rounded = F.when(F.col("move").isNotNull(), (F.floor(F.col("move") / grain) * grain).cast("long"))
    told = events.withColumns({_TEXT: F.when(off, F.concat_ws(",", "_reasons")), "move": move})
    arrival = F.unix_micros("_arrival_time")
    return told.groupBy(
        "_partition", standing.alias(_OBJECT), fate.alias(_FATE), _TEXT, rounded.alias("rounded")
    ).agg(
        F.count("*").alias("n"),
        F.max("move").alias("move"),
        F.min(arrival).alias("first"),
        F.max(arrival).alias("last"),
        F.max(F.unix_micros("_system_timestamp")).alias("high"),
        F.min("_offset").alias("offset"),
        _whole().alias("whole"),
    )


def _whole() -> Column:
    return F.coalesce(F.bool_or(F.col("_raw").startswith(UNREADABLE)), F.lit(False))


def _sums() -> list[Column]:
    fates = [_count(F.col(_FATE) == number).alias(fate.value) for number, fate in enumerate(Fate)]
    return [
        *fates,
        F.sum("n").alias("rows"),
        F.max("last").alias("last_arrival"),
        F.max("high").alias("high"),
        F.bool_or("whole").alias("whole"),
    ]


def _count(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col("n"))), F.lit(0))


def _moves() -> list[Column]:
    """Largest move exactly; quantiles over three significant digits, so that few distinct values are held."""
    quantiles = F.percentile(F.col("rounded"), _QUANTILES, F.col("n"))
    return [F.max("move").alias("largest"), quantiles.alias("quantiles")]


def _sample() -> Column:
    times = [
        F.unix_micros(name).alias(alias) for name, alias in (("_event_time", "event"), ("_arrival_time", "arrival"))
    ]
    return F.struct(F.col("_offset").alias("offset"), *times, F.col("_file").alias("file"))


def _findings() -> list[Column]:
    columns = []
    for reason in FINDINGS:
        acted = F.find_in_set(F.lit(reason.value), F.col(_TEXT)) > 0
        columns += [
            _count(acted).alias(f"n_{reason.value}"),
            F.min(F.when(acted, F.col("first"))).alias(f"first_{reason.value}"),
            F.max(F.when(acted, F.col("last"))).alias(f"last_{reason.value}"),
            F.min(F.when(acted, F.col("offset"))).alias(f"offset_{reason.value}"),
        ]
    return columns


def _samples(events: DataFrame, partitions: Sequence[Row]) -> dict[tuple[str, int], Sample]:
    """By partition and offset: the first row of each finding."""
    wanted = {
        (row["_partition"], row[f"offset_{reason.value}"])
        for row in partitions
        for reason in FINDINGS
        if row[f"offset_{reason.value}"] is not None
    }
    if not wanted:
        return {}
    offsets = [offset for _, offset in wanted]
    key = F.xxhash64("_partition", "_offset").alias(_KEY)
    listed = small_frame(events.sparkSession, sorted(wanted), [("_partition", pa.string()), ("_offset", pa.int64())])
    near = events.where(F.col("_offset").between(min(offsets), max(offsets))).withColumn(_KEY, key)
    found = near.join(listed.select(key), _KEY).select("_partition", _sample().alias("sample")).collect()
    return {(row[0], row[1]["offset"]): _read_sample(row[1]) for row in found}


def _read_sample(row: Row) -> Sample:
    return Sample(row["offset"], row["event"], row["arrival"], row["file"])


def _partition_report(source: str, row: Row, samples: Mapping[tuple[str, int], Sample]) -> PartitionReport:
    fates = {fate: row[fate.value] for fate in Fate}
    reasons = {reason: row[f"n_{reason.value}"] for reason in FINDINGS}
    shifts = None
    if row["largest"] is not None:
        shifts = Shifts(row["largest"], *[int(quantile) for quantile in row["quantiles"]])
    occurrences = {
        diagnostic: Occurrence(
            reasons[reason],
            row[f"first_{reason.value}"],
            row[f"last_{reason.value}"],
            samples[row["_partition"], row[f"offset_{reason.value}"]],
        )
        for reason, diagnostic in FINDINGS.items()
        if reasons[reason]
    }
    account = Account(source, row["_partition"], fates, reasons, shifts)
    return PartitionReport(account, Seen(account.rows, row["last_arrival"], row["high"]), occurrences)
