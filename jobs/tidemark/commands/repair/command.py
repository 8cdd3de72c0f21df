"""The command `repair`: rebuilds damaged tables of the live version."""

from __future__ import annotations

from tidemark.commands.names.follow import follow
from tidemark.commands.repair.repair import TableRepair
from tidemark.commands.versions import backfilled
from tidemark.context import RunContext
from tidemark.errors import TidemarkError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import integrity
from tidemark.ledger.versions_rebuilt import rebuild
from tidemark.records.versions import RepairRecord
from tidemark.storage.sync import sync_tree


def repair(context: RunContext, wait: bool) -> RepairRecord:
    """Rebuild the damaged tables of the live version. The record names the rebuilt tables, and the ones that could
    not be rebuilt."""
    with context.hold(wait):
        listed = rebuild(context.root, context.clock())
        ensure_batches(context.ledger)
        repairs = TableRepair(context, backfilled(context.ledger, str(context.spec.path)))
        if listed is not None:
            repairs.add_versions(*listed)
        found = repairs.repair()
        if found["repaired"] or found["rewritten"]:
            sync_tree(context.ledger.folder)
        context.forget()
        follow(context)
        return found


def ensure_batches(ledger: Ledger) -> None:
    """Raise TidemarkError unless the table `batches` is sound; all rebuilding starts from it."""
    damage = integrity.damage_of(ledger.folder / "batches")
    if damage:
        raise TidemarkError(
            f"the table `batches` is damaged ({damage}): it says what there is to rebuild",
            where=str(ledger.folder / "batches"),
            hint="restore this folder from a copy; or take history in again, into another warehouse",
        )
