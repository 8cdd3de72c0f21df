"""Chooses the objects that a run takes, and reports what is wrong with others (time rules: the log).

An object is taken once per source and URI, and the ledger records it. The ledger also records contents that were only
reported (changed after they were taken, too old, landed after close), with state `changed` and their tag, so that
nothing is reported twice. Listing dominates the cost: the ledger is read at four bytes an object, and whole rows only
for listed objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import pyarrow as pa

from tidemark.core.batch import LandedObject, ObjectState, stored_uri
from tidemark.core.batch_result import Diagnostic, Finding, FindingSample
from tidemark.core.times import MAX_TIME
from tidemark.landing.listing import Listed
from tidemark.landing.source_log import SourceLog
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.commits import FORGOTTEN
from tidemark.ledger.tables.rows import Row, uri_key

_MESSAGES = {
    Diagnostic.LISTED_LATE: "listed only after an earlier run's as_of had passed; if usual, raise `settle`",
    Diagnostic.TOO_OLD: "older than `max_object_age`, or than what `retention.ledger` has kept, not taken",
    Diagnostic.LANDED_AFTER_CLOSE: "landed after the source was closed, not taken",
    Diagnostic.OBJECT_CHANGED: "changed after being taken, the change is not read",
}


@dataclass(frozen=True)
class Discovery:
    """Result of listing one source. `new`: objects to take, in log order, with paths and refusals. `reported`:
    objects that are only mentioned in `findings`; the run's first batch records them. `ahead`: objects with landing
    times after the clock's. `left_out`: skipped names, with the reasons."""

    new: tuple[LandedObject, ...] = ()
    findings: tuple[Finding, ...] = ()
    reported: tuple[LandedObject, ...] = ()
    ahead: tuple[Listed, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class KnownObject:
    """Ledger entry of a URI: its last state, its tag when it was taken (if ever), and the tags that were reported."""

    batch_id: int = 0
    state: ObjectState | None = None
    tag: str = ""
    reported: frozenset[str] = frozenset()

    @property
    def taken(self) -> bool:
        return self.state in (ObjectState.READ, ObjectState.QUARANTINED)


def discover(
    ledger: Ledger,
    log: SourceLog,
    source: str,
    as_of: int,
    previous_as_of: int | None,
    settle: int = 0,
    closed: bool = False,
    pending: Collection[LandedObject] = (),
    now: int = MAX_TIME,
) -> Discovery:
    """Find the objects of a source's log with a landing time of at most as_of - settle that no run has taken.

    `previous_as_of` is the as_of of the last run that listed this source (None: no run did). `pending` objects of a
    planned run count as taken. `now` is the clock's time, microseconds UTC. Writes nothing. A quarantined object that
    has changed is new again, and so is a vanished object that is back. A closed source has no new objects. Objects
    that landed before the time up to which retention has deleted ledger rows are too old, whatever `max_object_age`
    is now.
    """
    forgotten = ledger.stores["objects"].number(FORGOTTEN)
    horizon = _Horizon(as_of, previous_as_of, settle, log.max_object_age, forgotten)
    waiting = {item.uri for item in pending if item.source == source}
    ahead: list[Listed] = []
    left_out: dict[str, str] = {}
    pieces = _until(now, log.pieces(as_of, left_out), ahead)
    listed = [item for item in pieces if horizon.shows(item) and item.uri not in waiting]
    known = known_objects(ledger, source, [item.uri for item in listed])
    new, reported = _parted(listed, known, horizon, closed)
    return replace(_discovery(log, source, new, reported, horizon), ahead=tuple(ahead), left_out=left_out)


def _parted(
    listed: Iterable[Listed], known: Mapping[str, KnownObject], horizon: _Horizon, closed: bool
) -> tuple[list[Listed], dict[Diagnostic, list[Listed]]]:
    """Split listed objects into the new ones and the ones to report."""
    new: list[Listed] = []
    reported: dict[Diagnostic, list[Listed]] = {}
    for item in listed:
        seen = known.get(item.uri, _UNKNOWN)
        fate = _fate(item, seen, horizon.too_old(item), closed)
        if fate is _Fate.NEW:
            new.append(item)
        elif isinstance(fate, Diagnostic) and item.tag not in seen.reported:
            reported.setdefault(fate, []).append(item)
    return new, reported


def _until(now: int, pieces: Iterable[Listed], ahead: list[Listed]) -> Iterator[Listed]:
    """The pieces that have landed by `now`; pieces with later landing times are added to `ahead`."""
    for item in pieces:
        if item.modified > now:
            ahead.append(item)
        else:
            yield item


def known_objects(ledger: Ledger, source: str, uris: Sequence[str]) -> dict[str, KnownObject]:
    """Ledger entries of these URIs of a source; URIs that the ledger has never seen are missing."""
    stored = {stored_uri(uri): uri for uri in uris}
    if not stored:
        return {}
    keys = pa.array({uri_key(source, text) for text in stored}, pa.int32())
    columns = ["batch_id", "source", "uri", "tag", "state"]
    known: dict[str, KnownObject] = {}
    for row in ledger.stores["objects"].lookup("uri_key", keys, columns, (min(stored), max(stored))):
        if row["source"] == source and row["uri"] in stored:
            _learn(known.setdefault(stored[row["uri"]], KnownObject()), row)
    return known


def _learn(known: KnownObject, row: Row) -> None:
    if row["state"] == ObjectState.CHANGED:
        known.reported |= {row["tag"]}
    elif row["batch_id"] >= known.batch_id:
        known.batch_id, known.state, known.tag = row["batch_id"], ObjectState(row["state"]), row["tag"]


class _Fate(Enum):
    NEW = "new"
    NOTHING = "nothing"


_UNKNOWN = KnownObject()


def _fate(item: Listed, known: KnownObject, too_old: bool, closed: bool) -> _Fate | Diagnostic:
    """Fate of a listed object: new, to be reported, or nothing."""
    if known.taken and (item.tag == known.tag or too_old):
        return _Fate.NOTHING
    if known.state is ObjectState.READ:
        return Diagnostic.OBJECT_CHANGED
    if too_old:
        return Diagnostic.TOO_OLD
    return Diagnostic.LANDED_AFTER_CLOSE if closed else _Fate.NEW


@dataclass(frozen=True)
class _Horizon:
    """Times that bound the objects of a run."""

    as_of: int
    previous: int | None
    settle: int
    max_age: int | None
    forgotten: int = 0

    def shows(self, item: Listed) -> bool:
        """True if an object is looked up in the ledger. It must be at least `settle` old, and not too old; or it
        became too old only since the previous run, by its age or by arriving here late."""
        if item.modified > self.as_of - self.settle:
            return False
        if not self.too_old(item) or self.previous is None or self.max_age is None:
            return True
        return item.modified >= self.previous - self.max_age or item.arrived > self.previous

    def too_old(self, item: Listed) -> bool:
        if self.previous is not None and item.modified < self.forgotten:  # nobody knows if a run has taken it
            return True
        return self.max_age is not None and self.as_of - item.modified > self.max_age

    def late(self, item: Listed) -> bool:
        return self.previous is not None and item.modified <= self.previous - self.settle

    def tolerance(self, kind: Diagnostic) -> int | None:
        return {Diagnostic.LISTED_LATE: self.settle, Diagnostic.TOO_OLD: self.max_age}.get(kind)


def _discovery(
    log: SourceLog,
    source: str,
    new: list[Listed],
    reported: dict[Diagnostic, list[Listed]],
    horizon: _Horizon,
) -> Discovery:
    late = [item for item in new if horizon.late(item)]
    kinds = {Diagnostic.LISTED_LATE: late, **reported} if late else reported
    findings = [_finding(source, kind, items, horizon.tolerance(kind)) for kind, items in kinds.items()]
    taken = [_landed(log, source, item, ObjectState.PLANNED) for item in new]
    others = [_landed(log, source, item, ObjectState.CHANGED) for items in reported.values() for item in items]
    return Discovery(
        new=tuple(sorted(taken, key=lambda item: item.order)),
        findings=tuple(sorted(findings, key=lambda finding: finding.type)),
        reported=tuple(sorted(others, key=lambda item: item.order)),
    )


def _landed(log: SourceLog, source: str, item: Listed, state: ObjectState) -> LandedObject:
    return LandedObject(
        source=source,
        uri=item.uri,
        size=item.size,
        modified=item.modified,
        tag=item.tag,
        path=log.path(item.uri),
        refusal=log.refusal(item.uri),
        state=state,
    )


def _finding(source: str, kind: Diagnostic, items: Iterable[Listed], tolerance: int | None) -> Finding:
    ranked = sorted(items, key=lambda item: (item.modified, item.uri.encode("utf-8", "surrogateescape")))
    first, last = ranked[0], ranked[-1]
    one = len(ranked) == 1
    what = f"object {stored_uri(first.uri)!r}" if one else f"{len(ranked)} objects"
    return Finding(
        source=source,
        partition=None,
        type=kind,
        count=len(ranked),
        first_time=first.modified,
        last_time=last.modified,
        sample=FindingSample(arrival_time=first.modified, file=first.uri),
        tolerance=tolerance,
        message=f"{what}: {_MESSAGES[kind]}",
    )
