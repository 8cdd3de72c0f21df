"""Records objects as wrong: the next backfill builds a version without their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidemark.arguments import reason_for
from tidemark.core.batch import loaded_uri, stored_uri
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
