"""Upkeep that someone asks for, or a schedule: merging small files, deleting those that nothing needs any more."""

from __future__ import annotations

from tidemark.commands.records import Record
from tidemark.context import RunContext
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.runner.maintenance import Keeping
from tidemark.storage import Place, delta_table, is_table
from tidemark.storage.folders import remove_tree
from tidemark.verbs import explained

UNNEEDED_HOURS = 168
"""A week: longer than any reader holds on to a snapshot of a table; Delta asks for no less."""
_SMALL_BYTES = 64 << 20


@explained
def maintain(context: RunContext, dry_run: bool = False) -> Record:
    """Merge small files and delete those that no table has needed for a week; `dry_run` only tells, without a JVM.
    No replay needs them: batches are read from the tables as they are."""
    if dry_run:
        return planned(Keeping(context.spec, context.ledger, None), context.ledger.folder)
    with context.hold(wait=True):
        ensure_whole(context.ledger)
        removed = retain_versions(context.root, context.spec.retention.versions)
        return maintained(Keeping(context.spec, context.ledger, context.tables), context.ledger) | removed


def retain_versions(root: Place, number: int | None) -> Record:
    """Remove all but so many versions: the live one stays, and of the others those that were made or live last. They
    are taken off the list first, so that nobody promotes what is only half there."""
    listed = versions.listed(root)
    others = sorted((each for each in listed if not each.live), key=lambda each: each.promoted or each.created)
    gone = [] if number is None else others[: max(0, len(listed) - max(number, 1))]
    versions.forget(root, [each.version for each in gone])
    for each in gone:
        remove_tree(root / f"v{each.version}")
    return {"removed_versions": [each.version for each in gone]}


def planned(keeping: Keeping, root: Place) -> Record:
    """What `maintained` would do, table by table: files to merge, files to delete."""
    tables = {}
    for name in keeping.written_by_spark():
        place = root / name
        if is_table(place):
            table = delta_table(place)
            sizes = table.get_add_actions(flatten=True)["size_bytes"].to_pylist()
            unneeded = table.vacuum(retention_hours=UNNEEDED_HOURS, dry_run=True)
            small = sum(size < _SMALL_BYTES for size in sizes)
            tables[name] = {"files": len(sizes), "small_files": small, "unneeded_files": len(unneeded)}
    return {"dry_run": True, "tables": tables}


def maintained(keeping: Keeping, ledger: Ledger) -> Record:
    """Merge and delete; the seconds that merging took, and how many tables were looked at."""
    tail = ledger.last()
    if not tail.committed_through:
        return {"dry_run": False, "merged_seconds": None, "vacuumed_tables": 0}
    (last,) = ledger.batches(tail.committed_through, tail.committed_through)
    merged = keeping.now(last)
    return {
        "dry_run": False,
        "merged_seconds": round(merged, 3),
        "vacuumed_tables": keeping.vacuum(UNNEEDED_HOURS),
    }
