"""Rebuilds damaged tables: events from landing, everything else from events, each batch proven by its digest.

Nothing is thrown away: files that cannot be read are kept in `<pipeline>/damaged`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidemark.commands.abandon import Abandonment
from tidemark.commands.repair.ledger_rows import MADE, LedgerAgain
from tidemark.commands.repair.rewrite import rewritten
from tidemark.commands.replay import Replay, located
from tidemark.config import PipelineSpec
from tidemark.config.rules.imports import import_order
from tidemark.context import RunContext
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import BatchRecord, versions_of
from tidemark.errors import UsageError
from tidemark.ledger.lost_commits import losses, must_know
from tidemark.ledger.tables import integrity
from tidemark.ledger.tables.integrity import Wound
from tidemark.ledger.tail import PLANNED
from tidemark.records.status import TableDamage
from tidemark.records.versions import RebuiltRows, RepairRecord, RewrittenTable
from tidemark.runner.executor import Before
from tidemark.runner.recorded import spec_of
from tidemark.runner.stream_progress import Ending, StreamProgress
from tidemark.storage import Place
from tidemark.storage.folders import tables_below

if TYPE_CHECKING:
    from tidemark.spark.rebuild.repair import Mending

_TOLD_ONCE = ("quality", "diagnostics")
"""Small tables that nothing goes on from: rows that cannot be made again are reported once, and runs go on."""
_SPARE = ("advice", "plans")
"""Small tables that nothing needs while no run is pending: the next write to them makes them anew."""
_COPY = "restore the folder from a copy"
_PUBLISHED = ("streams", "dead_letters", "before_start")


@dataclass
class Repairing:
    """One repair of the live version. `rebuilt` are batches that no run can make again."""

    context: RunContext
    rebuilt: range | None
    mended: dict[str, RebuiltRows] = field(default_factory=dict)
    left: list[TableDamage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spec, self.live, self.replay = self.context.spec, self.context.ledger, Replay(self.context, self.rebuilt)

    def repair(self) -> RepairRecord:
        """Check every table and rebuild the damaged ones. Returns what was damaged, rebuilt and left."""
        aside = Abandonment(self.context)
        for table in aside.withdraw_again(losses(self.live).values()):
            self.mended[table] = {"batches": [], "rows": 0, "input": "nothing"}
        wounds = self._wounds()
        self._spare(wounds)
        self._batches({name: wound for name, wound in wounds.items() if name.startswith("events/") or name in MADE})
        self._told_once(wounds)
        self._state(wounds)
        self._published({name: wound for name, wound in wounds.items() if name.partition("/")[0] in _PUBLISHED})
        rewritten = self._rewritten(wounds.keys() - self.mended.keys())
        return {
            "repaired": [{"table": name, **rows} for name, rows in self.mended.items()],
            "rewritten": rewritten,
            "left": self.left,
            "damaged": {name: str(wound) for name, wound in wounds.items()},
            "kept": str(self._aside("")).rstrip("/") if any(each.keeps for each in wounds.values()) else None,
        }

    def tell_versions(self, number: int, doubt: str | None) -> None:
        """Report that the table of versions was made again."""
        self.mended["versions"] = {"batches": [], "rows": number, "input": "the copy beside it or the folders"}
        if doubt is not None:
            self._leave("versions", doubt)

    def _wounds(self) -> dict[str, Wound]:
        """Damage by table; sound tables are left out."""
        lost = losses(self.live)
        names = sorted({*tables_below(self.live.folder), *self._recorded_tables(), *lost})
        names = [name for name in names if not name.startswith(("difference/", "_slice"))]
        found = {}
        for done, name in enumerate(names):
            self.context.progress("look", done, len(names))
            wound = integrity.wounded(self.live.folder / name)
            if name in lost:
                wound = wound.behind(lost[name].known, lost[name].recorded, str(lost[name]))
            if wound:
                found[name] = wound
        self.context.progress("look", len(names), len(names))
        return found

    def _recorded_tables(self) -> set[str]:
        last = self.live.last().committed_through
        found = {digest.table for record in self.live.batches(1, last) for digest in record.digests if digest.rows}
        return {name.partition("/")[0] if name.startswith("substreams/") else name for name in found}

    def _spare(self, wounds: Mapping[str, Wound]) -> None:
        for name in _SPARE:
            if name not in wounds:
                continue
            if pending := self.live.last().pending:
                run = pending[0].run_id
                self._leave(
                    name, f"{wounds[name]}: run {run} is planned; restore the folder from a copy, or abandon it"
                )
                continue
            integrity.put_aside(self.live.folder / name, self._aside(name))
            self.live.store(name).close()
            self.mended[name] = {"batches": [], "rows": 0, "input": "nothing"}

    def _told_once(self, wounds: Mapping[str, Wound]) -> None:
        """Restore what the logs must know, so that runs go on without the rows that cannot be made again."""
        through = self.live.last().committed_through
        for name in _TOLD_ONCE:
            if name == "quality" and name in wounds:
                self._opened(name, wounds[name])
                self._leave(name, f"{wounds[name]}: what it told is told nowhere else; {_COPY}, or do without")
            if name in wounds:
                for each in must_know(self.live, self.live.settled_before(through + 1)):
                    if each.table == name:
                        self.live.store(name).append([], each.writer, each.batch_id)

    def _batches(self, wounds: Mapping[str, Wound]) -> None:
        opened = {name: self._opened(name, wound) for name, wound in wounds.items()}
        wanted = {name: {record.batch_id for record in self._records(name, wound)} for name, wound in opened.items()}
        again = LedgerAgain(self.context, self._then, self.replay.place, lambda record: self._objects(record, wanted))
        for number in sorted(set().union(*wanted.values())):
            (record,) = self.live.batches(number, number)
            mine = {name for name, numbers in wanted.items() if number in numbers}
            for name in import_order(self.spec.sources):
                if f"events/{name}" in mine:
                    self._event_batch(f"events/{name}", name, record, self._objects(record, wanted))
            small = [name for name in MADE if name in mine]
            for table, told in again.put_back(record, small).items() if small else ():
                if isinstance(told, int):
                    self._mend(table, number, told, "events")
                else:
                    self._leave(table, f"batch {number}: {told}; {_COPY}")

    def _objects(self, record: BatchRecord, wanted: Mapping[str, set[int]]) -> tuple[LandedObject, ...]:
        """Objects of a batch: as taken, or as planned if the table has lost them."""
        lost = record.batch_id in wanted.get("objects", ())
        return self.live.objects_of(replace(record, status=PLANNED) if lost else record)

    def _event_batch(self, table: str, name: str, record: BatchRecord, taken: tuple[LandedObject, ...]) -> None:
        from tidemark.spark.judge.events import PARTITION_COLUMN, STATISTICS
        from tidemark.spark.rebuild.repair import put_back

        digest = next(each for each in record.digests if each.table == table)
        objects = tuple(self.replay.place(item) for item in taken)
        with ExitStack() as kept:
            try:
                part = self.replay.recomputed(record, objects, "landing", kept)[name]
            except UsageError as error:
                self._leave(table, f"batch {record.batch_id}: {error.message}")
                return
            part.counted.persist()  # so that exactly the proven rows are written
            found = next((each for each in part.outcome().digests if each.table == table), None)
            if found != digest:
                self._leave(table, f"batch {record.batch_id}: landing comes to other rows than were recorded")
                return
            place, engine = str(self.live.folder / table), self.context.engine
            put_back(
                engine.spark, part.rows, place, record.batch_id, partition_by=PARTITION_COLUMN, statistics=STATISTICS
            )
        self._mend(table, record.batch_id, digest.rows, "landing")

    # -- state of substreams and lifetimes, from events

    def _state(self, wounds: Mapping[str, Wound]) -> None:
        if "substreams" in wounds:
            self._substreams()
        for name, source in self.spec.sources.items():
            names = [f"{kind}/{name}" for kind in ("lifetimes", "open_lifetimes")]
            if source.lifetimes.edges and any(each in wounds for each in names):
                self._lifetimes(name, names)

    def _substreams(self) -> None:
        from tidemark.spark.rebuild.repair import know
        from tidemark.spark.rebuild.truncate import write_substreams

        through = self.live.last().committed_through
        asked = must_know(self.live, self.live.settled_before(through + 1))
        integrity.put_aside(self.live.folder / "substreams", self._aside("substreams"))
        states, spark = self.live.states(through + 1), self.context.engine.spark
        rows = write_substreams(spark, self.live.folder, self.spec.sources, states, through + 1)
        for each in asked:
            if each.table == "substreams":
                know(spark, str(self.live.folder / "substreams"), each.writer, each.batch_id)
        self.mended["substreams"] = {"batches": [], "rows": rows, "input": "events"}

    def _lifetimes(self, name: str, names: list[str]) -> None:
        from tidemark.spark.judge import events

        for table in names:
            integrity.put_aside(self.live.folder / table, self._aside(table))
        engine, place = self.context.engine, str(self.live.folder / f"events/{name}")
        for record in self.live.batches(1, self.live.last().committed_through):
            source = self._then(record).sources.get(name)
            recorded = {each.table: each for each in record.digests if each.table in names}
            rows = None if source is None else events.appended(engine.spark, source, place, record.batch_id)
            if source is None or rows is None or not recorded:
                continue
            objects = [item for item in self.live.objects_of(record) if item.source == name]
            with engine.edges_of(source, record.batch_id, rows, objects) as found:
                found.write(str(self.live.folder), False, lambda _: None)
                for digest in found.digests(versions_of(recorded.values())):
                    if digest != recorded.get(digest.table, digest):
                        self._leave(digest.table, f"batch {record.batch_id}: events come to other rows than recorded")
                    elif digest.rows:
                        self._mend(digest.table, record.batch_id, digest.rows, "events")

    # -- outputs of runs, from events

    def _published(self, wounds: Mapping[str, Wound]) -> None:
        found = {name: self._opened(name, wound) for name, wound in wounds.items()}
        batches = {name: {record.batch_id for record in self._records(name, wound)} for name, wound in found.items()}
        numbers = sorted(set().union(*batches.values()))
        for done, number in enumerate(numbers):
            self.context.progress("repair", done, len(numbers))
            (record,) = self.live.batches(number, number)
            self._run_published(record, {name for name, mine in batches.items() if number in mine})
        self.context.progress("repair", len(numbers), len(numbers))

    def _run_published(self, record: BatchRecord, broken: set[str]) -> None:
        then = self._then(record)
        writing = self._mending(then, record, broken)
        for _, _, due in StreamProgress(then).due(self._ending(record), lambda: writing):
            if due is not None and due.anything:
                writing.mend(due)
        for table in sorted(broken):
            if table in writing.mended:
                self._mend(table, record.batch_id, writing.mended[table], "events")
            else:
                self._leave(table, f"batch {record.batch_id}: events come to other rows than were recorded")

    def _mending(self, then: PipelineSpec, record: BatchRecord, broken: set[str]) -> Mending:
        from tidemark.spark.rebuild.repair import Mending

        recorded = {digest.table: digest for digest in record.digests}
        root = str(self.live.folder)
        return Mending(
            self.context.engine.spark, root, then, recompute=True, broken=broken, recorded=recorded, like=self.spec
        )

    def _ending(self, record: BatchRecord) -> Ending:
        """The end of a recorded run, from the ledger."""
        before, after = Before.run(self.live, record.run_first), self.live.states(record.batch_id + 1)
        return Ending(
            record, before.states, after, before.combined, record.combined, before.streams, before.brought(after)
        )

    def _rewritten(self, damaged: set[str]) -> list[RewrittenTable]:
        found = list(rewritten(self.live.folder, lambda: self.context.engine.spark, damaged))
        self.left += [each for each in found if "why" in each]
        return [each for each in found if "why" not in each]

    def _opened(self, table: str, wound: Wound) -> Wound:
        """Take the damage out of a table. If a pending run had appended to it, the whole table is put aside and made
        from the beginning, as if its log were lost."""
        place, through = self.live.folder / table, self.live.last().committed_through
        pending = self.live.last().pending and (wound.batches is None or wound.batches[1] > through)
        if wound.log is not None or pending:
            integrity.put_aside(place, self._aside(table))
            wound = Wound(log=wound.log or "a pending run had rows in it")
        else:
            integrity.take_out(place, wound, self._aside(table))
        self.live.store(table).close()
        return wound

    def _records(self, table: str, wound: Wound) -> Iterator[BatchRecord]:
        """Committed batches whose rows in a table may be missing now; without batches that a backfill made."""
        lost = []
        for record in self.live.batches(1, self.live.last().committed_through):
            has_rows = any(each.table == table and each.rows for each in record.digests)
            has_rows = has_rows or (table == "objects" and record.objects > 0)
            if not (has_rows and wound.meets(record.batch_id)):
                continue
            if self.rebuilt is not None and record.batch_id in self.rebuilt:
                lost.append(record.batch_id)
                continue
            yield record
        if lost:
            made = f"batches {lost[0]} to {lost[-1]} were made by a backfill"
            self._leave(table, f"{made}: promote another version, and build this one again")

    def _then(self, record: BatchRecord) -> PipelineSpec:
        return located(spec_of(record.configuration, self.spec, self.live.root), self.spec)

    def _aside(self, table: str) -> Place:
        return self.live.root / "damaged" / f"v{self.live.version}" / table

    def _mend(self, table: str, batch_id: int, rows: int, source: str) -> None:
        told = self.mended.setdefault(table, {"batches": [], "rows": 0, "input": source})
        told["batches"].append(batch_id)
        told["rows"] += rows

    def _leave(self, table: str, why: str) -> None:
        self.left.append({"table": table, "why": why})
