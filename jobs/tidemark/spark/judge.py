"""Judges rows under tolerance policies, in the JVM (time rules: judging a row).

A row dropped or adjusted by the out-of-order step never raises the watermark above where it already is, so
the watermark before a row is a running maximum over the times left by the early and late steps alone. That
is what lets it be computed by window functions, chunk by chunk.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.progress import MIN_TIME
from tidemark.spark.layout import Layout
from tidemark.spark.names import (
    ARRIVAL,
    BAD,
    CHUNK,
    EVENT,
    KEY,
    OFFSET,
    ORDER,
    OWN,
    PARTITION,
    REST,
    SEED,
    SKIPPED,
    STAGED,
    SUBSTREAM,
    TASK,
    WATERMARK,
)
from tidemark.spark.policy import bounded
from tidemark.spark.spread import spread

_NUMBER = "__tidemark_number"
_STARTED = "__tidemark_started"
_CARRIED = "__tidemark_carried"
_SEEDED = "__tidemark_seeded"
_BEFORE = (Window.unboundedPreceding, -1)


def stage(rows: DataFrame, source: SourceSpec, opening: Opening, layout: Layout) -> DataFrame:
    """Rows in their tasks with offset, arrival, and the time that the early and late steps leave them.

    `STAGED` is null for rows that are quarantined, skipped or dropped by those steps. What judging does not
    look at is packed in `REST`.
    """
    ordered = _in_order(layout).rowsBetween(Window.unboundedPreceding, 0)
    seed = F.col(SEED)
    running = {
        _NUMBER: F.sum(F.coalesce(seed["rows"], F.lit(1))).over(ordered),
        ARRIVAL: F.max(OWN).over(ordered),
        _STARTED: F.max(seed["watermark"]).over(ordered),
    }
    if layout.cells:
        running[_CARRIED] = F.max(seed["high"]).over(ordered)
    started = F.col(_STARTED)
    if opening.unseen.watermark is not None:
        running[_SEEDED] = F.max(seed.isNotNull()).over(ordered)
        started = F.when(F.col(_SEEDED), started).otherwise(F.lit(opening.unseen.watermark))
    own_time = source.timestamp_by is not None
    placed = spread(rows, layout, opening, own_time).withColumns(running).where(seed.isNull())
    event = F.col(EVENT) if own_time else F.col(ARRIVAL)
    placed = placed.withColumns({OFFSET: F.col(_NUMBER) - 1, EVENT: event, _STARTED: started})
    skipped = F.lit(False)
    if opening.read_from is not None:
        skipped = F.coalesce(F.col(ARRIVAL) < opening.read_from, F.lit(False))
    placed = placed.withColumn(SKIPPED, skipped).drop(SEED, OWN, _NUMBER, _SEEDED)
    return placed.withColumn(STAGED, F.when(F.col(BAD).isNull() & ~F.col(SKIPPED), bounded(source.policy)))


def judge(staged: DataFrame, source: SourceSpec, substreams: DataFrame | None, layout: Layout) -> DataFrame:
    """Rows with the watermark in force before them; `substreams` holds the watermark of each key that is
    above its partition's floor, for sources with `over`."""
    before = F.col(_STARTED)
    if source.over and source.timestamp_by:
        substream = F.col(REST)[SUBSTREAM]
        staged = staged.withColumn(KEY, F.coalesce(F.concat(F.lit("="), substream), F.lit("")))
        staged = staged.repartition(layout.tasks, PARTITION, KEY) if layout.tasks > 1 else staged
        if substreams is not None:
            staged = staged.join(substreams, [PARTITION, KEY], "left")
            before = F.greatest(before, F.col("__tidemark_reached"))
        ordered = Window.partitionBy(PARTITION, KEY).orderBy(OFFSET)
        high = F.max(STAGED).over(ordered.rowsBetween(*_BEFORE))
    else:
        ordered = _in_order(layout)
        high = F.max(STAGED).over(ordered.rowsBetween(*_BEFORE))
        high = F.greatest(high, F.col(_CARRIED)) if layout.cells else high
    reached = F.greatest(high - source.policy.disorder, F.when(high.isNotNull(), F.lit(MIN_TIME)))
    return staged.withColumn(WATERMARK, F.greatest(before, reached))


def _in_order(layout: Layout) -> WindowSpec:
    """The rows of a partition, or of its chunk, in the order of the log."""
    group = (CHUNK, TASK, PARTITION) if layout.cells else (TASK, PARTITION)
    return Window.partitionBy(*group).orderBy(*ORDER)


def highs(staged: DataFrame) -> list[tuple[str, int, int | None]]:
    """(partition, chunk, highest staged time) of the chunks of hot partitions."""
    found = staged.where(F.col(CHUNK) >= 0).groupBy(PARTITION, CHUNK).agg(F.max(STAGED)).collect()
    return [(row[0], row[1], row[2]) for row in found]
