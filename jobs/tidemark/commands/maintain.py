"""The command `maintain`: compacts small files and deletes files that nothing needs any more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tidemark.commands.names.follow import follow
from tidemark.commands.versions import recorded_spec
from tidemark.config import PipelineSpec
from tidemark.context import RunContext
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.ledger.versions import Version
from tidemark.records.runs import MaintainRecord, MaintenancePlan, TableFiles
from tidemark.runner.maintenance import Maintenance
from tidemark.storage import Location, delta_table, is_table
from tidemark.storage.folders import remove_tree
from tidemark.verbs import explained

UNNEEDED_HOURS = 168
"""One week: longer than any reader uses a snapshot of a table; Delta requires at least as much."""
_SMALL_BYTES = 64 << 20


@explained
def maintain(context: RunContext, dry_run: bool = False) -> MaintainRecord | MaintenancePlan:
    """Compact small files and delete those that no table has needed for a week.

    With `dry_run` only say what would be done, without a JVM. Replay needs none of the deleted files: it reads
    batches from the tables as they are.
    """
    if dry_run:
        return planned(Maintenance(_followed(context), context.ledger, None), context.ledger.folder)
    with context.hold(wait=True):
        ensure_whole(context.ledger)
        maintenance = Maintenance(_followed(context), context.ledger, context.tables)
        follow(context)  # no name may lead to a version that is removed
        removed = retain_versions(context.root, context.spec.retention.versions)
        return maintained(maintenance, context.ledger, removed)


def _followed(context: RunContext) -> PipelineSpec:
    """The settings that the live version's next run has to follow, with today's retention: the file may differ, as
    after a promotion until it is edited, and would have keys forgotten that later rows may repeat."""
    then = recorded_spec(context.ledger, context.spec)
    return then.model_copy(update={"retention": context.spec.retention})


def retain_versions(root: Location, number: int | None) -> list[int]:
    """Remove all versions but `number`: the live one, and the others that were made, or live, last. Returns the
    removed ones.

    They are removed from the list first, so that nobody promotes a version that is only half there. One that somebody
    has made live meanwhile stays.
    """
    listed = versions.listed(root)
    made = accumulate((each.created for each in listed), max)  # a clock may have gone back, numbers have not
    switched = sorted(each.promoted for each in listed if each.promoted is not None)
    used = {each.version: max(_live_until(each, switched), latest) for each, latest in zip(listed, made, strict=True)}
    others = sorted((each for each in listed if not each.live), key=lambda each: (used[each.version], each.version))
    gone = [] if number is None else others[: max(0, len(listed) - max(number, 1))]
    versions.forget(root, [each.version for each in gone])
    kept = {each.version for each in versions.listed(root)}
    removed = [each.version for each in gone if each.version not in kept]
    for version in removed:
        remove_tree(root / f"v{version}")
    return removed


def _live_until(version: Version, switched: Sequence[int]) -> int:
    """When another version became live after this one; 0 if this one has not been live."""
    if version.promoted is None:
        return 0
    return next((time for time in switched if time > version.promoted), version.promoted)


def planned(maintenance: Maintenance, root: Location) -> MaintenancePlan:
    """The work that `maintained` would do, table by table: files to compact, files to delete."""
    tables: dict[str, TableFiles] = {}
    for name in maintenance.written_by_spark():
        location = root / name
        if is_table(location):
            table = delta_table(location)
            sizes = table.get_add_actions(flatten=True)["size_bytes"].to_pylist()
            unneeded = table.vacuum(retention_hours=UNNEEDED_HOURS, dry_run=True)
            small = sum(size < _SMALL_BYTES for size in sizes)
            tables[name] = {"files": len(sizes), "small_files": small, "unneeded_files": len(unneeded)}
    return {"dry_run": True, "tables": tables}


def maintained(maintenance: Maintenance, ledger: Ledger, removed: list[int]) -> MaintainRecord:
    """Compact and delete. Returns the seconds that compaction took and the number of tables that were looked
    at, with the `removed` versions."""
    tail = ledger.last()
    if not tail.committed_through:
        return {"dry_run": False, "merged_seconds": None, "vacuumed_tables": 0, "removed_versions": removed}
    (last,) = ledger.batches(tail.committed_through, tail.committed_through)
    merged = maintenance.now(last)
    return {
        "dry_run": False,
        "merged_seconds": round(merged, 3),
        "vacuumed_tables": maintenance.vacuum(UNNEEDED_HOURS),
        "removed_versions": removed,
    }
