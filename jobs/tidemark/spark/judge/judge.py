"""Judges rows under tolerance policies, in the JVM (time rules: judging a row).

A row dropped or adjusted by the out-of-order step never raises the watermark above where it already is. So the
watermark before a row is a running maximum over the times left by the early and late steps alone, and can be computed
chunk by chunk, in one pass over sorted rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.punctuation import Punctuation
from tidemark.spark.columns import (
    ARRIVAL,
    BAD,
    CHUNK,
    END,
    EVENT,
    FATE,
    IMPORTED,
    KEY,
    OFFSET,
    ORDER,
    OWN,
    PARTITION,
    PUNCTUATED,
    REST,
    SEED,
    SKIPPED,
    STAGED,
    SUBSTREAM,
    WATERMARK,
)
from tidemark.spark.judge.policy import bounded, fate
from tidemark.spark.judge.seen import with_duplicates
from tidemark.spark.judge.substreams import KEY_WATERMARK
from tidemark.spark.maxima import punctuated, running_state, unseen
from tidemark.spark.partitioning.layout import Layout
from tidemark.spark.partitioning.shuffle import PartitionTasks, repartition
from tidemark.spark.punctuation.imported import with_imported
from tidemark.spark.punctuation.state import punctuation_columns, seed_of

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_RUN = "__tidemark_run"
_STARTED = "__tidemark_started"
_POSITION = "__tidemark_position"
_OFFSET_BITS = 40
"""Keyed rows are sorted by one number, which is fastest. Its low bits, this many, are the offset; its other bits are
from the key's hash."""
_TOO_MANY = "tidemark: more partitions than a source may have"
_UNEVEN = 25
"""Groups that a task may have beyond its share, for each of the tasks. Skewed and large partitions need them: they
are not assigned by the hash of their names."""


def stage(
    rows: DataFrame,
    source: SourceSpec,
    opening: Opening,
    layout: Layout,
    start: JavaObject | None = None,
    tasks: PartitionTasks | None = None,
    seen: DataFrame | None = None,
) -> DataFrame:
    """Send rows to their tasks and compute their offset, arrival and `STAGED`, the time after the early and late
    steps.

    `STAGED` is null for rows that are quarantined, skipped or dropped by these steps, and for intervals that end at
    it or before. Columns not needed for judging are packed in `REST`. `start` holds the watermark of `opening.unseen`
    and `tasks` the tasks of partitions; both are plan parameters. Duplicates are found if the keys `seen` are given.
    """
    seed, run = F.col(SEED), F.col(_RUN)
    own_time = source.timestamp_by is not None
    group = (CHUNK, PARTITION) if layout.cells else (PARTITION,)
    sent = repartition(rows, layout, opening, own_time, tasks, seen).sortWithinPartitions(*group, *ORDER)
    start = start or unseen(opening.unseen.watermark)
    running = running_state(F.col(CHUNK), F.col(PARTITION), F.col(OWN), seed, start)
    sent = sent.withColumn(_RUN, running)
    if seen is not None:
        sent = with_duplicates(sent, source, opening, run["arrival"])
    if source.punctuated is not None:
        event = F.col(EVENT) if own_time else run["arrival"]
        sent = sent.withColumn(PUNCTUATED, _issued(source.punctuated, event))
    numbers = {ARRIVAL: run["arrival"], OFFSET: run["number"] - 1, _STARTED: run["watermark"]}
    return staged_by_arrival(sent.where(seed.isNull()).withColumns(numbers).drop(SEED, OWN), source, opening)


def _issued(punctuation: Punctuation, event: Column) -> Column:
    """Punctuations in force before and after each row of rows with `_RUN`; `event` is a row's time, microseconds."""
    seed = F.col(SEED)
    columns = punctuation_columns(punctuation, F.col(BAD).isNull(), event)
    mark = F.greatest(seed["watermark"], seed["high"])
    known = F.when(seed.isNotNull(), seed_of(seed["counted"], seed["period"], mark))
    return punctuated(F.col(_RUN)["group"], F.lit(None).cast("binary"), known, *columns)


def limited(staged: DataFrame, most: int, tasks: int) -> DataFrame:
    """Make the job fail if the staged rows have more than about `most` partitions (see `failed_by_partitions`).

    Each task counts its partitions and chunks, and may have a share of `most`.
    """
    share = most // tasks
    bound = most if tasks == 1 else share + share // 4 + _UNEVEN * tasks
    failure = F.raise_error(F.lit(_TOO_MANY)).cast("long")
    return staged.withColumn(OFFSET, F.when(F.col(_RUN)["group"] > bound, failure).otherwise(F.col(OFFSET)))


def failed_by_partitions(error: Exception) -> bool:
    """True if a job failed because its rows have too many partitions."""
    return _TOO_MANY in str(error)


def judge(
    staged: DataFrame, source: SourceSpec, substreams: DataFrame | None, layout: Layout, opening: Opening
) -> DataFrame:
    """Staged rows with their `FATE`.

    `substreams`, for sources with `over`, holds the watermark of each key that is above its partition's floor; None
    if none is recorded.
    """
    before, run = F.col(_STARTED), F.col(_RUN)
    keyed = bool(source.over) and source.timestamp_by is not None
    if keyed:
        staged = _by_key(staged, layout)
        if substreams is not None:
            staged = staged.join(substreams, [PARTITION, KEY], "left")
            before = F.greatest(before, F.col(KEY_WATERMARK))
        staged = _together(staged, opening)
        group = [_run_of(F.col(_POSITION)), F.col(PARTITION), F.col(KEY)]
    else:
        group = [run["group"], F.lit(None).cast("binary")]
    high = run["high"] if layout.cells and not keyed else F.lit(None).cast("long")
    end = F.lit(None).cast("long") if source.interval_end is None else F.col(END)
    return staged.withColumn(FATE, fate(source.policy, group, before, high, end)).drop(_POSITION)


def judge_punctuated(staged: DataFrame, opening: Opening, root: str, layout: Layout) -> DataFrame:
    """Rows of a punctuated source with the punctuation in force before each (`WATERMARK`).

    It is the later of the source's own and the imported one, which follows from the tables under `root`.
    """
    if not opening.imported:
        return staged.withColumn(WATERMARK, F.col(PUNCTUATED)["before"])
    followed = with_imported(staged, opening.imported, root, layout)
    return followed.withColumn(WATERMARK, F.greatest(F.col(PUNCTUATED)["before"], IMPORTED))


def _by_key(staged: DataFrame, layout: Layout) -> DataFrame:
    """Rows with their substream's key, all rows of a key in one task."""
    keyed = staged.withColumn(KEY, F.coalesce(F.concat(F.lit("="), F.col(REST)[SUBSTREAM]), F.lit("")))
    return keyed.repartition(layout.tasks, PARTITION, KEY) if layout.tasks > 1 else keyed


def _together(keyed: DataFrame, opening: Opening) -> DataFrame:
    """Sort each task's rows so that every key's rows are in the order of their offsets.

    Rows are sorted by the high bits of their key's hash, then by offset. Keys with equal high bits share a run.
    `_POSITION` packs the bits and the offset into one number, unless a partition has had too many rows for that.
    """
    run, seen = _run_of(F.xxhash64(PARTITION, KEY)), [state.next_offset for state in opening.states.values()]
    if max(seen, default=0) < 1 << (_OFFSET_BITS - 1):
        return keyed.withColumn(_POSITION, run.bitwiseOR(F.col(OFFSET))).sortWithinPartitions(_POSITION)
    return keyed.withColumn(_POSITION, run).sortWithinPartitions(_POSITION, OFFSET)


def _run_of(position: Column) -> Column:
    return position.bitwiseAND(-1 << _OFFSET_BITS)


def staged_by_arrival(rows: DataFrame, source: SourceSpec, opening: Opening) -> DataFrame:
    """Add `EVENT`, `SKIPPED` (by `start`) and `STAGED`, the time after the early and late steps, to the rows."""
    skipped, event = F.lit(False), F.col(ARRIVAL)
    if opening.read_from is not None:
        skipped = F.coalesce(F.col(ARRIVAL) < opening.read_from, F.lit(False))
    if source.timestamp_by is not None:
        event = F.col(EVENT)
    timed = rows.withColumns({EVENT: event, SKIPPED: skipped})
    time = bounded(source.policy, source.interval_end is not None)
    return timed.withColumn(STAGED, F.when(F.col(BAD).isNull() & ~F.col(SKIPPED), time))
