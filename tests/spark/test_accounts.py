"""What is counted as rows pass is what Spark's own aggregates say of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from landed import source_of
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from tidemark.core.batch_result import Diagnostic, Shifts
from tidemark.core.policy import Fate, Reason
from tidemark.spark.columns import OBJECT
from tidemark.spark.digests import HIGH, LOW, ROWS, digest_columns, measured, row_hash, table_digest
from tidemark.spark.read.format import UNREADABLE
from tidemark.spark.tables.accounts import files_of, partitions_of
from tidemark.spark.tables.delta import quoted
from tidemark.spark.tables.fate_counter import FateCounter

COLUMNS = (
    "_partition STRING, _offset BIGINT, _arrival_time TIMESTAMP, _event_time TIMESTAMP, _system_timestamp TIMESTAMP,"
    f" _disposition STRING, _reasons ARRAY<STRING>, _file STRING, _raw STRING, {OBJECT} INT,"
    " _watermark TIMESTAMP"
)
SOURCE = source_of(Path("landing"), "p STRING", early_arrival="off", late_arrival="off", timestamp_by="p")
FILES = ["a", "b ü", "c"]
KINDS = [
    ("on_time", []),
    ("adjusted", ["late"]),
    ("adjusted", ["late", "out_of_order"]),
    ("adjusted", ["early"]),
    ("dropped", ["early"]),
    ("quarantined", ["invalid_time"]),
]


def at(seconds):
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def made(number):
    """One event: partitions, files, fates and moves in turns of different lengths."""
    fate, reasons = KINDS[number * 7 % len(KINDS)]
    event = None if fate == "quarantined" and number % 2 else at(number * 37 % 1000)
    moved = number * number % 5000 + number / 1000
    stamp = {"on_time": event, "adjusted": event and event + timedelta(seconds=moved)}.get(fate)
    arrival = None if number % 50 == 5 else at(number * 61 % 2000)
    file = number % 3
    raw = "text" if fate == "quarantined" else None
    return (f"p{number % 4}", number, arrival, event, stamp, fate, reasons, FILES[file], raw, file, None)


@pytest.fixture(scope="module")
def events(spark):
    rows = [made(number) for number in range(900)]
    rows.append(("_unknown", 0, at(0), None, None, "quarantined", ["invalid_row"], "d", f"{UNREADABLE}torn", 3, None))
    return spark.createDataFrame(rows, COLUMNS).cache()


def tallied(events, tasks):
    tally = FateCounter(events.sparkSession, SOURCE, [*FILES, "d"])
    spread = events.repartition(tasks, "_offset").sortWithinPartitions("_partition", "_offset")
    kept = tally.counted(spread)
    assert kept.count() == events.count()
    return tally.counts()


@pytest.mark.parametrize("partitions", [8, 800])
def test_an_answer_of_many_parts_or_of_a_long_one_is_whole(spark, partitions):
    columns = {
        "_partition": f"concat('p', id % {partitions})",
        "_offset": "id",
        "_arrival_time": "timestamp_micros(id)",
        "_event_time": "timestamp_micros(id)",
        "_system_timestamp": "timestamp_micros(id + 501 + xxhash64(id) % 500)",
        "_disposition": "'adjusted'",
        "_reasons": "array('late')",
        "_file": "'a'",
        "_raw": "CAST(null AS STRING)",
        OBJECT: "0",
        "_watermark": "timestamp_micros(id)",
    }
    made = spark.range(500 * partitions).selectExpr(*[f"{text} AS {name}" for name, text in columns.items()])
    told = tallied(made, 2)
    size = (F.unix_micros("_system_timestamp") - F.unix_micros("_event_time")).alias("size")
    found = made.groupBy("_partition", size).count().where("size < 1000").collect()
    assert len(told.partitions) == partitions
    for row in found:
        assert told.partitions[row["_partition"]].moves.sizes[row["size"]] == row["count"]


@pytest.fixture(scope="module", params=[1, 4])
def told(events, request):
    return tallied(events, request.param)


def test_the_digest_is_that_of_all_columns_but_the_number_of_the_object(told, events):
    rows = events.drop(OBJECT)
    found = rows.agg(*digest_columns(row_hash(rows))).collect()[0]
    assert told.digest("t") == table_digest("t", found[ROWS], found[LOW], found[HIGH])


def test_the_digest_does_not_depend_on_where_columns_stand(events):
    turned = events.select(*[quoted(name) for name in reversed(events.columns)])
    assert measured("t", turned) == measured("t", events)


def test_objects_are_counted_and_one_that_cannot_be_read_is_told(told):
    assert files_of(told) == {"a": (300, False), "b ü": (300, False), "c": (300, False), "d": (1, True)}


def test_fates_and_progress_are_those_of_each_partition(told, events):
    reports = partitions_of(told, "s")
    found = events.groupBy("_partition").agg(
        *[F.count(F.when(F.col("_disposition") == fate.value, 1)).alias(fate.value) for fate in Fate],
        F.unix_micros(F.max("_arrival_time")).alias("arrival"),
        F.unix_micros(F.max("_system_timestamp")).alias("high"),
    )
    assert set(reports) == {"_unknown", "p0", "p1", "p2", "p3"}
    for row in found.collect():
        report = reports[row["_partition"]]
        assert report.account.fates == {fate: row[fate.value] for fate in Fate}
        assert (report.seen.last_arrival, report.seen.high) == (row["arrival"], row["high"])


def test_moves_are_those_of_a_percentile_over_rounded_sizes(told, events):
    size = F.unix_micros("_system_timestamp") - F.unix_micros("_event_time")
    grain = F.pow(F.lit(10), F.greatest(F.floor(F.log10(F.greatest(size, F.lit(1)))) - 2, F.lit(0)))
    rounded = (F.floor(size / grain) * grain).cast("long")
    found = events.where("_disposition = 'adjusted'").groupBy("_partition")
    for row in found.agg(F.max(size), F.percentile(rounded, [0.5, 0.95, 0.99])).collect():
        shifts = partitions_of(told, "s")[row[0]].account.shifts
        assert shifts is not None
        assert shifts.largest == row[1]
        assert (shifts.p50, shifts.p95, shifts.p99) == pytest.approx(row[2], abs=1)


def test_a_finding_counts_its_rows_and_shows_the_first(told, events):
    reports = partitions_of(told, "s")
    kinds = [(Reason.EARLY, Diagnostic.EARLY), (Reason.OUT_OF_ORDER, Diagnostic.OUT_OF_ORDER)]
    kinds.append((Reason.INVALID_TIME, Diagnostic.INVALID_TIME))
    for reason, diagnostic in kinds:
        rows = events.where(F.array_contains("_reasons", reason.value)).orderBy("_offset").collect()
        for name in {row["_partition"] for row in rows}:
            mine = [row for row in rows if row["_partition"] == name]
            found = reports[name].occurrences[diagnostic]
            arrivals = [micros(row["_arrival_time"]) for row in mine if row["_arrival_time"] is not None]
            assert (found.count, found.first, found.last) == (len(mine), min(arrivals), max(arrivals))
            first = mine[0]
            times = (micros(first["_event_time"]), micros(first["_arrival_time"]))
            sample = found.sample
            assert (sample.offset, sample.event_time, sample.arrival_time) == (first["_offset"], *times)
            assert sample.file == first["_file"]


def test_a_task_that_failed_adds_nothing(spark, events):
    tally = FateCounter(spark, SOURCE, [*FILES, "d"])
    broken = F.when(F.col("_offset") == 899, F.raise_error(F.lit("broken"))).otherwise(F.col("_raw"))
    with pytest.raises(PySparkException, match="broken"):
        tally.counted(events.coalesce(1)).select(broken).foreach(lambda _: None)
    assert tally.counts().rows == 0


@pytest.mark.parametrize(("sizes", "quantiles"), [({7: 1}, (7, 7, 7)), ({10: 1, 20: 1}, (15, 19, 19))])
def test_a_quantile_between_two_sizes_lies_in_proportion(sizes, quantiles):
    shifts = Shifts.of(max(sizes), sizes)
    assert (shifts.p50, shifts.p95, shifts.p99) == quantiles


def micros(time):
    if time is None:
        return None
    whole = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
