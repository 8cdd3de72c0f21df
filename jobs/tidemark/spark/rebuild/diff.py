"""Finds differences between two versions whose rows may have other offsets: rows are matched by their content.

Rows match if partition, object and payload are equal. Of several equal rows, the first of one version matches the
first of the other, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.core.policy import Fate, Reason
from tidemark.records.versions import DifferenceRecord, ExcludedObject, OutputDifference, RowsDifference
from tidemark.spark.rebuild.comparison import DIFFERENCE, FATE, RANK, REPORTED, SAME, missing
from tidemark.spark.tables import delta
from tidemark.spark.tables.delta import quoted
from tidemark.storage import Location

_NUMBERS = ("_batch_id", "_offset")
_OLD, _NEW = "__tidemark_old", "__tidemark_new"
_ABOUT = ("_partition", "_file", "_offset", "_batch_id", "_event_time", "_arrival_time", *FATE)


@dataclass(frozen=True)
class Contrast:
    """Compares the rows of batches from `first` on in `base` and `target`. Differences are written beside the tables
    of the target. `begin` is the first time of the range, microseconds."""

    spark: SparkSession
    base: Location
    target: Location
    first: int
    begin: int

    def find(self, spec: PipelineSpec) -> DifferenceRecord:
        """Differences by kind and name; names without any are left out."""
        rows = {name: changed for name, source in spec.sources.items() if (changed := self._rows(source))}
        published = [name for name, step in spec.streams.items() if step.published]
        windowed = [name for name in published if spec.streams[name].windowed]
        streams = {name: found for name in published if (found := self._outputs(f"streams/{name}"))}
        letters = {name: found for name in windowed if (found := self._outputs(f"dead_letters/{name}"))}
        return {"rows": rows, "streams": streams, "dead_letters": letters}

    def excluded(self, objects: Mapping[str, Mapping[str, int]]) -> list[ExcludedObject]:
        """Per excluded object: the number of its rows in the target, and as `left` how many of them are not
        excluded."""
        found: list[ExcludedObject] = []
        for name, mine in objects.items():
            rows = self._brought(self.target, f"events/{name}", 1)
            if rows is None:
                continue
            out = F.count_if(F.array_contains("_reasons", Reason.EXCLUDED.value))
            whole = rows.where(F.col("_file").isin(*mine)).groupBy("_file").agg(F.count("*"), out)
            found += [
                {"source": name, "uri": row[0], "rows": row[1], "left": row[1] - row[2]}
                for row in sorted(whole.collect())
            ]
        return found

    def _rows(self, source: SourceSpec) -> RowsDifference | None:
        sides = [
            self._brought(location, f"events/{source.name}", self.first) for location in (self.base, self.target)
        ]
        kinds = [{} if side is None else {field.name: field.dataType for field in side.schema} for side in sides]
        known = [each for each in kinds if each]
        if not known:
            return None
        names = [column.name for column in source.columns]
        payload = [name for name in names if all(each.get(name) == known[0].get(name) for each in known)]
        old, new = (
            None if side is None else _numbered(side, payload, which)
            for side, which in zip(sides, (_OLD, _NEW), strict=True)
        )
        keys = [SAME, RANK]
        if old is not None and new is not None:
            both = old.join(new, keys, "full_outer")
        elif old is not None:
            both = old.withColumn(_NEW, F.lit(None).cast(old.schema[_OLD].dataType))
        elif new is not None:
            both = new.withColumn(_OLD, F.lit(None).cast(new.schema[_NEW].dataType))
        return self._changed(source.name, both)

    def _changed(self, name: str, both: DataFrame) -> RowsDifference | None:
        old, new = F.col(_OLD), F.col(_NEW)
        differs = reduce(or_, [~old[each].eqNullSafe(new[each]) for each in ("_disposition", *REPORTED)])
        found = both.where(differs).persist()
        try:
            before = [F.unix_micros(side["_system_timestamp"]) < self.begin for side in (old, new)]
            crossing = F.coalesce(before[0] != before[1], F.lit(False))
            ways = found.groupBy(
                F.coalesce(old["_disposition"], F.lit("not there")).alias("before"),
                F.coalesce(new["_disposition"], F.lit("not there")).alias("after"),
            )
            moves = ways.agg(F.count("*").alias("rows"), F.count_if(crossing).alias("crossing")).collect()
            if not moves:
                return None
            self._keep(name, found, crossing)
        finally:
            found.unpersist()
        return {
            "changed": sum(row["rows"] for row in moves),
            "crossing": sum(row["crossing"] for row in moves),
            "fates": {f"{row['before']} -> {row['after']}": row["rows"] for row in sorted(moves)},
        }

    def _keep(self, name: str, found: DataFrame, crossing: Column) -> None:
        """Record the rows that differ, with both fates. Their other columns come from the target, or from the base if
        only the base has the row."""
        old, new = F.col(_OLD), F.col(_NEW)
        about = [F.coalesce(new[each], old[each]).alias(each) for each in _ABOUT if each not in FATE]
        sides = [
            side[each].alias(f"{each}_{when}") for side, when in ((old, "before"), (new, "after")) for each in FATE
        ]
        recorded = found.select(
            F.lit(name).alias("_source"), *about, *sides, F.when(crossing, F.lit("T0")).alias("_crosses")
        )
        location = str(self.target / DIFFERENCE / "rows")
        recorded.write.format("delta").mode("append").option("mergeSchema", "true").save(location)

    def _outputs(self, table: str) -> OutputDifference | None:
        sides = [self._brought(location, table, self.first) for location in (self.base, self.target)]
        known = [side for side in sides if side is not None]
        if not known:
            return None
        names = [each for each in known[0].columns if each not in _NUMBERS and all(each in s.columns for s in known)]
        old, new = (
            known[0].limit(0).select(*map(quoted, names)) if side is None else side.select(*map(quoted, names))
            for side in sides
        )
        changes = {"before": missing(old, new), "after": missing(new, old)}
        counts = [0, 0]
        for number, (change, rows) in enumerate(changes.items()):
            counts[number] = rows.count()
            if counts[number]:
                location = str(self.target / DIFFERENCE / table)
                recorded = rows.withColumn("_difference", F.lit(change))
                recorded.write.format("delta").mode("append").option("mergeSchema", "true").save(location)
        return {"gone": counts[0], "new": counts[1]} if any(counts) else None

    def _brought(self, root: Location, table: str, first: int) -> DataFrame | None:
        location = str(root / table)
        if not delta.exists(location):
            return None
        return self.spark.read.format("delta").load(location).where(F.col("_batch_id") >= first)


def _numbered(rows: DataFrame, payload: list[str], which: str) -> DataFrame:
    """Event rows as three columns: a hash of their content, their rank among rows with equal content, and a struct
    named `which` of the columns that are compared or recorded."""
    out = F.array_contains("_reasons", Reason.EXCLUDED.value)
    broken = (F.col("_disposition") == Fate.QUARANTINED.value) & ~F.coalesce(out, F.lit(False))
    text = F.when(broken, F.col("_raw"))
    same = F.to_json(
        F.struct("_partition", "_file", text.alias("_raw"), *map(quoted, payload)), {"ignoreNullFields": "false"}
    )
    order = Window.partitionBy(SAME).orderBy("_offset")
    about = F.struct(*_ABOUT).alias(which)
    return rows.select(F.sha2(same, 256).alias(SAME), "_offset", about).select(
        SAME, F.row_number().over(order).alias(RANK), which
    )
