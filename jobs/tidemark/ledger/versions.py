"""The versions of a pipeline's outputs, and which of them is live: one commit switches all its tables at once.

A file beside the table has a copy of its rows. With it, a table that has lost commits is noticed and rebuilt. A crash
may leave the file one change behind the table, never ahead of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tidemark.errors import TidemarkError, UsageError
from tidemark.ledger.durability import lasting
from tidemark.ledger.tables.rows import Row
from tidemark.ledger.tables.schemas import VERSIONS
from tidemark.ledger.tables.store import Store
from tidemark.storage import Location, read_if_there, write_bytes
from tidemark.storage.folders import tables_below

FIRST = 1
_WRITER, _COPY = "versions", "versions.json"
_NUMBERS = "numbers"
"""Writer under which the last reserved number of a version is recorded in the log."""
_HINT = "`tidemark repair` with the pipeline file makes it again"
_NUMBERED = re.compile(r"v(\d+)/batches")
Batches = tuple[int, int]
"""The first and the last of successive batches."""


@dataclass(frozen=True)
class Made:
    """Origin of a version that a backfill made for outputs in [from_, to) (`to` None: up to the last run), by a
    `configuration` (JSON) with its fingerprint. It started from the version `base`, whose last batch then was
    `through`. `rebuilt`: first batch that differs (None: no batch). `input_rows`: number of events judged again.
    `difference`: the differences (JSON). `from_landing`: landing was read again, so rows may have other offsets.
    `origin`: version whose row numbering it uses (None: its own, or not recorded). `backfilled`: first and last batch
    of this backfill and of earlier ones in the base (None: not recorded). Times in microseconds."""

    from_: int
    to: int | None
    fingerprint: str
    configuration: str
    base: int
    through: int
    rebuilt: int | None
    input_rows: int
    difference: str
    from_landing: bool = False
    origin: int | None = None
    backfilled: tuple[Batches, ...] | None = None


@dataclass(frozen=True)
class Version:
    """A set of outputs made by one configuration, in `<root>/v<version>`; times in microseconds. `made` is None for
    the first version, which runs alone have made."""

    version: int
    created: int
    promoted: int | None
    live: bool
    made: Made | None = None


def listed(root: Location) -> tuple[Version, ...]:
    """All versions, oldest first; empty before the first run."""
    rows = _store(root).all()
    return tuple(sorted(map(_version, rows), key=lambda each: each.version))


def live(root: Location) -> int | None:
    """The live version; None before the first run."""
    return next((each.version for each in listed(root) if each.live), None)


class Identity(NamedTuple):
    """The live version, and the identity of the table that lists it: a warehouse that was deleted and created again
    has another identity. Both are None before the first run."""

    live: int | None
    table: str | None


def identity(root: Location) -> Identity:
    """Identity of a pipeline's tables now. While it is unchanged, an opened ledger belongs to the live version."""
    store = _store(root)
    table = store.open()
    live = next((row["version"] for row in store.all() if row["live"]), None)
    return Identity(live, None if table is None else str(table.metadata().id))


def found(root: Location, version: int) -> Version | None:
    """One version; None if it is not listed."""
    return next((each for each in listed(root) if each.version == version), None)


def origins(root: Location) -> dict[int, int]:
    """By version, the version that began its row numbering: the last of its line built from landing, or the first
    one. Versions of one origin number their rows alike. Retention may have removed versions in between."""
    known = {each.version: each.made for each in listed(root)}

    def origin(version: int) -> int:
        while (made := known.get(version)) is not None and not made.from_landing:
            version = made.origin or made.base
        return version

    return {version: origin(version) for version in known}


def backfilled(root: Location, version: int) -> tuple[Batches, ...]:
    """The batches of a version that backfills made, the newest backfill first: also those that the version took over
    from its base. No run under one configuration gives their rows."""
    known, found = {each.version: each.made for each in listed(root)}, tuple[Batches, ...]()
    while (made := known.get(version)) is not None:
        if made.backfilled is not None:
            return (*found, *made.backfilled)
        found += from_first(made.rebuilt, made.through)
        version = made.base
    return found


def from_first(rebuilt: int | None, through: int) -> tuple[Batches, ...]:
    """The batches of one backfill, from the first that differs on; empty if none does."""
    return () if rebuilt is None else ((rebuilt, through),)


def first(root: Location, now: int) -> int:
    """The live version, for a writer. If there is none, version 1 is recorded and made live."""
    present = live(root)
    if present is None:
        _change(root, lambda known: known or [Version(FIRST, now, now, live=True)])
        present = live(root)
    return present or FIRST


class Reserved(NamedTuple):
    """A number that no other version gets, and the number of commits to the table when it was reserved."""

    number: int
    since: int


def commits(root: Location) -> int:
    """The number of the table's newest commit. A later change may require that it is still the newest."""
    return _store(root).commits()


def reserve(root: Location) -> Reserved:
    """Reserve the number of the next version, in one commit, so that two builds never share a folder. Folders of
    lower, unlisted numbers belong to interrupted builds."""
    store = _store(root)
    number = max([store.number(_NUMBERS), *(each.version for each in listed(root))]) + 1
    since = max(store.commits(), 0)  # making the table is its commit 0
    _commit(root, lambda known: known, store.number(_WRITER), since, {_NUMBERS: number})
    return Reserved(number, since + 1)


def unlisted(root: Location, before: int) -> list[int]:
    """Numbers below `before` that no listed version has."""
    return sorted(set(range(1, before)) - {each.version for each in listed(root)})


def fence(root: Location) -> None:
    """Commit to the table without a change. A stalled process then fails when it tries to list or promote a version
    by what it read before."""
    if listed(root):
        _change(root, lambda known: known)


def add(root: Location, now: int, made: Made | None = None, reserved: Reserved | None = None) -> int:
    """Record a new version beside the live one and return its number. Raises Held if anybody has changed the table
    since the number was reserved."""
    number, since = reserved or reserve(root)
    _change(root, lambda known: [*known, Version(number, now, None, live=False, made=made)], since)
    return number


def promote(root: Location, version: int, now: int, since: int | None = None) -> None:
    """Make a recorded version the only live one, in one commit; if it is live already, nothing changes. Raises
    UsageError for a version that is not recorded, Held if anybody has changed the table since commit `since`."""
    known = {each.version: each for each in listed(root)}
    if version not in known:
        raise UsageError(f"version {version} does not exist", where=str(root), hint=f"promote one of {sorted(known)}")
    if not known[version].live:
        _change(root, lambda rows: [_switched(each, version, now) for each in rows], since)


def forget(root: Location, which: Collection[int]) -> None:
    """Take versions off the list, in one commit; the live one stays."""
    if any(each.version in which and not each.live for each in listed(root)):
        _change(root, lambda rows: [each for each in rows if each.live or each.version not in which])


def _switched(each: Version, version: int, now: int) -> Version:
    chosen = each.version == version
    return replace(each, live=chosen, promoted=now if chosen else each.promoted)


def _version(row: Row) -> Version:
    own = {name: row[name] for name in ("version", "created", "promoted", "live")}
    if row["configuration"] is None:
        return Version(**own)
    made: dict[str, Any] = {name: row.get(name.removesuffix("_")) for name in Made.__dataclass_fields__}
    made["from_landing"] = bool(made["from_landing"])
    if made["backfilled"] is not None:
        made["backfilled"] = tuple((first, last) for first, last in json.loads(made["backfilled"]))
    return Version(**own, made=Made(**made))


def _row(each: Version) -> Row:
    content = asdict(each)
    made = content.pop("made") or dict.fromkeys(Made.__dataclass_fields__)
    if made["backfilled"] is not None:
        made["backfilled"] = json.dumps(made["backfilled"])
    return content | {name.removesuffix("_"): value for name, value in made.items()}


def ensure_whole(root: Location) -> None:
    """Ensure that the table of versions, if it is in a folder, has lost no commits; else raise TidemarkError."""
    if isinstance(root, Path) and (why := lost(root)):
        raise TidemarkError(f"the table versions is damaged: {why}", where=str(root / _WRITER), hint=_HINT)


def lost(root: Location) -> str | None:
    """Sign that the table has lost commits, in words; None if there is none."""
    try:
        store, copy = _store(root), _copy(root)
        if copy is not None and store.number(_WRITER) < copy["number"]:
            return "its newest commits are lost"
        if not store.all() and numbers(root):
            return "it is not there, and folders of versions are"
    except TidemarkError as error:
        return error.message
    return None


def numbers(root: Location) -> list[int]:
    """Numbers of the versions that have a folder with a ledger in it."""
    return sorted(int(found[1]) for table in tables_below(root) if (found := _NUMBERED.fullmatch(table)))


def remembered(root: Location) -> list[Version] | None:
    """The versions in the copy beside the table; None if there is no copy."""
    copy = _copy(root)
    return None if copy is None else [_version(row) for row in copy["rows"]]


def restore(root: Location, found: list[Version]) -> None:
    """Create the missing table from these versions."""
    copy = _copy(root)
    _commit(root, lambda _: found, 0 if copy is None else copy["number"])


def _change(root: Location, change: Callable[[list[Version]], list[Version]], since: int | None = None) -> None:
    _commit(root, change, _store(root).number(_WRITER), since)


def _commit(
    root: Location,
    change: Callable[[list[Version]], list[Version]],
    number: int,
    since: int | None = None,
    also: Mapping[str, int] | None = None,
) -> None:
    def changed(known: list[Row]) -> list[Row]:
        return [_row(each) for each in change([_version(row) for row in known])]

    with lasting(root / _WRITER):
        rows = _store(root).rewrite(changed, _WRITER, number + 1, since, also)
    if isinstance(root, Path):
        write_bytes(root / _COPY, json.dumps({"number": number + 1, "rows": rows}).encode(), lasting=True)


def _copy(root: Location) -> Row | None:
    content = read_if_there(root / _COPY)
    try:
        found: Row | None = json.loads(content) if content else None
    except ValueError:
        return None  # cut off by a power loss; the next change writes it anew
    return found


def _store(root: Location) -> Store:
    return Store(root / _WRITER, VERSIONS)
