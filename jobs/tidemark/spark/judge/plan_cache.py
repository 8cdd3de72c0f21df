"""Plans of micro-batches that are built once and then bound, as a database prepares statements.

Building a plan takes some thousand calls of the JVM, which analyzes it at each step: longer than judging a few
thousand rows takes. Micro-batches of one shape differ in their leaves alone (the files and a small frame of what is
known of partitions) and in what is told to tasks as a job begins. Those of several tasks are told, too, which
partitions are judged by which, as suits the rows of the one before; after one with a hot partition it is built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from py4j.java_collections import ListConverter
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject
from tidemark.spark.partitioning.layout import Layout, placed_by
from tidemark.spark.partitioning.shuffle import Placed, known_before
from tidemark.spark.plans.static_plan import simplified, unadapted
from tidemark.spark.read.object_columns import Objects
from tidemark.spark.read.peek import Sight
from tidemark.spark.session.s3a import spark_reads
from tidemark.spark.tables.fate_counter import FateCounter

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

Kind = TypeVar("Kind")
Plan = TypeVar("Plan")
PARTITIONS = "spark.sql.shuffle.partitions"
MOST_KEPT = 16
"""Plans of a session that are kept: sources that one process runs in turns."""
MOST_OBJECTS = 1_000
"""Of a micro-batch whose plan is kept, with what was known of them."""


@dataclass(frozen=True)
class BatchPlanKey:
    """All that the plan of a micro-batch follows from, besides its leaves and what is told. `limits` are how many
    tasks it has, and how many partitions its source may have."""

    source: SourceSpec
    sight: Sight
    read_from: int | None
    limits: tuple[int, int]


@dataclass(frozen=True)
class Prepared:
    """A plan of event rows that are counted as they pass, and what is told to it as a job begins."""

    counted: DataFrame
    tally: FateCounter
    start: JavaObject
    objects: Objects
    layout: Layout
    placed: Placed

    def after(self, cores: int) -> Prepared | None:
        """The same for later micro-batches of its shape, once its job has ended: their partitions are taken to be as
        large as those that it counted. None: one of these is hot, so the next looks how large they are."""
        if self.layout.hot or self.layout.tasks == 1:
            return None if self.layout.hot else self
        counted = self.tally.last
        layout = placed_by(counted.sizes, counted.rows, self.layout, cores)
        return None if layout.hot else replace(self, layout=layout)

    def simplified(self) -> Prepared:
        """The same, simplified once for all micro-batches of its shape, unless it is of this one alone."""
        return self if self.layout.hot else replace(self, counted=simplified(self.counted))

    def planned(self) -> Prepared:
        """The same, planned once where it has a shuffle, unless cells of a hot partition are joined to its rows."""
        if self.layout.tasks == 1 or self.layout.hot:
            return self
        return replace(self, counted=unadapted(self.counted, self.layout.tasks))

    def bound(
        self,
        source: SourceSpec,
        batch_id: int,
        objects: Sequence[LandedObject],
        opening: Opening,
    ) -> Prepared:
        """The same for another micro-batch of its shape."""
        spark = self.counted.sparkSession
        self.objects.tell(source, objects, batch_id)
        if self.layout.tasks > 1:
            self.placed.tell(self.layout.placed)
        before = known_before(spark, self.layout, opening, source.timestamp_by is not None)
        self.start.set(opening.unseen.watermark)
        self.tally.begin([item.uri for item in objects])
        return replace(self, counted=bound(self.counted, map(spark_reads, objects), (before,)))


def bound(
    plan: DataFrame, paths: Iterable[str], leaves: Sequence[DataFrame] = (), *, base: str | None = None
) -> DataFrame:
    """The rows of a plan over these files and leaves, all of which it has, in the place of its own. Files are read as
    those that it had; those of a table lie under its folder, `base`."""
    spark = plan.sparkSession
    jvm, gateway = spark.sparkContext._jvm, spark.sparkContext._gateway
    if jvm is None or gateway is None:
        raise RuntimeError("no Spark session is open")
    told = [list(paths), [leaf._jdf for leaf in leaves]]
    listed = [ListConverter().convert(each, gateway._gateway_client) for each in told]
    return DataFrame(jvm.tidemark.Prepared.bound(spark._jsparkSession, plan._jdf, base, *listed), spark)


class Plans(Generic[Kind, Plan]):
    """The plans that a session keeps. One is taken out while it serves, so that it serves one job at a time, and is
    not put back if that fails."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Kind, Plan]] = {}
        self._number = 0
        self._lock = Lock()

    def take(self, shape: Kind) -> Plan | None:
        """The plan kept for a shape, if there is one."""
        with self._lock:
            found = next((number for number, (kept, _) in self._kept.items() if kept == shape), None)
            return None if found is None else self._kept.pop(found)[1]

    def put(self, shape: Kind, plan: Plan) -> None:
        """Keep a plan whose job has succeeded; that which was not asked for the longest goes."""
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
    cores: int,
    source: SourceSpec,
    batch_id: int,
    objects: Sequence[LandedObject],
    opening: Opening,
    build: Callable[[], AbstractContextManager[Prepared]],
) -> Iterator[Prepared]:
    """The plan of a micro-batch for one job on so many cores: one that is kept for its shape, or else a new one.
    It is kept for later ones if the job succeeds."""
    if shape is None:
        with build() as plan:
            yield plan
        return
    plans = _PLANS.setdefault(spark.sparkContext, Plans())
    known = plans.take(shape)
    if known is not None:
        spark.conf.set(PARTITIONS, str(known.layout.tasks))
        known = known.bound(source, batch_id, objects, opening)
    with build() if known is None else nullcontext(known) as made:
        plan = made.simplified() if known is None else made
        yield plan.planned()
    if (later := plan.after(cores)) is not None:
        plans.put(shape, later)


def shape_of(
    source: SourceSpec,
    objects: Sequence[LandedObject],
    opening: Opening,
    damaged: Mapping[str, str],
    sights: Mapping[str, Sight],
    limits: tuple[int, int],
) -> BatchPlanKey | None:
    """The shape of a micro-batch; None: its plan follows from more than that (objects of several kinds or that cannot
    be read, tables that substreams, edges and what is imported are looked up in)."""
    kinds = set(sights.values())
    looked_up = source.over or source.lifetimes.edges or opening.imported is not None
    if looked_up or damaged or len(kinds) != 1 or len(objects) > MOST_OBJECTS:
        return None
    sight = kinds.pop()
    return BatchPlanKey(source, sight, opening.read_from, limits) if sight.refusal is None else None
