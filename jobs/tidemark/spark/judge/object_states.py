"""Final states of a batch's objects once its rows are written, and counts of rows that `start` skips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject, ObjectState, stored_uri
from tidemark.core.watermarks import Seen
from tidemark.spark.columns import ARRIVAL, PARTITION, SKIPPED
from tidemark.spark.judge.judge import stage
from tidemark.spark.judge.recovery import skipped_by_offsets
from tidemark.spark.partitioning.layout import Layout
from tidemark.spark.read import unreadable
from tidemark.spark.read.landed_rows import read_rows
from tidemark.spark.read.unreadable import Damage
from tidemark.storage import tag_of


def judged_objects(
    objects: Sequence[LandedObject], rows: Mapping[str, tuple[int, bool]], found: Damage
) -> tuple[LandedObject, ...]:
    """Objects with their number of rows and their state: read, quarantined as a whole, or vanished.

    `rows` gives, by stored URI, the number of rows and True if the object was quarantined as a whole.
    """
    judged = []
    for item in objects:
        count, whole = rows.get(stored_uri(item.uri), (0, item.uri in found.unreadable))
        state = ObjectState.QUARANTINED if whole else ObjectState.READ
        if not count and (item.uri in found.gone or tag_of(item.path) is None):
            state = ObjectState.VANISHED
        judged.append(replace(item, state=state, rows=count))
    return tuple(judged)


def skipped_rows(
    spark: SparkSession,
    source: SourceSpec,
    kept: Callable[[], DataFrame] | None,
    objects: Sequence[LandedObject],
    opening: Opening,
) -> dict[str, Seen]:
    """Count rows before `start` by partition. They are in no table, but their offsets and arrivals count."""
    left = [item for item in objects if item.state is not ObjectState.VANISHED]
    if opening.read_from is None or not left:
        return {}
    if unreadable.gone(left):
        return skipped_by_offsets(kept() if kept else None, opening)
    damaged = {item.uri: "" for item in left if item.state is ObjectState.QUARANTINED}
    rows = read_rows(spark, source, left, damaged)
    skipped = stage(rows, source, opening, Layout(1)).where(SKIPPED)
    found = skipped.groupBy(PARTITION).agg(F.count("*"), F.max(ARRIVAL)).collect()
    return {row[0]: Seen(row[1], row[2], None) for row in found}
