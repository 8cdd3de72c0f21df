"""Reports members and columns that rows and files have but the schema lacks; they are not read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject, ObjectState, stored_uri
from tidemark.core.batch_result import Diagnostic, Finding, FindingSample
from tidemark.spark.columns import BAD, BEYOND, OBJECT, REST, SKIPPED
from tidemark.spark.judge.judge import stage
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.partitioning.layout import Layout
from tidemark.spark.read.format import Sight
from tidemark.spark.read.formats import look_at
from tidemark.spark.read.landed_rows import read_rows
from tidemark.spark.read.unreadable import gone
from tidemark.spark.tables.fate_counter import Counts, Unknown

_MOST = 20
"""Most names that are kept and shown."""
_LONGEST = 80
"""Most characters of a name that are shown."""


def of_files(counts: Counts, objects: Sequence[LandedObject], sights: Mapping[str, Sight]) -> Counts:
    """Add to `counts` the rows of files with columns that the schema lacks, by column name; unchanged without any."""
    beyond = [(stored_uri(item.uri), sights[item.uri].beyond) for item in objects if item.uri in sights]
    rows = {uri: counts.files.get(uri, (0, False))[0] for uri, names in beyond if names}
    found = [(uri, names, rows[uri]) for uri, names in beyond if rows.get(uri)]
    if not found:
        return counts
    names: Counter[str] = Counter()
    for _, each, count in found:
        names.update(dict.fromkeys(each, count))
    kept = dict(islice(sorted(names.items()), _MOST))
    unknown = Unknown(sum(rows.values()), found[0][0], found[-1][0], kept, len(names) > _MOST)
    return replace(counts, unknown=unknown)


def counted_again(spark: SparkSession, batch: MicroBatch, judged: Sequence[LandedObject], counts: Counts) -> Counts:
    """Add members and columns that the schema lacks to the counts of rows that were appended before.

    Events tables do not have them: the `judged` objects that are still unchanged in landing are read once more.
    """
    read = [item for item in judged if item.state is ObjectState.READ and item.rows]
    if batch.source.file_format.by_position or not read:
        return counts
    missing = gone(read)
    there = [item for item in read if item.uri not in missing]
    if not batch.source.counts_unknown:
        return of_files(counts, there, look_at(batch.source, there))
    return replace(counts, unknown=_unknown_in(spark, replace(batch, objects=there))) if there else counts


def unknown_columns(
    source: SourceSpec, unknown: Unknown | None, objects: Sequence[LandedObject]
) -> tuple[Finding, ...]:
    """A finding on rows with members or columns that the schema lacks; or no finding."""
    if unknown is None:
        return ()
    known = {stored_uri(item.uri): item for item in objects}
    first, last = known[unknown.first], known[unknown.last]
    return (
        Finding(
            source=source.name,
            partition=None,
            type=Diagnostic.UNKNOWN_COLUMNS,
            count=unknown.rows,
            first_time=first.modified,
            last_time=last.modified,
            sample=FindingSample(arrival_time=first.modified, file=first.uri),
            tolerance=None,
            message=_sentence(source, unknown),
        ),
    )


def _sentence(source: SourceSpec, unknown: Unknown) -> str:
    names = ", ".join(f"{_shown(name)} ({rows:,})" for name, rows in unknown.names.items())
    more = " and more" if unknown.more else ""
    if source.rescue is not None:
        return f"rows by members outside the schema, which are kept in {source.rescue}: {names}{more}"
    what, remedy = "columns", "declare a column for what you want to keep"
    if source.file_format.members:
        what, remedy = "members", f"{remedy}, or set `rescue`"
    return f"rows by {what} outside the schema, which are not read ({remedy}): {names}{more}"


def _shown(name: str) -> str:
    return json.dumps(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}...", ensure_ascii=False)


def _unknown_in(spark: SparkSession, batch: MicroBatch) -> Unknown | None:
    rows: DataFrame = read_rows(spark, batch.source, batch.objects)
    if batch.opening.read_from is not None:
        staged = stage(rows, batch.source, batch.opening, Layout(1)).where(~F.col(SKIPPED))
        rows = staged.withColumn(BEYOND, F.col(REST)[BEYOND])
    rows = rows.where(F.col(BAD).isNull() & F.col(BEYOND).isNotNull()).select(OBJECT, BEYOND)
    count, first, last = rows.agg(F.count("*"), F.min(OBJECT), F.max(OBJECT)).first() or (0, 0, 0)
    if not count:
        return None
    each = rows.select(F.explode(F.array_distinct(F.split(BEYOND, "\n"))).alias("name"))
    names = each.groupBy("name").count().orderBy("name").limit(_MOST + 1).collect()
    kept = {row["name"]: row["count"] for row in names[:_MOST]}
    ends = stored_uri(batch.objects[first].uri), stored_uri(batch.objects[last].uri)
    return Unknown(count, *ends, kept, len(names) > _MOST)
