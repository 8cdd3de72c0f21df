"""What became of a micro-batch's rows, per partition, read back from what was written.

Reading back rather than counting on the way makes the first run, a repair after a crash and a replay one
code path, and counts what is in the table and not what was sent to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from tidemark.core.account import Account, Diagnostic, Occurrence, PartitionReport, Sample, Shifts
from tidemark.core.policy import Fate, Reason
from tidemark.core.progress import Seen
from tidemark.spark.formats import UNREADABLE

FINDINGS = {
    Reason.EARLY: Diagnostic.EARLY,
    Reason.LATE: Diagnostic.LATE,
    Reason.OUT_OF_ORDER: Diagnostic.OUT_OF_ORDER,
    Reason.INVALID_TIME: Diagnostic.INVALID_TIME,
    Reason.INVALID_ROW: Diagnostic.INVALID_ROW,
}
_QUANTILES = [0.5, 0.95, 0.99]


def report_partitions(events: DataFrame, source: str) -> dict[str, PartitionReport]:
    """Per partition: fates, reasons, moves, progress and findings, in one pass over `events`."""
    marked = events.select("*", *_flags())
    found = marked.groupBy("_partition").agg(*_counts(), *_moves(), *_findings()).collect()
    return {row["_partition"]: _partition_report(source, row) for row in found}


def rows_per_file(events: DataFrame) -> dict[str, tuple[int, bool]]:
    """By URI: rows of each object, and whether its one row says that it cannot be read."""
    whole = F.coalesce(F.bool_or(F.col("_raw").startswith(UNREADABLE)), F.lit(False))
    found = events.groupBy("_file").agg(F.count("*"), whole).collect()
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


def _flags() -> list[Column]:
    acted = F.col("_disposition") != Fate.ON_TIME.value
    return [(acted & F.array_contains("_reasons", reason.value)).alias(f"is_{reason.value}") for reason in FINDINGS]


def _counts() -> list[Column]:
    fates = [F.count_if(F.col("_disposition") == fate.value).alias(fate.value) for fate in Fate]
    return [
        *fates,
        F.max(F.unix_micros("_arrival_time")).alias("last_arrival"),
        F.max(F.unix_micros("_system_timestamp")).alias("high"),
    ]


def _moves() -> list[Column]:
    """Largest move exactly; quantiles over three significant digits, so that few distinct values are held."""
    size = F.abs(F.unix_micros("_system_timestamp") - F.unix_micros("_event_time"))
    move = F.when(F.col("_disposition") == Fate.ADJUSTED.value, size)
    grain = F.pow(F.lit(10), F.greatest(F.floor(F.log10(F.greatest(move, F.lit(1)))) - 2, F.lit(0)))
    rounded = (F.floor(move / grain) * grain).cast("long")
    return [F.max(move).alias("largest"), F.percentile(rounded, _QUANTILES).alias("quantiles")]


def _sample() -> Column:
    times = [
        F.unix_micros(name).alias(alias) for name, alias in (("_event_time", "event"), ("_arrival_time", "arrival"))
    ]
    return F.struct(F.col("_offset").alias("offset"), *times, F.col("_file").alias("file"))


def _findings() -> list[Column]:
    columns = []
    for reason in FINDINGS:
        flag = F.col(f"is_{reason.value}")
        arrival = F.when(flag, F.unix_micros("_arrival_time"))
        columns += [
            F.count_if(flag).alias(f"n_{reason.value}"),
            F.min(arrival).alias(f"first_{reason.value}"),
            F.max(arrival).alias(f"last_{reason.value}"),
            F.min(F.when(flag, _sample())).alias(f"sample_{reason.value}"),
        ]
    return columns


def _read_sample(row: Row) -> Sample:
    return Sample(row["offset"], row["event"], row["arrival"], row["file"])


def _partition_report(source: str, row: Row) -> PartitionReport:
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
            _read_sample(row[f"sample_{reason.value}"]),
        )
        for reason, diagnostic in FINDINGS.items()
        if reasons[reason]
    }
    account = Account(source, row["_partition"], fates, reasons, shifts)
    return PartitionReport(account, Seen(account.rows, row["last_arrival"], row["high"]), occurrences)
