"""Rebuilds damaged tables: events from landing, everything else from events, each batch proven by its digest.

Nothing is thrown away: files that cannot be read are kept in `<pipeline>/damaged`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tidemark.commands.abandon import Abandonment
from tidemark.commands.repair.damage import DamagedTables
from tidemark.commands.repair.ledger_rows import MADE, LedgerRebuild
from tidemark.commands.repair.rewrite import rewritten
from tidemark.commands.replay import Replay
from tidemark.commands.versions import Backfilled, recorded_spec
from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.rules.imports import import_order
from tidemark.context import RunContext
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import BatchRecord, versions_of
from tidemark.core.stream_output import OUTPUTS
from tidemark.errors import UsageError
from tidemark.ledger.lost_commits import losses, must_know
from tidemark.ledger.tables import integrity, unfinished
from tidemark.ledger.tables.integrity import Corruption
from tidemark.ledger.tail import PLANNED
from tidemark.records.versions import RepairRecord, RewrittenTable
from tidemark.runner.executor import Before
from tidemark.runner.stream_progress import Ending, StreamProgress

if TYPE_CHECKING:
    from tidemark.spark.rebuild.repair import RepairedOutputs

_REPORTED_ONCE = ("quality", "diagnostics")
"""Small tables that later runs do not need: rows that cannot be made again are reported once, and runs go on."""
_SPARE = ("advice", "plans")
"""Small tables that are not needed while no run is pending: the next write creates them again."""
_STATE = ("substreams", "seen", "lifetimes", "open_lifetimes")
_COPY = "restore the folder from a copy"


@dataclass
class TableRepair:
    """One repair of the live version. No run can make `backfilled` batches again."""

    context: RunContext
    backfilled: Backfilled

    def __post_init__(self) -> None:
        self.live, self.replay = self.context.ledger, Replay(self.context, self.backfilled)
        self.tables = DamagedTables(self.context, self.backfilled)

    def repair(self) -> RepairRecord:
        """Check every table and rebuild the damaged ones. Returns the damage, the rebuilt rows and the remaining
        damage."""
        aside = Abandonment(self.context)
        for table in aside.withdraw_again(losses(self.live).values()):
            self.tables.rebuilt[table] = {"batches": [], "rows": 0, "input": "nothing"}
        damaged = self.tables.find()
        self._spare(damaged)
        self._batches(
            {name: damage for name, damage in damaged.items() if name.startswith("events/") or name in MADE}
        )
        self._report_once(damaged)
        self._state(damaged)
        self._published({name: damage for name, damage in damaged.items() if name.partition("/")[0] in OUTPUTS})
        rewritten = self._rewritten(damaged.keys() - self.tables.rebuilt.keys())
        unfinished.end(self.live.damaged, self.tables.missing)
        return {
            "repaired": [{"table": name, **rows} for name, rows in self.tables.rebuilt.items()],
            "rewritten": rewritten,
            "left": self.tables.left,
            "damaged": {name: str(damage) for name, damage in damaged.items()},
            "kept": str(self.tables.aside("")).rstrip("/") if any(each.keeps for each in damaged.values()) else None,
        }

    def add_versions(self, number: int, doubt: str | None) -> None:
        """Report that the table of versions was made again."""
        self.tables.rebuilt["versions"] = {
            "batches": [],
            "rows": number,
            "input": "the copy beside it or the folders",
        }
        if doubt is not None:
            self.tables.leave("versions", doubt)

    def _spare(self, damaged: Mapping[str, Corruption]) -> None:
        for name in _SPARE:
            if name not in damaged:
                continue
            if pending := self.live.last().pending:
                run = pending[0].run_id
                self.tables.leave(
                    name, f"{damaged[name]}: run {run} is planned; restore the folder from a copy, or abandon it"
                )
                continue
            integrity.put_aside(self.live.folder / name, self.tables.aside(name))
            self.live.store(name).close()
            self.tables.rebuilt[name] = {"batches": [], "rows": 0, "input": "nothing"}

    def _report_once(self, damaged: Mapping[str, Corruption]) -> None:
        """Record the last writes in the logs again, so that runs go on without the rows that cannot be made again."""
        through = self.live.last().committed_through
        for name in _REPORTED_ONCE:
            if name == "quality" and name in damaged:
                self.tables.open(name, damaged[name])
                self.tables.leave(
                    name, f"{damaged[name]}: its rows are recorded nowhere else; {_COPY}, or do without"
                )
            if name in damaged:
                for each in must_know(self.live, self.live.settled_before(through + 1)):
                    if each.table == name:
                        self.live.store(name).append([], each.writer, each.batch_id)

    def _batches(self, damaged: Mapping[str, Corruption]) -> None:
        opened = {name: self.tables.open(name, damage) for name, damage in damaged.items()}
        wanted = {
            name: {record.batch_id for record in self.tables.records(name, damage)} for name, damage in opened.items()
        }
        again = LedgerRebuild(
            self.context, self.tables.then, self.replay.located, lambda record: self._objects(record, wanted)
        )
        for number in sorted(set().union(*wanted.values())):
            (record,) = self.live.batches(number, number)
            mine = {name for name, numbers in wanted.items() if number in numbers}
            for name in import_order(self.tables.then(record).sources):
                if f"events/{name}" in mine:
                    self._event_batch(f"events/{name}", name, record, self._objects(record, wanted))
            small = [name for name in MADE if name in mine]
            for table, made in again.put_back(record, small).items() if small else ():
                if isinstance(made, int):
                    self.tables.add(table, number, made, "events")
                else:
                    lost = () if table in _REPORTED_ONCE else (number,)
                    self.tables.leave(table, f"batch {number}: {made}; {_COPY}", *lost)

    def _objects(self, record: BatchRecord, wanted: Mapping[str, set[int]]) -> tuple[LandedObject, ...]:
        """Objects of a batch: as taken, or as planned if the table has lost them."""
        lost = record.batch_id in wanted.get("objects", ())
        return self.live.objects_of(replace(record, status=PLANNED) if lost else record)

    def _event_batch(self, table: str, name: str, record: BatchRecord, taken: tuple[LandedObject, ...]) -> None:
        from tidemark.spark.judge.events import PARTITION_COLUMN, STATISTICS
        from tidemark.spark.rebuild.repair import put_back

        digest = next(each for each in record.digests if each.table == table)
        objects = self.replay.located(record, taken)
        with ExitStack() as kept:
            try:
                part = self.replay.recomputed(record, objects, "landing", kept)[name]
            except UsageError as error:
                self.tables.leave(table, f"batch {record.batch_id}: {error.message}", record.batch_id)
                return
            part.counted.persist()  # so that exactly the proven rows are written
            found = next((each for each in part.outcome().digests if each.table == table), None)
            if found != digest:
                why = f"batch {record.batch_id}: landing comes to other rows than were recorded"
                self.tables.leave(table, why, record.batch_id)
                return
            location, engine = str(self.live.folder / table), self.context.engine
            put_back(
                engine.spark,
                part.rows,
                location,
                record.batch_id,
                partition_by=PARTITION_COLUMN,
                statistics=STATISTICS,
            )
        self.tables.add(table, record.batch_id, digest.rows, "landing")

    # -- state of substreams and lifetimes, from events

    @cached_property
    def _sources(self) -> Mapping[str, SourceSpec]:
        """The sources with the settings that the next run has to follow: the file may have been edited since."""
        return recorded_spec(self.live, self.context.spec).sources

    def _state(self, damaged: Mapping[str, Corruption]) -> None:
        if not any(name.partition("/")[0] in _STATE for name in damaged):
            return
        if "substreams" in damaged:
            self._substreams()
        for name, source in self._sources.items():
            if source.deduplicate is not None and f"seen/{name}" in damaged:
                self._seen(source)
            names = [f"{kind}/{name}" for kind in ("lifetimes", "open_lifetimes")]
            if source.lifetimes.edges and any(each in damaged for each in names):
                self._lifetimes(name, names)

    def _substreams(self) -> None:
        from tidemark.spark.rebuild.repair import know
        from tidemark.spark.rebuild.truncate import write_substreams

        through = self.live.last().committed_through
        asked = must_know(self.live, self.live.settled_before(through + 1))
        integrity.put_aside(self.live.folder / "substreams", self.tables.aside("substreams"))
        states, spark = self.live.states(through + 1), self.context.engine.spark
        rows = write_substreams(spark, self.live.folder, self._sources, states, through + 1)
        for each in asked:
            if each.table == "substreams":
                know(spark, str(self.live.folder / "substreams"), each.writer, each.batch_id)
        self.tables.rebuilt["substreams"] = {"batches": [], "rows": rows, "input": "events"}

    def _seen(self, source: SourceSpec) -> None:
        from tidemark.spark.rebuild.truncate import write_seen

        table, through = f"seen/{source.name}", self.live.last().committed_through
        integrity.put_aside(self.live.folder / table, self.tables.aside(table))
        states, spark = self.live.states(through + 1), self.context.engine.spark
        rows = write_seen(spark, self.live.folder, source, states, through + 1)
        self.tables.rebuilt[table] = {"batches": [], "rows": rows, "input": "events"}

    def _lifetimes(self, name: str, names: list[str]) -> None:
        from tidemark.spark.judge import events

        for table in names:
            integrity.put_aside(self.live.folder / table, self.tables.aside(table))
        engine, location = self.context.engine, str(self.live.folder / f"events/{name}")
        for record in self.live.batches(1, self.live.last().committed_through):
            source = self.tables.then(record).sources.get(name)
            recorded = {each.table: each for each in record.digests if each.table in names}
            rows = None if source is None else events.appended(engine.spark, source, location, record.batch_id)
            if source is None or rows is None or not recorded:
                continue
            objects = [item for item in self.live.objects_of(record) if item.source == name]
            with engine.edges_of(source, record.batch_id, rows, objects) as found:
                found.write(str(self.live.folder), False, lambda _: None)
                for digest in found.digests(versions_of(recorded.values())):
                    if digest != recorded.get(digest.table, digest):
                        self.tables.leave(
                            digest.table,
                            f"batch {record.batch_id}: events come to other rows than recorded",
                            record.batch_id,
                        )
                    elif digest.rows:
                        self.tables.add(digest.table, record.batch_id, digest.rows, "events")

    # -- outputs of runs, from events

    def _published(self, damaged: Mapping[str, Corruption]) -> None:
        found = {name: self.tables.open(name, damage) for name, damage in damaged.items()}
        batches = {
            name: {record.batch_id for record in self.tables.records(name, damage)} for name, damage in found.items()
        }
        numbers = sorted(set().union(*batches.values()))
        for done, number in enumerate(numbers):
            self.context.progress("repair", done, len(numbers))
            (record,) = self.live.batches(number, number)
            self._run_published(record, {name for name, mine in batches.items() if number in mine})
        self.context.progress("repair", len(numbers), len(numbers))

    def _run_published(self, record: BatchRecord, broken: set[str]) -> None:
        then = self.tables.then(record)
        writing = self._repaired_outputs(then, record, broken)
        for _, _, due in StreamProgress(then).due(self._ending(record), lambda: writing):
            if due is not None and due.anything:
                writing.restore(due)
        for table in sorted(broken):
            if table in writing.restored:
                self.tables.add(table, record.batch_id, writing.restored[table], "events")
            else:
                why = f"batch {record.batch_id}: events come to other rows than were recorded"
                self.tables.leave(table, why, record.batch_id)

    def _repaired_outputs(self, then: PipelineSpec, record: BatchRecord, broken: set[str]) -> RepairedOutputs:
        from tidemark.spark.rebuild.repair import RepairedOutputs

        recorded = {digest.table: digest for digest in record.digests}
        root = str(self.live.folder)
        return RepairedOutputs(
            self.context.engine.spark,
            root,
            then,
            recompute=True,
            broken=broken,
            recorded=recorded,
            like=self.context.spec,
        )

    def _ending(self, record: BatchRecord) -> Ending:
        """The end of a recorded run, from the ledger."""
        before, after = Before.run(self.live, record.run_first), self.live.states(record.batch_id + 1)
        return Ending(
            record, before.states, after, before.combined, record.combined, before.streams, before.brought(after)
        )

    def _rewritten(self, damaged: set[str]) -> list[RewrittenTable]:
        found = list(rewritten(self.live.folder, lambda: self.context.engine.spark, damaged))
        self.tables.left.extend(each for each in found if "why" in each)
        return [each for each in found if "why" not in each]
