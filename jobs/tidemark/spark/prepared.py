"""Plans of micro-batches that are built once and then bound, as a database prepares statements.

Building a plan takes some thousand calls of the JVM, which analyzes it at each step: longer than judging a few
thousand rows takes. Micro-batches of one shape differ in their leaves alone (the files and a small frame of what is
known of partitions) and in what is told to tasks as a job begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
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
from tidemark.spark.layout import Layout
from tidemark.spark.objects import Objects
from tidemark.spark.s3a import spark_reads
from tidemark.spark.sight import Sight
from tidemark.spark.spread import known_before
from tidemark.spark.tally import Tally

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
    """All that the plan of a micro-batch follows from, besides its leaves and where unseen partitions start."""

    source: SourceSpec
    sight: Sight
    read_from: int | None
    most: int


@dataclass(frozen=True)
class Prepared:
    """A plan of event rows that are counted as they pass, and what is told to it as a job begins."""

    counted: DataFrame
    tally: Tally
    start: JavaObject
    objects: Objects

    def bound(
        self, sight: Sight, source: SourceSpec, batch_id: int, objects: Sequence[LandedObject], opening: Opening
    ) -> Prepared:
        """The same for another micro-batch of its shape."""
        spark = self.counted.sparkSession
        leaves = (
            scanned(spark, source, [spark_reads(item) for item in objects], sight),
            known_before(spark, Layout(1), opening, source.timestamp_by is not None),
        )
        self.start.set(opening.unseen.watermark)
        self.objects.tell(source, objects, batch_id)
        self.tally.begin([item.uri for item in objects])
        return Prepared(bound(self.counted, leaves), self.tally, self.start, self.objects)


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
    source: SourceSpec,
    batch_id: int,
    objects: Sequence[LandedObject],
    opening: Opening,
    build: Callable[[], AbstractContextManager[Prepared]],
) -> Iterator[Prepared]:
    """The plan of a micro-batch for one job: one that is kept for its shape, or else a new one, which is kept if the
    job succeeds."""
    if shape is None:
        with build() as plan:
            yield plan
        return
    plans = _PLANS.setdefault(spark.sparkContext, Plans())
    known = plans.take(shape)
    if known is None:
        with build() as plan:
            yield plan
    else:
        spark.conf.set(PARTITIONS, "1")
        plan = known.bound(shape.sight, source, batch_id, objects, opening)
        yield plan
    plans.put(shape, plan)


def shape_of(
    source: SourceSpec,
    objects: Sequence[LandedObject],
    opening: Opening,
    damaged: Mapping[str, str],
    sights: Mapping[str, Sight],
    most: int,
) -> Shape | None:
    """The shape of a micro-batch that one task judges; None: its plan follows from more than that (objects of several
    kinds or that cannot be read, tables that substreams, edges and what is imported are looked up in)."""
    kinds = set(sights.values())
    looked_up = source.over or source.lifetimes.edges or opening.imported is not None
    if looked_up or damaged or len(kinds) != 1 or len(objects) > MOST_OBJECTS:
        return None
    sight = kinds.pop()
    return Shape(source, sight, opening.read_from, most) if sight.refusal is None else None
