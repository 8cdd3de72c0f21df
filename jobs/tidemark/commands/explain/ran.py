"""Finds when runs ran, by the logs of the tables that they committed to. Nothing else records it: as_of is the time
up to which a run took objects, and a run that catches up runs long after its as_of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemark.core.batch_result import APPLICATION
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.commit_times import commit_times
from tidemark.ledger.tail import COMMITTED
from tidemark.storage import Location

_COMMIT = "commit"
"""Writer under which `batches` records that a batch was committed."""


@dataclass(frozen=True)
class RunTime:
    """When a run ran: the time of its last commit that logs still have, microseconds UTC; and its first and last
    committed batch."""

    first: int
    last: int
    time: int


def run_times(ledger: Ledger, sources: Sequence[str], through: int, since: int | None) -> list[RunTime]:
    """Return when runs ran, oldest first: runs up to batch `through` that ran at `since` or later (None: the newest
    runs). Runs whose commits are no longer in any log are left out.

    The log of `batches` reaches back an hour or 32 commits, logs of events 7 days. If another version had a run
    first, the time is from that version.
    """
    if through < 1:
        return []
    times = _of_version(ledger.folder, sources, through, since)
    lowest = min(times, default=None)
    for location in _others(ledger):
        for number, time in _of_version(location, sources, through, since, lowest).items():
            times[number] = min(time, times.get(number, time))
    return _by_run(ledger, times, since)


def _of_version(
    folder: Location, sources: Sequence[str], through: int, since: int | None, lowest: int | None = None
) -> dict[int, int]:
    """Times of the last commit of each batch in one version."""
    logs = [("batches", _COMMIT), *((f"events/{name}", APPLICATION) for name in sources)]
    found: dict[int, int] = {}
    for table, writer in logs:
        for number, time in commit_times(folder / table, writer, through, since, lowest).items():
            found[number] = max(time, found.get(number, time))
    return found


def _others(ledger: Ledger) -> Iterator[Location]:
    """Folders of the other versions that number rows like this one."""
    origins = versions.origins(ledger.root)
    for version, origin in origins.items():
        if version != ledger.version and origin == origins.get(ledger.version):
            yield ledger.root / f"v{version}"


def _by_run(ledger: Ledger, times: dict[int, int], since: int | None) -> list[RunTime]:
    """Times of runs, from the times of their batches."""
    if not times:
        return []
    rows = ledger.stores["batches"].read(min(times), max(times), ["batch_id", "run_first", "status"])
    runs: dict[int, list[int]] = {}
    for row in sorted(rows, key=lambda row: row["batch_id"]):
        if row["status"] == COMMITTED:
            runs.setdefault(row["run_first"], []).append(row["batch_id"])
    found = []
    for first, batches in runs.items():
        known = [times[each] for each in batches if each in times]
        if known and (since is None or max(known) >= since):
            found.append(RunTime(first, batches[-1], max(known)))
    return found
