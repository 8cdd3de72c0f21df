"""Finds damaged tables of the live version, opens them for repair, and lists what was rebuilt and what was left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidemark.commands.replay import located
from tidemark.commands.versions import Backfilled
from tidemark.config import PipelineSpec
from tidemark.context import RunContext
from tidemark.core.batch_result import BatchRecord, LastWrite
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import has_rows, losses
from tidemark.ledger.tables import integrity, unfinished
from tidemark.ledger.tables.integrity import Corruption
from tidemark.records.status import TableDamage
from tidemark.records.versions import RebuiltRows
from tidemark.runner.recorded import spec_of
from tidemark.storage import Location
from tidemark.storage.folders import tables_below


@dataclass(frozen=True)
class DamagedTables:
    """Tables of the live version during one repair. No run can make `backfilled` batches again. Results by now:
    `rebuilt`, `left`, and by table the first and the last batch of which rows are `missing`."""

    context: RunContext
    backfilled: Backfilled
    rebuilt: dict[str, RebuiltRows] = field(default_factory=dict)
    left: list[TableDamage] = field(default_factory=list)
    missing: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def live(self) -> Ledger:
        """The ledger of the live version."""
        return self.context.ledger

    def find(self) -> dict[str, Corruption]:
        """Damage by table; sound tables are left out."""
        lost, left = losses(self.live), unfinished.tables(self.live.damaged)
        names = sorted({*tables_below(self.live.folder), *self._recorded_tables(), *lost})
        names = [name for name in names if not name.startswith(("difference/", "_slice"))]
        found = {}
        for done, name in enumerate(names):
            self.context.progress("look", done, len(names))
            damage = integrity.damage_of(self.live.folder / name)
            if name in lost:
                opened = left[name].batches if name in left else None
                known = lost[name].known if opened is None else min(lost[name].known, opened[0] - 1)
                damage = damage.behind(known, lost[name].recorded, str(lost[name]))
            if damage:
                found[name] = damage
        self.context.progress("look", len(names), len(names))
        return found

    def _recorded_tables(self) -> set[str]:
        last = self.live.last().committed_through
        found = {digest.table for record in self.live.batches(1, last) for digest in record.digests if digest.rows}
        return {name.partition("/")[0] if name.startswith("substreams/") else name for name in found}

    def open(self, table: str, damage: Corruption) -> Corruption:
        """Take the damage out of a table. If a pending run had appended to it, the whole table is put aside and made
        from the beginning, as if its log were lost."""
        location, through = self.live.folder / table, self.live.last().committed_through
        pending = self.live.last().pending and (damage.batches is None or damage.batches[1] > through)
        if damage.log is not None or pending:
            integrity.put_aside(location, self.aside(table))
            damage = Corruption(log=damage.log or "a pending run had rows in it")
        else:
            if damage.files:
                unfinished.add(self.live.damaged, table, damage.batches)
            integrity.take_out(location, damage, self.aside(table))
        self.live.store(table).close()
        self.context.checkpoint("opened")
        return damage

    def records(self, table: str, damage: Corruption) -> Iterator[BatchRecord]:
        """Committed batches whose rows in a table may be missing now; without batches that a backfill made."""
        lost = []
        for record in self.live.batches(1, self.live.last().committed_through):
            has_rows = any(each.table == table and each.rows for each in record.digests)
            has_rows = has_rows or (table == "objects" and record.objects > 0)
            if not (has_rows and damage.meets(record.batch_id)) or (damage.lost and self._there(table, record)):
                continue
            if self.backfilled.has(record.batch_id):
                lost.append(record.batch_id)
                continue
            yield record
        if lost:
            made = f"batches {lost[0]} to {lost[-1]} were made by a backfill"
            self.leave(table, f"{made}: promote another version, and build this one again", *lost)

    def _there(self, table: str, record: BatchRecord) -> bool:
        """True if a table that had lost rows has all of a batch, as where its folder was restored from a copy."""
        recorded = (each for each in record.digests if each.table == table)
        writes = (LastWrite(table, "", record.batch_id, each.rows) for each in recorded)
        return any(has_rows(self.live.store(table), each) for each in writes)

    def then(self, record: BatchRecord) -> PipelineSpec:
        """The configuration that a batch was judged under, with the present locations."""
        spec = self.context.spec
        return located(spec_of(record.configuration, spec, self.live.root), spec)

    def aside(self, table: str) -> Location:
        """The folder in which unreadable files of a table are kept."""
        return self.live.damaged / table

    def add(self, table: str, batch_id: int, rows: int, source: str) -> None:
        """Record that rows of a batch were rebuilt from `source`."""
        whole = self.rebuilt.setdefault(table, {"batches": [], "rows": 0, "input": source})
        whole["batches"].append(batch_id)
        whole["rows"] += rows

    def leave(self, table: str, why: str, *batches: int) -> None:
        """Record that a table stays as it is, and why. `batches` lack rows of it: they are named until these are
        back."""
        self.left.append({"table": table, "why": why})
        if batches:
            known = (*batches, *self.missing.get(table, ()))
            self.missing[table] = min(known), max(known)
