"""Counts the fates that judged rows would have had under each candidate of a grid of tolerances; writes nothing.

Rows come from the events tables, which keep the times of every row, whatever its fate. The first pass counts how late
and how far out of order rows are, to choose a grid. The second finds the highest times of batches and chunks, in any
order of rows. The third compares each row, in the order of offsets, with the watermark of each candidate, in the JVM.
A large partition is read in chunks; each starts from the state after the chunks before it. All rows of a substream
are in one task, as in judging.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advice import held_out
from tidemark.core.advice.grid import Grid, GridCounts
from tidemark.core.advice.history import Cells
from tidemark.core.advice.maxima import High, before_chunks
from tidemark.core.policy import Action
from tidemark.spark.admission import admitted
from tidemark.spark.columns import ARRIVAL, BAD, BATCH, CHUNK, END, EVENT, KEY, OFFSET, PARTITION, STAGED
from tidemark.spark.compat.jvm import context_of, scala_columns
from tidemark.spark.judge.engine import Engine
from tidemark.spark.judge.policy import bounded
from tidemark.spark.jvm_functions import java_class
from tidemark.spark.local_frames import Columns, local_frame
from tidemark.spark.maxima import range_of
from tidemark.spark.partitioning.by_task import send
from tidemark.spark.streams.partitioned import key_of_substream

_TASK_ROWS = 1 << 20
"""Rows of a task. Up to this number of rows, there is one task."""
_WHOLE = 62
"""Bits of a chunk that holds a whole partition."""
_LATENESS, _DISORDER, _FLOOR_ARRIVAL = "__tidemark_lateness", "__tidemark_disorder", "__tidemark_floor_arrival"


@dataclass(frozen=True)
class Strays:
    """Numbers of rows by how late and how far out of order they are. `lateness` and `disorder` map a number of rungs
    to the number of rows that exceed exactly so many rungs."""

    lateness: Mapping[int, int]
    disorder: Mapping[int, int]


@dataclass(frozen=True)
class AdvisedRows:
    """Rows of one source in batches up to `through`; `rows` is their approximate number."""

    engine: Engine
    source: SourceSpec
    through: int
    rows: int

    @property
    def tasks(self) -> int:
        """Number of tasks that read the rows."""
        if self.engine.tasks is not None:
            return self.engine.tasks
        if self.rows <= _TASK_ROWS:
            return 1
        return max(self.engine.spark.sparkContext.defaultParallelism, math.ceil(self.rows / _TASK_ROWS))

    @property
    def bits(self) -> int:
        """Binary logarithm of the rows of a chunk: about a quarter of a task's rows, if there are several tasks.
        Partitions of intervals are not cut: the part that remains of a late interval depends on the candidate."""
        if self.tasks == 1 or self.source.interval_end is not None:
            return _WHOLE
        return max(self.engine.cell_bits, (self.rows // (4 * self.tasks)).bit_length())

    def strays(self, lates: Sequence[int], disorders: Sequence[int]) -> Strays:
        """Count rows by lateness (arrival less event time) and by disorder (how far their event time is below the
        highest time before them, by the recorded watermark), both in rungs."""
        behind = F.unix_micros("_watermark") + self.source.policy.disorder - F.col(EVENT)
        rows = self._staged("_watermark").select(
            self._beyond(F.col(ARRIVAL) - F.col(EVENT), lates).alias(_LATENESS),
            self._beyond(F.coalesce(behind, F.lit(0)), disorders).alias(_DISORDER),
        )
        late: dict[int, int] = {}
        disorder: dict[int, int] = {}
        for one, other, count in rows.groupBy(_LATENESS, _DISORDER).agg(F.count("*")).collect():
            late[one] = late.get(one, 0) + count
            disorder[other] = disorder.get(other, 0) + count
        return Strays(late, disorder)

    def highs(self, grid: Grid) -> list[High]:
        """Highest staged time and arrival of each partition, by batch, chunk and lateness."""
        chunk = F.shiftright(OFFSET, self.bits).alias(CHUNK)
        late = self._beyond(F.col(ARRIVAL) - F.col(EVENT), [late for late in grid.lates if late is not None])
        rows = self._staged().select(PARTITION, BATCH, chunk, late.alias(_LATENESS), STAGED, ARRIVAL)
        found = rows.groupBy(PARTITION, BATCH, CHUNK, _LATENESS).agg(F.max(STAGED), F.max(ARRIVAL))
        return [High(*row) for row in found.collect()]

    def tallies(
        self,
        grid: Grid,
        highs: Iterable[High],
        starts: Mapping[str, Cells],
        arrivals: Iterable[tuple[str, int, int | None]],
        newest: int,
    ) -> tuple[dict[str, GridCounts], dict[int, GridCounts]]:
        """Count fates under each candidate: by partition, and by number of the held-out period (0 ends at the
        `newest` arrival). `starts` has the watermarks of partitions that start late. `arrivals` are (partition,
        batch, arrival), from which floors follow."""
        made = java_class("count.CandidateAccumulator")
        counts = [made.registered(context_of(self.engine.spark)) for _ in range(2)]
        function = java_class("count.CandidateCounter").function(*counts, self._parameters(grid, highs, starts))
        given = (ARRIVAL, EVENT, END, _FLOOR_ARRIVAL)
        columns = [F.col(PARTITION).cast("binary"), self._part, *map(F.col, given), _period(newest)]
        compared = Column(function.apply(scala_columns(columns)))
        self._in_order(arrivals).where(compared).count()
        parts, periods = (json.loads(each.json()) for each in counts)
        return (
            {name: GridCounts(grid, numbers) for name, numbers in parts.items()},
            {int(number): GridCounts(grid, numbers) for number, numbers in periods.items()},
        )

    def _rows(self, *more: str) -> DataFrame:
        """All rows. Rows that no tolerance judges (quarantined rows and duplicates) have no event time."""
        events = self.engine.spark.read.format("delta").load(self.engine.location(f"events/{self.source.name}"))
        return events.where(F.col("_batch_id") <= self.through).select(
            F.col("_partition").alias(PARTITION),
            F.col("_batch_id").alias(BATCH),
            F.col("_offset").alias(OFFSET),
            F.unix_micros("_arrival_time").alias(ARRIVAL),
            F.when(admitted(), F.unix_micros("_event_time")).alias(EVENT),
            F.unix_micros("_end_time").alias(END),
            *([key_of_substream().alias(KEY)] if self._keyed else []),
            *more,
        )

    def _staged(self, *more: str) -> DataFrame:
        """Sound rows that the early step does not drop, with the time that it gives them."""
        policy = self.source.policy
        early = type(policy)(policy.early, None, policy.out_of_order)
        rows = self._rows(*more).withColumn(BAD, F.lit(None).cast("string"))
        return rows.withColumn(STAGED, bounded(early)).where(F.col(STAGED).isNotNull())

    def _in_order(self, arrivals: Iterable[tuple[str, int, int | None]]) -> DataFrame:
        known = [(name, batch, arrival) for name, batch, arrival in arrivals if arrival is not None]
        columns: Columns = [(PARTITION, pa.string()), (BATCH, pa.int64()), (_FLOOR_ARRIVAL, pa.int64())]
        spark, tasks = self.engine.spark, self.tasks
        rows = self._rows().withColumn(CHUNK, F.shiftright(OFFSET, self.bits))
        rows = rows.join(local_frame(spark, known, columns), [PARTITION, BATCH], "left").drop(BATCH)
        if self._keyed and tasks > 1:
            rows = rows.repartition(tasks, PARTITION, KEY)
        else:
            rows = send(rows, tasks, F.pmod(F.hash(PARTITION) + F.col(CHUNK), F.lit(tasks)).cast("int"))
        return rows.sortWithinPartitions(PARTITION, KEY if self._keyed else CHUNK, OFFSET)

    @cached_property
    def _keyed(self) -> bool:
        return bool(self.source.over)

    @property
    def _part(self) -> Column:
        return F.col(KEY).cast("binary") if self._keyed else F.col(CHUNK)

    def _beyond(self, size: Column, rungs: Sequence[int]) -> Column:
        """Number of rungs that a size is beyond."""
        return range_of(size, [rung + 1 for rung in rungs])

    def _parameters(self, grid: Grid, highs: Iterable[High], starts: Mapping[str, Cells]) -> str:
        early = self.source.policy.early
        chunks = [] if self._keyed or self.tasks == 1 else before_chunks(grid, highs)
        return json.dumps(
            {
                "lates": grid.lates,
                "behind": grid.behind(),
                "early": None if early is None else early.micros,
                "adjusts_early": early is not None and early.action is Action.ADJUST,
                "starts": starts,
                "highs": chunks,
            }
        )


def _period(newest: int) -> Column:
    """Number of the held-out period of a row's arrival, 0 for the newest; the oldest for a row without an arrival."""
    number, oldest = F.floor((F.lit(newest) - F.col(ARRIVAL)) / F.lit(held_out.PERIOD)), F.lit(held_out.MOST)
    return F.coalesce(F.greatest(F.least(number, oldest), F.lit(0)), oldest).cast("long")
