"""Computes recorded micro-batches again and compares, writing nothing (time rules: replay)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject, ObjectState, stored_uri
from tidemark.core.batch_result import NEWEST, Outcome
from tidemark.core.watermarks import PartitionState, Seen
from tidemark.spark.columns import OBJECT
from tidemark.spark.digests import measured, row_hash
from tidemark.spark.judge import seen, substreams
from tidemark.spark.judge.engine import Engine
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.partitioning.layout import sampled_share
from tidemark.spark.read import unreadable
from tidemark.spark.read.format import UNREADABLE
from tidemark.spark.read.formats import look_at
from tidemark.spark.read.landed_rows import read_rows, rows_of_events
from tidemark.spark.tables import delta

MOST_DIFFERENCES = 20
_SHOWN = ("_event_time", "_arrival_time", "_system_timestamp", "_disposition", "_reasons", "_watermark", "_file")


@dataclass(frozen=True)
class RecordedBatch:
    """One source's part of a recorded batch, with its objects as taken, the states recorded `after` it, and the
    digest version of each table."""

    batch: MicroBatch
    after: Mapping[str, PartitionState]
    versions: Mapping[str, int] = field(default_factory=dict)

    def version(self, table: str) -> int:
        """The version of a table's recorded digest."""
        return self.versions.get(table, NEWEST)


def in_landing(objects: Sequence[LandedObject]) -> bool:
    """True if every object that was read is still in landing, unchanged."""
    return not unreadable.gone([item for item in objects if item.state is not ObjectState.VANISHED])


class Recomputed:
    """One source's part of a batch, computed again. Rows that are read several times are persisted until `close`."""

    def __init__(self, engine: Engine, part: RecordedBatch, from_landing: bool) -> None:
        self.engine, self.part, self.from_landing = engine, part, from_landing
        taken = [item for item in part.batch.objects if item.state is not ObjectState.VANISHED]
        self.batch = replace(part.batch, objects=taken)
        location = engine.location(self.batch.events)
        self.skipped: dict[str, Seen] = {}
        self.recorded = delta.slice_of(engine.spark, location, self.batch.number) if delta.exists(location) else None
        sample = None
        if from_landing:
            rows, sample = self._landed(taken)
        else:
            self.skipped = self._skipped_then()
            self.batch = replace(self.batch, opening=replace(self.batch.opening, read_from=None))
            rows = rows_of_events(engine.spark, self.batch.source, self._events(), taken)
        self.counted = engine.rejudge(self.batch, rows, from_events=not from_landing, sample=sample)
        if _read_again(self.batch.source, self.batch.opening):
            self.counted.persist()
        self.rows = self.counted.drop(OBJECT)

    def close(self) -> None:
        """Release the persisted rows."""
        self.counted.unpersist()

    def outcome(self) -> Outcome:
        """Digests and counts, computed as in the first run."""
        source, batch_id, taken = self.batch.source, self.batch.number, self.batch.objects
        counts = self.engine.count(source, self.counted, taken, self.part.version(self.batch.events))
        found = self.engine.report(self.batch, lambda: self.rows, counts, unreadable.Damage())
        digests = list(found.digests)
        if source.over and source.timestamp_by:
            changed = substreams.changed(self.rows, source.name, batch_id, source.policy.disorder)
            table = substreams.table_of(source.name)
            digests.append(measured(table, changed, self.part.version(table)))
        if source.deduplicate is not None:
            keys = seen.changed(self.rows, source, batch_id, found.partitions)
            table = seen.table_of(source.name)
            digests.append(measured(table, keys, self.part.version(table)))
        if source.lifetimes.edges:
            with self.engine.edges_of(source, batch_id, self.rows, taken) as lived:
                digests += lived.digests(self.part.versions)
            found = replace(found, left_open=lived.left_open)
        return replace(found, digests=tuple(digests), skipped=found.skipped or self.skipped)

    def differences(self) -> Iterator[str]:
        """Sentences about up to `MOST_DIFFERENCES` rows of the events table that differ."""
        keys = ["_partition", "_offset"]
        now = self.rows.select(*keys, *_SHOWN, row_hash(self.rows).alias("hash")).alias("now")
        then = self._events().select(*keys, *_SHOWN, row_hash(self._events()).alias("hash")).alias("then")
        joined = now.join(then, keys, "full_outer").where(~F.col("now.hash").eqNullSafe(F.col("then.hash")))
        shown = [
            F.struct(*[F.col(f"{side}.{name}").alias(name) for name in _SHOWN]).alias(side)
            for side in ("then", "now")
        ]
        there = [F.col(f"{side}.hash").isNotNull().alias(f"in_{side}") for side in ("then", "now")]
        for row in joined.select(*keys, *shown, *there).orderBy(*keys).limit(MOST_DIFFERENCES).collect():
            where = f"partition {row['_partition']}, offset {row['_offset']}"
            if not row["in_now"]:
                yield f"{where}: recorded, but not computed now"
                continue
            if not row["in_then"]:
                yield f"{where}: computed now, but not recorded"
                continue
            changed = [name for name in _SHOWN if row["then"][name] != row["now"][name]]
            texts = [f"{name} was {row['then'][name]}, is {row['now'][name]}" for name in changed]
            yield f"{where}: {'; '.join(texts) or 'payload differs'}"

    def _events(self) -> DataFrame:
        if self.recorded is None:
            return self.rows.limit(0)
        names = [column.name for column in self.batch.source.columns]
        fixed = [name for name in self.recorded.columns if name.startswith("_") and name not in names]
        return self.recorded.select(*fixed, *map(delta.quoted, names))

    def _landed(self, taken: Sequence[LandedObject]) -> tuple[DataFrame, DataFrame | None]:
        """Rows as they are in landing now, and a sample of them if one is worth its cost, else None."""
        source, notes = self.batch.source, self._notes(taken)
        sights = look_at(source, [item for item in taken if item.uri not in notes])
        share = sampled_share(source, self.batch.size, self.batch.opening)
        shares = [1.0] if share is None else [1.0, share]
        rows, *sample = (read_rows(self.engine.spark, source, taken, notes, each, sights) for each in shares)
        return rows, sample[0] if sample else None

    def _notes(self, taken: Sequence[LandedObject]) -> dict[str, str]:
        """By URI, the recorded reason why an object that was quarantined whole could not be read."""
        whole = {stored_uri(item.uri): item.uri for item in taken if item.state is ObjectState.QUARANTINED}
        if not whole or self.recorded is None:
            return dict.fromkeys(whole.values(), "")
        found = self.recorded.where(F.col("_file").isin(list(whole))).select("_file", "_raw").collect()
        notes = {whole[row["_file"]]: row["_raw"].removeprefix(UNREADABLE) for row in found}
        return dict.fromkeys(whole.values(), "") | notes

    def _skipped_then(self) -> dict[str, Seen]:
        """By partition, rows that `start` skipped in the recorded batch. They are in no table: their number follows
        from offsets."""
        if self.batch.opening.read_from is None or self.recorded is None:
            return {}
        rows = {row[0]: row[1] for row in self.recorded.groupBy("_partition").count().collect()}
        skipped = {}
        for name, state in self.part.after.items():
            before = self.batch.opening.states.get(name, self.batch.opening.unseen)
            count = state.next_offset - before.next_offset - rows.get(name, 0)
            if count:
                skipped[name] = Seen(count, state.last_arrival, None)
        return skipped


def _read_again(source: SourceSpec, opening: Opening) -> bool:
    """True if the counted rows are read once more: for substreams, keys, edges, punctuations, rows that `start`
    skipped, or arrivals before an estimate that was already used. Persisting costs about as much as writing."""
    used = source.policy.late is not None and any(
        state.estimated_high is not None for state in opening.states.values()
    )
    keyed = bool(source.over and source.timestamp_by) or source.deduplicate is not None
    return keyed or used or source.lifetimes.edges or source.punctuated is not None or opening.read_from is not None
