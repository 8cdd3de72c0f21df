"""Caches plans of micro-batches: a plan is built once and then bound, as a database prepares statements.

Building a plan takes some thousand calls of the JVM, longer than judging a few thousand rows. Micro-batches of one
shape (`BatchPlanKey`) differ only in the leaves of their plan (the files, and a small frame with the state of
partitions) and in plan parameters, which are set as a job begins. With several tasks, the task of each partition is a
plan parameter: it follows from the partition sizes of the micro-batch before. After a micro-batch with a skewed
partition, the plan is built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from tidemark.config import SourceSpec
from tidemark.spark.compat.plain import Way, plain
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.partitioning.layout import Layout, assigned_by
from tidemark.spark.partitioning.shuffle import PartitionTasks, known_before
from tidemark.spark.plans.bind import bound, simplified
from tidemark.spark.read.format import Sight
from tidemark.spark.read.object_columns import Objects
from tidemark.spark.session.object_stores import spark_reads
from tidemark.spark.tables.fate_counter import FateCounter

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

Kind = TypeVar("Kind")
Plan = TypeVar("Plan")
PARTITIONS = "spark.sql.shuffle.partitions"
MOST_KEPT = 16
"""Most plans that a session keeps: for sources that one process runs in turns."""
MOST_OBJECTS = 1_000
"""Most objects of a micro-batch whose plan is kept; the plan keeps their metadata."""


@dataclass(frozen=True)
class BatchPlanKey:
    """Key of a cached plan: all that the plan of a micro-batch depends on, besides its leaves and parameters.

    `limits` are its number of tasks and the most partitions that its source may have.
    """

    source: SourceSpec
    sight: Sight
    read_from: int | None
    limits: tuple[int, int]


@dataclass(frozen=True)
class Prepared:
    """A plan of event rows that are counted as they pass, and the parameters that are set as a job begins."""

    counted: DataFrame
    tally: FateCounter
    start: JavaObject
    objects: Objects
    layout: Layout
    tasks: PartitionTasks

    def after(self, skewed: float) -> Prepared | None:
        """The plan to cache for the next micro-batch, once this one's job has ended; None if a partition is skewed.

        The next micro-batch is assumed to have the partition sizes that this job counted. After None, it measures its
        own.
        """
        if self.layout.skewed or self.layout.tasks == 1:
            return None if self.layout.skewed else self
        counted = self.tally.last
        layout = assigned_by(counted.sizes, counted.rows, self.layout, skewed)
        return None if layout.skewed else replace(self, layout=layout)

    def simplified(self) -> Prepared:
        """The plan, simplified once for all micro-batches of its shape; unchanged with skew, since it is then used
        once."""
        return self if self.layout.skewed else replace(self, counted=simplified(self.counted))

    def bound(self, batch: MicroBatch) -> Prepared:
        """The plan bound to another micro-batch of its shape."""
        spark, opening = self.counted.sparkSession, batch.opening
        self.objects.set(batch.source, batch.objects, batch.number)
        if self.layout.tasks > 1:
            self.tasks.set(self.layout.assigned)
        before = known_before(spark, self.layout, opening, batch.source.timestamp_by is not None)
        self.start.set(opening.unseen.watermark)
        self.tally.begin(batch.uris)
        return replace(self, counted=bound(self.counted, map(spark_reads, batch.objects), (before,)))


class Plans(Generic[Kind, Plan]):
    """Cache of a session's plans.

    A plan is removed while it serves, so that it serves one job at a time, and is not put back if the job fails.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Kind, Plan]] = {}
        self._number = 0
        self._lock = Lock()

    def take(self, shape: Kind) -> Plan | None:
        """Remove and return the plan kept for a shape; None if there is none."""
        with self._lock:
            found = next((number for number, (kept, _) in self._kept.items() if kept == shape), None)
            return None if found is None else self._kept.pop(found)[1]

    def put(self, shape: Kind, plan: Plan) -> None:
        """Keep a plan whose job has succeeded; beyond `MOST_KEPT`, the least recently used plan is dropped."""
        with self._lock:
            self._number += 1
            self._kept[self._number] = shape, plan
            if len(self._kept) > MOST_KEPT:
                del self._kept[min(self._kept)]


_PLANS: WeakKeyDictionary[SparkContext, Plans[BatchPlanKey, Prepared]] = WeakKeyDictionary()


@contextmanager
def prepared(
    spark: SparkSession,
    shape: BatchPlanKey | None,
    skewed: float,
    batch: MicroBatch,
    build: Callable[[], AbstractContextManager[Prepared]],
) -> Iterator[Prepared]:
    """Context manager: the plan of a micro-batch for one job, cached for its shape or else new.

    The plan is cached for later micro-batches if the job succeeds and no partition had more than the share `skewed`
    of the rows. With `shape` None it is neither looked up nor cached.
    """
    if shape is None:
        with build() as plan:
            yield plan
        return
    plans = _PLANS.setdefault(spark.sparkContext, Plans())
    known = plans.take(shape)
    if known is not None:
        spark.conf.set(PARTITIONS, str(known.layout.tasks))
        known = known.bound(batch)
    with build() if known is None else nullcontext(known) as made:
        plan = made.simplified() if known is None else made
        yield plan
    if (later := plan.after(skewed)) is not None:
        plans.put(shape, later)


def shape_of(
    batch: MicroBatch, damaged: Mapping[str, str], sights: Mapping[str, Sight], limits: tuple[int, int]
) -> BatchPlanKey | None:
    """Key of a micro-batch's cached plan; None if its plan cannot be used for others.

    That is so if its objects are of several kinds, more than `MOST_OBJECTS`, or cannot be read; if substreams, keys,
    edges or imported punctuation are looked up in tables; and always if plans cannot be bound here (`Way.PLANS`).
    """
    if plain(Way.PLANS):
        return None
    kinds, source, opening = set(sights.values()), batch.source, batch.opening
    looked_up = source.over or source.deduplicate or source.lifetimes.edges or bool(opening.imported)
    if looked_up or damaged or len(kinds) != 1 or len(batch.objects) > MOST_OBJECTS:
        return None
    sight = kinds.pop()
    return BatchPlanKey(source, sight, opening.read_from, limits) if sight.refusal is None else None
