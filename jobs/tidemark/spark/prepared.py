"""Plans of micro-batches that are built once and then bound, as a database prepares statements.

Building a plan takes some thousand calls of the JVM, which analyzes it at each step: longer than judging a few
thousand rows takes. Micro-batches of one shape differ in their leaves alone (the files and a small frame of what is
known of partitions) and in what is told to tasks as a job begins. Those of several tasks are told, too, which
partitions are judged by which; one with a hot partition has a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tidemark.spark.formats import scanned
from tidemark.spark.layout import Layout, place
from tidemark.spark.objects import Objects
from tidemark.spark.s3a import spark_reads
from tidemark.spark.sight import Sight
from tidemark.spark.spread import Placed, known_before
from tidemark.spark.tally import Tally
from tidemark.spark.unadapted import unadapted

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
class Shape:
    """All that the plan of a micro-batch follows from, besides its leaves and what is told. `limits` are how many
    tasks it has, and how many partitions its source may have."""

    source: SourceSpec
    sight: Sight
    read_from: int | None
    limits: tuple[int, int]


@dataclass(frozen=True)
class Prepared:
    """A plan of event rows that are counted as they pass, and what is told to it as a job begins. Of several tasks it
    knows the `sizes` of partitions that its layout follows from."""

    counted: DataFrame
    tally: Tally
    start: JavaObject
    objects: Objects
    layout: Layout
    placed: Placed
    sizes: DataFrame | None

    @property
    def serves(self) -> bool:
        """Whether it serves other micro-batches of its shape."""
        return not self.layout.hot

    def planned(self) -> Prepared:
        """The same, planned once where it has a shuffle, unless cells of a hot partition are joined to its rows."""
        if self.layout.tasks == 1 or not self.serves:
            return self
        return replace(self, counted=unadapted(self.counted, self.layout.tasks))

    def bound(
        self,
        sight: Sight,
        cores: int,
        source: SourceSpec,
        batch_id: int,
        objects: Sequence[LandedObject],
        opening: Opening,
    ) -> Prepared | None:
        """The same for another micro-batch of its shape, unless that has a hot partition."""
        spark = self.counted.sparkSession
        files = scanned(spark, source, [spark_reads(item) for item in objects], sight)
        self.objects.tell(source, objects, batch_id)
        layout = Layout(self.layout.tasks, self.layout.bits)
        if self.sizes is not None:
            layout = place(unadapted(bound(self.sizes, (files,)), 1), layout, cores)
            if layout.hot:
                return None
            self.placed.tell(layout.placed)
        before = known_before(spark, layout, opening, source.timestamp_by is not None)
        self.start.set(opening.unseen.watermark)
        self.tally.begin([item.uri for item in objects])
        return replace(self, counted=bound(self.counted, (files, before)), layout=layout)


def bound(plan: DataFrame, leaves: Sequence[DataFrame]) -> DataFrame:
    """The rows of a plan over these leaves, of which it has each once, in the place of its own."""
    spark = plan.sparkSession
    jvm, gateway = spark.sparkContext._jvm, spark.sparkContext._gateway
    if jvm is None or gateway is None:
        raise RuntimeError("no Spark session is open")
    listed = ListConverter().convert([leaf._jdf for leaf in leaves], gateway._gateway_client)
    return DataFrame(jvm.tidemark.Prepared.bound(spark._jsparkSession, plan._jdf, listed), spark)


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


_PLANS: WeakKeyDictionary[SparkContext, Plans[Shape, Prepared]] = WeakKeyDictionary()


@contextmanager
def prepared(
    spark: SparkSession,
    shape: Shape | None,
    cores: int,
    source: SourceSpec,
    batch_id: int,
    objects: Sequence[LandedObject],
    opening: Opening,
    build: Callable[[], AbstractContextManager[Prepared]],
) -> Iterator[Prepared]:
    """The plan of a micro-batch for one job on so many cores: one that is kept for its shape, or else a new one,
    which is kept if it serves others and the job succeeds."""
    if shape is None:
        with build() as plan:
            yield plan
        return
    plans = _PLANS.setdefault(spark.sparkContext, Plans())
    known = plans.take(shape)
    again = None
    if known is not None:
        spark.conf.set(PARTITIONS, str(known.layout.tasks))
        again = known.bound(shape.sight, cores, source, batch_id, objects, opening)
    with build() if again is None else nullcontext(again) as plan:
        yield plan.planned()
    if plan.serves:
        plans.put(shape, plan)


def shape_of(
    source: SourceSpec,
    objects: Sequence[LandedObject],
    opening: Opening,
    damaged: Mapping[str, str],
    sights: Mapping[str, Sight],
    limits: tuple[int, int],
) -> Shape | None:
    """The shape of a micro-batch; None: its plan follows from more than that (objects of several kinds or that cannot
    be read, tables that substreams, edges and what is imported are looked up in)."""
    kinds = set(sights.values())
    looked_up = source.over or source.lifetimes.edges or opening.imported is not None
    if looked_up or damaged or len(kinds) != 1 or len(objects) > MOST_OBJECTS:
        return None
    sight = kinds.pop()
    return Shape(source, sight, opening.read_from, limits) if sight.refusal is None else None
