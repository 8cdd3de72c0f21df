"""Records objects as wrong: the next backfill builds a version without their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidemark.arguments import reason_for
from tidemark.core.batch import loaded_uri, stored_uri
from tidemark.core.policy import Reason
from tidemark.core.times import format_time
from tidemark.errors import UsageError
from tidemark.landing.discover import known_objects
from tidemark.ledger import exclusions
from tidemark.ledger.exclusions import Exclusion
from tidemark.ledger.ledger import Ledger
from tidemark.records.versions import ExcludeRecord

Taken = Mapping[str, Mapping[str, int]]
"""Batches that took objects, by source and stored URI."""


def exclude(ledger: Ledger, sources: Collection[str], uri: str, reason: str, now: int) -> ExcludeRecord:
    """Record an object as wrong for every source that took it.

    `uri` is relative to the source's landing, as events name it in `_file`. Raises UsageError if there is no reason
    or if no source took such an object.
    """
    reason = reason_for("an exclusion", reason, "say with --reason what is wrong with the object")
    stored = stored_uri(loaded_uri(uri))
    taken = {name: batch for name in sources if (batch := _batches(ledger, name, [stored]).get(stored))}
    if not taken:
        raise UsageError(
            f"no run has taken an object {uri!r}",
            hint="write it as the column _file of the events has it: relative to `landing`",
        )
    exclusions.exclude(ledger.root, [Exclusion(name, stored, reason.strip(), now) for name in taken])
    return {
        "uri": stored,
        "reason": reason.strip(),
        "recorded": format_time(now),
        "sources": [{"source": name, "batch_id": batch} for name, batch in taken.items()],
    }


def excluded(ledger: Ledger, sources: Collection[str]) -> Taken:
    """Wrong objects of these sources that the version has taken."""
    named: dict[str, list[str]] = {}
    for each in exclusions.excluded(ledger.root):
        named.setdefault(each.source, []).append(each.uri)
    found = {name: _batches(ledger, name, uris) for name, uris in named.items() if name in sources}
    return {name: batches for name, batches in found.items() if batches}


def why(ledger: Ledger, source: str, stored: str) -> str | None:
    """The reason recorded for a wrong object; None if it is not recorded as wrong."""
    said = [each for each in exclusions.excluded(ledger.root) if (each.source, each.uri) == (source, stored)]
    return said[0].reason if said else None


def _batches(ledger: Ledger, source: str, stored: Collection[str]) -> dict[str, int]:
    known = known_objects(ledger, source, [loaded_uri(uri) for uri in stored])
    return {stored_uri(uri): each.batch_id for uri, each in known.items() if each.taken}


def tainted(ledger: Ledger, objects: Taken, first: int) -> frozenset[str]:
    """Sources whose recorded state before batch `first` depends on rows of these objects, which the version does not
    exclude yet."""
    found = set()
    for name, taken_in in objects.items():
        for batch in {batch for batch in taken_in.values() if batch < first}:
            (record,) = ledger.batches(batch, batch)
            mine = [account for account in record.accounts if account.source == name]
            known = sum(account.reasons.get(Reason.EXCLUDED, 0) for account in mine)
            taken = [item for item in ledger.objects_of(record) if item.source == name]
            if known < sum(item.rows or 0 for item in taken if stored_uri(item.uri) in taken_in):
                found.add(name)
    return frozenset(found)
