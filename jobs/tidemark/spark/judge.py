"""Judges rows under tolerance policies, in the JVM (time rules: judging a row).

A row dropped or adjusted by the out-of-order step never raises the watermark above where it already is, so
the watermark before a row is a running maximum over the times left by the early and late steps alone. That
is what lets it be computed by window functions, chunk by chunk.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.policy import Action, Policy, Reason, Tolerance
from tidemark.core.progress import MIN_TIME, PartitionState
from tidemark.spark.layout import Layout, cell_of_row
from tidemark.spark.names import (
    ARRIVAL,
    BAD,
    BLOCK,
    CHUNK,
    EVENT,
    KEY,
    OBJECT,
    ORDER,
    OWN,
    PARTITION,
    SKIPPED,
    STAGED,
    SUBSTREAM,
    TASK,
    WATERMARK,
)
from tidemark.spark.small import small_frame

OFFSET = "__tidemark_offset"
BATCH = "__tidemark_batch"
_CELL = "__tidemark_cell"
_STATE = "__tidemark_state"
_CARRY = "__tidemark_carry"
_STATE_FIELDS = ("next_offset", "last_arrival", "estimated_high", "watermark", "batch_id")
_BEFORE = (Window.unboundedPreceding, -1)


def stage(
    spark: SparkSession, rows: DataFrame, source: SourceSpec, opening: Opening, layout: Layout, batch_id: int
) -> DataFrame:
    """Rows in their tasks with offset, arrival, and the time that the early and late steps leave them.

    `STAGED` is null for rows that are quarantined, skipped or dropped by those steps.
    """
    spread = _with_state(spark, _spread(spark, rows, layout), opening, batch_id)
    ordered = Window.partitionBy(CHUNK, TASK, PARTITION).orderBy(*ORDER)
    state, carry = F.col(_STATE), F.col(_CARRY)
    base = state["next_offset"] + F.coalesce(carry["rows"], F.lit(0))
    known = [
        state["last_arrival"],
        carry["arrival"],
        F.max(OWN).over(ordered.rowsBetween(Window.unboundedPreceding, 0)),
    ]
    if source.timestamp_by is None:
        known.append(state["estimated_high"])
    offset = base + F.row_number().over(ordered) - 1
    placed = spread.withColumns({OFFSET: offset, ARRIVAL: F.greatest(*known), BATCH: state["batch_id"]})
    if source.timestamp_by is None:
        placed = placed.withColumn(EVENT, F.col(ARRIVAL))
    skipped = (
        F.lit(False) if opening.read_from is None else F.coalesce(F.col(ARRIVAL) < opening.read_from, F.lit(False))
    )
    placed = placed.withColumn(SKIPPED, skipped)
    return placed.withColumn(STAGED, F.when(F.col(BAD).isNull() & ~F.col(SKIPPED), _bounded(source.policy)))


def judge(staged: DataFrame, source: SourceSpec, substreams: DataFrame | None, layout: Layout) -> DataFrame:
    """Rows with the watermark in force before them; `substreams` holds the watermark of each key that is
    above its partition's floor, for sources with `over`."""
    trail = source.policy.disorder
    before = F.col(_STATE)["watermark"]
    if source.over and source.timestamp_by:
        staged = staged.withColumn(KEY, F.coalesce(F.concat(F.lit("="), SUBSTREAM), F.lit("")))
        staged = staged.repartition(layout.tasks, PARTITION, KEY) if layout.tasks > 1 else staged
        if substreams is not None:
            staged = staged.join(substreams, [PARTITION, KEY], "left")
            before = F.greatest(before, F.col("__tidemark_reached"))
        ordered = Window.partitionBy(PARTITION, KEY).orderBy(OFFSET)
        high = F.max(STAGED).over(ordered.rowsBetween(*_BEFORE))
    else:
        ordered = Window.partitionBy(CHUNK, TASK, PARTITION).orderBy(*ORDER)
        high = F.greatest(F.max(STAGED).over(ordered.rowsBetween(*_BEFORE)), F.col(_CARRY)["high"])
    reached = F.greatest(high - trail, F.when(high.isNotNull(), F.lit(MIN_TIME)))
    return staged.withColumn(WATERMARK, F.greatest(before, reached))


def verdict(policy: Policy) -> dict[str, Column]:
    """The four columns that say what became of a judged row."""
    staged, watermark = F.col(STAGED), F.col(WATERMARK)
    action = policy.out_of_order.action
    behind = F.coalesce(staged < watermark, F.lit(False)) if action is not Action.KEEP else F.lit(False)
    moved = F.when(behind, watermark).otherwise(staged) if action is Action.ADJUST else F.when(~behind, staged)
    early, late = _beyond(policy)
    first = F.when(early, Reason.EARLY.value).when(late, Reason.LATE.value)
    acted = early | late | behind
    disposition = (
        F.when(F.col(BAD).isNotNull(), "quarantined")
        .when(moved.isNull(), "dropped")
        .when(acted, "adjusted")
        .otherwise("on_time")
    )
    return {
        "_system_timestamp": F.timestamp_micros(moved),
        "_disposition": disposition,
        "_reasons": _reasons(first, behind),
        "_watermark": F.timestamp_micros(F.when(F.col(BAD).isNull(), watermark)),
    }


def _reasons(first: Column, behind: Column) -> Column:
    """Literal arrays: building them per row would cost more than the judging."""
    found = F.when(F.col(BAD).isNotNull(), F.array(F.col(BAD)))
    for reason in (Reason.EARLY, Reason.LATE):
        both = F.array(F.lit(reason.value), F.lit(Reason.OUT_OF_ORDER.value))
        found = found.when((first == reason.value) & behind, both).when(
            first == reason.value, F.array(F.lit(reason.value))
        )
    found = found.when(behind, F.array(F.lit(Reason.OUT_OF_ORDER.value)))
    return found.otherwise(F.array().cast("array<string>"))


def _beyond(policy: Policy) -> tuple[Column, Column]:
    """Whether a row is beyond the early, and beyond the late tolerance."""
    event, arrival, sound = F.col(EVENT), F.col(ARRIVAL), F.col(BAD).isNull()
    never = F.lit(False)
    early = never if policy.early is None else sound & (event > arrival + policy.early.micros)
    late = never if policy.late is None else sound & (event < arrival - policy.late.micros)
    return early, late


def _bounded(policy: Policy) -> Column:
    early, late = _beyond(policy)
    arrival = F.col(ARRIVAL)

    def bound(tolerance: Tolerance | None, limit: Column) -> Column:
        adjusts = tolerance is not None and tolerance.action is Action.ADJUST
        return limit if adjusts else F.lit(None).cast("long")

    above = bound(policy.early, arrival + (policy.early.micros if policy.early else 0))
    below = bound(policy.late, arrival - (policy.late.micros if policy.late else 0))
    return F.when(early, above).when(late, below).otherwise(F.col(EVENT))


def _with_state(spark: SparkSession, rows: DataFrame, opening: Opening, batch_id: int) -> DataFrame:
    """Join what changes from batch to batch as data: literals would be compiled anew for every batch."""
    kind = f"struct<{', '.join(f'{name}: long' for name in _STATE_FIELDS)}>"

    def packed(state: PartitionState) -> tuple[int | None, ...]:
        return state.next_offset, state.last_arrival, state.estimated_high, state.watermark, batch_id

    unseen = F.struct(*[F.lit(value).cast("long") for value in packed(opening.unseen)]).cast(kind)
    known = [(name, *packed(state)) for name, state in opening.states.items()]
    columns: list[tuple[str, pa.DataType]] = [
        (PARTITION, pa.string()),
        *[(name, pa.int64()) for name in _STATE_FIELDS],
    ]
    states = small_frame(spark, known, columns)
    states = states.select(PARTITION, F.struct(*_STATE_FIELDS).alias(_STATE))
    joined = rows.join(F.broadcast(states), PARTITION, "left")
    return joined.withColumn(_STATE, F.coalesce(F.col(_STATE), unseen))


def _spread(spark: SparkSession, rows: DataFrame, layout: Layout) -> DataFrame:
    """Send each row to the task that judges it, with its chunk and what earlier chunks left to it."""
    carry = "struct<rows: long, arrival: long, high: long>"
    if layout.tasks == 1:
        alone = {CHUNK: F.lit(0), TASK: F.lit(0), _CARRY: F.lit(None).cast(carry)}
        return rows.coalesce(1).withColumns(alone)
    task = F.pmod(F.hash(PARTITION), F.lit(layout.tasks))
    if layout.placed:
        places = F.create_map(*[F.lit(part) for item in layout.placed.items() for part in item])
        task = F.coalesce(F.element_at(places, F.col(PARTITION)), task)
    if not layout.cells:
        rows = rows.withColumns({CHUNK: F.lit(0), _CARRY: F.lit(None).cast(carry), TASK: task})
        return rows.repartitionById(layout.tasks, F.col(TASK))
    known = []
    for (partition, place), number in layout.cells.items():
        chunk = layout.chunks[partition, number]
        known.append((partition, *place, number, chunk.rows_before, chunk.arrival_before, chunk.high_before))
    columns: list[tuple[str, pa.DataType]] = [(PARTITION, pa.string()), (OBJECT, pa.int32()), (BLOCK, pa.int64())]
    columns += [
        (_CELL, pa.int32()),
        (CHUNK, pa.int32()),
        *[(name, pa.int64()) for name in ("rows", "arrival", "high")],
    ]
    cells = small_frame(spark, known, columns)
    carried = F.struct("rows", "arrival", "high").alias(_CARRY)
    cells = F.broadcast(cells.select(PARTITION, OBJECT, BLOCK, _CELL, CHUNK, carried))
    rows = rows.withColumn(_CELL, cell_of_row(layout.bits)).join(cells, [PARTITION, OBJECT, BLOCK, _CELL], "left")
    task = F.coalesce(F.pmod(F.col(CHUNK), F.lit(layout.tasks)), task)
    rows = rows.withColumns({TASK: task, CHUNK: F.coalesce(CHUNK, F.lit(-1))}).drop(_CELL)
    return rows.repartitionById(layout.tasks, F.col(TASK))


def highs(staged: DataFrame) -> list[tuple[str, int, int | None]]:
    """(partition, chunk, highest staged time) of the chunks of hot partitions."""
    found = staged.where(F.col(CHUNK) >= 0).groupBy(PARTITION, CHUNK).agg(F.max(STAGED)).collect()
    return [(row[0], row[1], row[2]) for row in found]
