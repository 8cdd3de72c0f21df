"""Infers from the appended events which damage a crashed attempt found.

An object without a row there was not found as planned, or is empty, or `start` skips all its rows. Only an object
that was not found must be taken again.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.core.advance import Opening
from tidemark.core.batch import stored_uri
from tidemark.core.watermarks import Seen
from tidemark.spark.columns import OBJECT, SKIPPED
from tidemark.spark.judge.judge import stage
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.partitioning.layout import Layout
from tidemark.spark.read import unreadable as damage
from tidemark.spark.read.landed_rows import read_rows
from tidemark.spark.read.unreadable import Damage
from tidemark.spark.tables import accounts


def found_then(spark: SparkSession, batch: MicroBatch, rows: DataFrame | None) -> Damage:
    """Damage among a micro-batch's objects that have no row in `rows`, the appended events (None: nothing was
    appended).

    An object that would have a row there if it had been read counts as gone. So it is taken again, and none of its
    rows is lost or doubled.
    """
    source, objects, opening = batch.source, batch.objects, batch.opening
    kept = {} if rows is None else accounts.rows_per_file(rows)
    silent = [item for item in objects if stored_uri(item.uri) not in kept]
    gone = damage.gone(silent)
    there = [item for item in silent if item.uri not in gone]
    if not there:
        return Damage({}, gone)
    unreadable = {item.uri: item.refusal for item in there if item.refusal is not None}
    unreadable |= damage.find_unreadable(spark, source, [item for item in there if item.refusal is None])
    rest = there
    if opening.read_from is not None:
        spoken = [item for item in objects if stored_uri(item.uri) in kept]
        if damage.gone(spoken):
            return Damage({}, frozenset(item.uri for item in silent))
        rest = [item for item in objects if item.uri not in gone]
        whole = {item.uri: "" for item in spoken if kept[stored_uri(item.uri)][1]}
        unreadable |= whole
    staged = stage(read_rows(spark, source, rest, unreadable), source, opening, Layout(1))
    with_rows = {row[0] for row in staged.where(~F.col(SKIPPED)).select(OBJECT).distinct().collect()}
    missed = {rest[rank].uri for rank in with_rows} & {item.uri for item in there}
    return Damage({uri: note for uri, note in unreadable.items() if uri not in missed}, gone | missed)


def skipped_by_offsets(rows: DataFrame | None, opening: Opening) -> dict[str, Seen]:
    """Count rows before `start` by partition: the offsets up to the last appended row that no appended row has.

    Partitions without an appended row are left out: their skipped rows count as never landed.
    """
    if rows is None:
        return {}
    skipped = {}
    for name, count, last in rows.groupBy("_partition").agg(F.count("*"), F.max("_offset")).collect():
        number = last + 1 - opening.states.get(name, opening.unseen).next_offset - count
        if number:
            skipped[name] = Seen(number, None, None)
    return skipped
