"""Merges a slice into a version: rows and outputs of a range of times, in one commit a table.

A row takes its new fate if its old or its new time lies in the range; else it keeps the old one. An output is
replaced if it ends in the range. A table without a difference is not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.core.advance import States
from tidemark.core.backfill.ranges import Range
from tidemark.core.batch_result import TableDigest
from tidemark.core.policy import Reason
from tidemark.records.versions import RowsDifference
from tidemark.spark.digests import HIGH, LOW, ROWS, digest_columns, row_hash, table_digest
from tidemark.spark.judge.events import PARTITION_COLUMN
from tidemark.spark.rebuild.comparison import (
    DIFFERENCE,
    FATE,
    REPORTED,
    any_of,
    content_of,
    in_range,
    without,
)
from tidemark.spark.rebuild.truncate import write_all_seen
from tidemark.spark.streams.paths import paths_into
from tidemark.spark.streams.writer import STATISTICS
from tidemark.spark.tables import delta
from tidemark.spark.tables.delta import quoted
from tidemark.spark.times import timestamp_of
from tidemark.storage import Location

_PUT = (*FATE, "_raw")
"""Columns that are replaced in a row with a new fate."""
_KEYS = ("_partition", "_offset")
_OLD, _NEW = "__tidemark_old", "__tidemark_new"
_FROM, _TO = "T0", "T1"
_SIDE = "_difference"
"""Column that says from which side a recorded output is: `before` or `after`."""
_ABOUT = (PARTITION_COLUMN, "_batch_id", "_event_time", "_arrival_time")


@dataclass(frozen=True)
class ChangedRows:
    """Rows of a source that take a new fate, persisted until released: `_partition`, `_offset`, day, batch and both
    fates. `days` and `batches` have such rows. `reported` is the number of rows that differ in columns of
    `REPORTED`."""

    rows: DataFrame
    days: tuple[str, ...]
    batches: tuple[int, ...]
    reported: int


@dataclass(frozen=True)
class ChangedTable:
    """Changes of a table of outputs: the numbers of rows that are `gone` and `new`, and the `first` and `last` batch
    with outputs that were compared."""

    gone: int
    new: int
    first: int
    last: int


@dataclass(frozen=True)
class TableMerge:
    """Compares the tables of `base` with the tables of `slice` and merges the differences into `target`, a clone of
    the base. Outputs that the slice has after batch `last` count as outputs of that batch."""

    spark: SparkSession
    base: Location
    slice: Location
    target: Location
    asked: Range
    last: int
    kept: list[DataFrame] = field(default_factory=list)

    def rows(self, source: SourceSpec, old: DataFrame | None, *, anew: bool) -> ChangedRows | None:
        """Rows of `old` (the base's rows of the slice) that take a new fate; None if there are none. `anew`: the
        source has new rules, so that a changed watermark counts, too. Rows without an old time that are now excluded
        count outside the range, too: no output is made of them."""
        new = self._table(self.slice, f"events/{source.name}")
        if new is None or old is None:
            return None
        known = old.select(*_KEYS, *_ABOUT, F.struct(*_PUT).alias(_OLD))
        judged = new.select(*_KEYS, F.struct(*_PUT).alias(_NEW))
        ours = [in_range(F.col(side)["_system_timestamp"], self.asked) for side in (_OLD, _NEW)]
        out = F.array_contains(F.col(_NEW)["_reasons"], Reason.EXCLUDED.value)
        ours.append(out & F.col(_OLD)["_system_timestamp"].isNull())
        counts = FATE if anew else REPORTED
        differs = [~F.col(_OLD)[name].eqNullSafe(F.col(_NEW)[name]) for name in counts]
        found = known.join(judged, list(_KEYS)).where(any_of(ours) & any_of(differs)).persist()
        self.kept.append(found)
        reported = F.count_if(any_of(differs[: len(REPORTED)]))
        days = found.groupBy(PARTITION_COLUMN, "_batch_id").agg(reported).collect()
        if not days:
            return None
        dates = tuple(sorted({str(row[0]) for row in days}))
        return ChangedRows(found, dates, tuple(sorted({row[1] for row in days})), sum(row[2] for row in days))

    def put_rows(self, source: SourceSpec, changed: ChangedRows) -> None:
        """Rewrite the days that have changed rows, in one commit."""
        location = str(self.target / f"events/{source.name}")
        whole = self.spark.read.format("delta").load(location)
        dates = ", ".join(f"'{day}'" for day in changed.days)
        days = whole.where(f"{PARTITION_COLUMN} IN ({dates})")
        joined = days.join(changed.rows.select(*_KEYS, _NEW), list(_KEYS), "left")
        hit = F.col(_NEW).isNotNull()
        fates = {name: F.when(hit, F.col(_NEW)[name]).otherwise(F.col(name)) for name in _PUT}
        columns = [fates[name].alias(name) if name in fates else quoted(name) for name in whole.columns]
        merged = joined.select(*columns).repartitionByRange(F.col(PARTITION_COLUMN), F.col("_batch_id"))
        _replace(merged, location, f"{PARTITION_COLUMN} IN ({dates})")

    def record_rows(self, source: str, changed: ChangedRows) -> RowsDifference:
        """Record the changed rows with both fates. Returns their number, in all and by pair of fates, and how many
        cross an end of the range."""
        old, new = F.col(_OLD), F.col(_NEW)
        differs = any_of([~old[name].eqNullSafe(new[name]) for name in REPORTED])
        inside = [F.coalesce(in_range(side["_system_timestamp"], self.asked), F.lit(False)) for side in (old, new)]
        stamps = [F.unix_micros(side["_system_timestamp"]) for side in (old, new)]
        both = stamps[0].isNotNull() & stamps[1].isNotNull() & (inside[0] != inside[1])
        before = F.least(*stamps) < self.asked.begin
        sides = [
            side[name].alias(f"{name}_{when}") for side, when in ((old, "before"), (new, "after")) for name in FATE
        ]
        recorded = changed.rows.where(differs).select(
            F.lit(source).alias("_source"),
            *_KEYS,
            *[name for name in _ABOUT if name != PARTITION_COLUMN],
            *sides,
            F.when(both, F.when(before, _FROM).otherwise(_TO)).alias("_crosses"),
        )
        recorded.write.format("delta").mode("append").save(str(self.target / DIFFERENCE / "rows"))
        ways = changed.rows.where(differs).groupBy(
            old["_disposition"].alias("before"), new["_disposition"].alias("after")
        )
        moves = ways.agg(F.count("*").alias("rows"), F.count_if(both).alias("crossing")).collect()
        return {
            "changed": sum(row["rows"] for row in moves),
            "crossing": sum(row["crossing"] for row in moves),
            "fates": {f"{row['before']} -> {row['after']}": row["rows"] for row in moves},
        }

    def outputs(self, table: str, changed: DataFrame | None, passed: int | None) -> ChangedTable | None:
        """Replace the outputs of the range by the slice's; None if nothing differs. `changed` has the rows with a new
        fate if the stream has one source (`of_one`). Their outputs are also replaced outside the range if they end at
        or before `passed`, the time that later runs take as passed (None: wherever they end)."""
        old, new = self._table(self.base, table), self._table(self.slice, table)
        if new is not None:
            new = new.withColumn("_batch_id", F.least("_batch_id", F.lit(self.last)))
        gone = None if old is None else self._ours(table, old, changed, passed)
        come = None if new is None else self._ours(table, new, changed, passed)
        was, will = content_of(gone), content_of(come)
        if was.digest == will.digest:
            return None
        counts = self._record_outputs(table, without(gone, come), without(come, gone))
        batches = [number for each in (was, will) for number in each.batches]
        first, last = min(batches), max(batches)
        if old is not None:  # its log may have the batch already, though no row: an append would be skipped
            between = F.col("_batch_id").between(first, last)
            stays = self._others(table, old.where(between), changed)
            whole = stays if come is None else stays.unionByName(come, allowMissingColumns=True)
            condition = f"_batch_id >= {first} AND _batch_id <= {last}"
            _replace(whole.select(*map(quoted, old.columns)), str(self.target / table), condition)
        elif come is not None:
            delta.append(come, str(self.target / table), self.last, statistics=_statistics(come))
        return ChangedTable(counts[0], counts[1], first, last)

    def excluded(self, source: str, objects: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        """By stored URI: the number of an object's rows in the version, and how many of them are excluded. `objects`
        maps URIs to the batches that took them."""
        rows = self._table(self.target, f"events/{source}")
        if rows is None:
            return {}
        mine = rows.where(F.col("_batch_id").isin(*objects.values()) & F.col("_file").isin(*objects))
        out = F.count_if(F.array_contains("_reasons", Reason.EXCLUDED.value))
        return {row[0]: (row[1], row[2]) for row in mine.groupBy("_file").agg(F.count("*"), out).collect()}

    def put_substreams(self, first: int) -> None:
        """Replace the substreams' watermarks of batches from `first` on by the slice's."""
        old, new = self._table(self.base, "substreams"), self._table(self.slice, "substreams")
        if new is None:
            return
        whole = new if old is None else old.where(F.col("batch_id") < first).unionByName(new)
        whole.write.format("delta").mode("overwrite").save(str(self.target / "substreams"))

    def put_seen(self, sources: Mapping[str, SourceSpec], states: States, before: int) -> None:
        """Replace the remembered keys by keys computed from the version's events of batches before `before`."""
        write_all_seen(self.spark, self.target, sources, states, before)

    def digests(self, table: str, first: int, last: int) -> dict[int, TableDigest]:
        """Digest of each batch's present rows in a table; batches without rows are left out."""
        rows = self._table(self.target, table)
        if rows is None:
            return {}
        mine = rows.where(F.col("_batch_id").between(first, last))
        found = mine.groupBy("_batch_id").agg(*digest_columns(row_hash(mine))).collect()
        return {row["_batch_id"]: table_digest(table, row[ROWS], row[LOW], row[HIGH]) for row in found}

    def release(self) -> None:
        """Release the persisted rows."""
        for rows in self.kept:
            rows.unpersist()

    def of_one(self, spec: PipelineSpec, stream: str) -> str | None:
        """The source whose rows a stream passes on one to one, so that partition and offset identify an output; None
        if there is none."""
        step = spec.streams[stream]
        paths = paths_into(spec, step)
        while len(paths) == 1 and paths[0].preceding and paths[0].lasts is None:
            paths = paths[0].below(spec)
        if step.windowed or len(paths) != 1 or paths[0].joined or paths[0].windowed or not paths[0].points(spec):
            return None
        return paths[0].origin

    def _ours(self, table: str, rows: DataFrame, changed: DataFrame | None, passed: int | None) -> DataFrame:
        """Outputs that end in the range, and outputs of rows with a new fate."""
        ours = rows.where(self._ends(table))
        if changed is None:
            return ours
        keys = changed.select(*_KEYS)
        due = F.lit(True) if passed is None else F.col("_end_time") <= timestamp_of(passed)
        outside = rows.where(~self._ends(table) & due).join(keys, list(_KEYS), "left_semi")
        return ours.unionByName(outside.select(*map(quoted, rows.columns)))

    def _others(self, table: str, rows: DataFrame, changed: DataFrame | None) -> DataFrame:
        others = rows.where(~self._ends(table))
        if changed is None:
            return others
        left = others.join(changed.select(*_KEYS), list(_KEYS), "left_anti")
        return left.select(*map(quoted, rows.columns))

    def _ends(self, table: str) -> Column:
        """True if an output ends in the range. An output without an end does so if the range has no end."""
        windowed = "_window_end" in self._columns(table)
        end = F.col("_window_end" if windowed else "_end_time")
        after = end > timestamp_of(self.asked.begin)
        if self.asked.end is None:
            return F.coalesce(after, F.lit(True))
        return F.coalesce(after & (end <= timestamp_of(self.asked.end)), F.lit(False))

    def _columns(self, table: str) -> list[str]:
        for location in (self.base, self.slice):
            found = self._table(location, table)
            if found is not None:
                return found.columns
        return []

    def _record_outputs(self, table: str, lost: DataFrame | None, made: DataFrame | None) -> tuple[int, int]:
        """Record outputs that are gone and outputs that are new. Returns the number of each."""
        sides = [
            rows.withColumn(_SIDE, F.lit(change))
            for change, rows in (("before", lost), ("after", made))
            if rows is not None
        ]
        both = sides[0] if len(sides) == 1 else sides[0].unionByName(sides[1], allowMissingColumns=True)
        new = F.col(_SIDE) == "after"
        location = str(self.target / DIFFERENCE / table)
        written = delta.append_measured(both, location, self.last, table, matching=new)
        if written is None:
            raise RuntimeError(f"the difference of {table} is recorded already")
        return written.digest.rows - written.matching, written.matching

    def _table(self, root: Location, table: str) -> DataFrame | None:
        location = str(root / table)
        return self.spark.read.format("delta").load(location) if delta.exists(location) else None


def _replace(rows: DataFrame, location: str, condition: str) -> None:
    rows.write.format("delta").mode("overwrite").option("replaceWhere", condition).save(location)


def _statistics(rows: DataFrame) -> str:
    return ",".join(name for name in STATISTICS.split(",") if name in rows.columns)
