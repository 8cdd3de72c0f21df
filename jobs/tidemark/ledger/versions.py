"""Which version of a pipeline's outputs is live: one commit switches all its tables at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from tidemark.errors import UsageError
from tidemark.ledger.rows import Row
from tidemark.ledger.schemas import VERSIONS
from tidemark.ledger.store import Store
from tidemark.places import Place

FIRST = 1


@dataclass(frozen=True)
class Version:
    """A set of outputs made by one configuration, in `<root>/v<version>`; times in microseconds."""

    version: int
    created: int
    promoted: int | None
    live: bool


def listed(root: Place) -> tuple[Version, ...]:
    """All versions, oldest first; empty before the first run."""
    rows = _store(root).all()
    return tuple(sorted((Version(**row) for row in rows), key=lambda each: each.version))


def live(root: Place) -> int | None:
    """The live version; None before the first run."""
    return next((each.version for each in listed(root) if each.live), None)


def first(root: Place, now: int) -> int:
    """The live version, for a writer: version 1 is made and made live when there is none."""
    present = live(root)
    if present is None:
        _change(root, lambda known: known or [Version(FIRST, now, now, live=True)])
        present = live(root)
    return present or FIRST


def add(root: Place, now: int) -> int:
    """Record a new version beside the live one and return its number."""
    number = max((each.version for each in listed(root)), default=0) + 1
    _change(root, lambda known: [*known, Version(number, now, None, live=False)])
    return number


def promote(root: Place, version: int, now: int) -> None:
    """Make a recorded version the only live one, in one commit; the same again changes nothing."""
    known = {each.version: each for each in listed(root)}
    if version not in known:
        raise UsageError(f"version {version} does not exist", where=str(root), hint=f"promote one of {sorted(known)}")
    if not known[version].live:
        _change(root, lambda rows: [_switched(each, version, now) for each in rows])


def _switched(each: Version, version: int, now: int) -> Version:
    chosen = each.version == version
    return replace(each, live=chosen, promoted=now if chosen else each.promoted)


def _change(root: Place, change: Callable[[list[Version]], list[Version]]) -> None:
    def rows(known: list[Row]) -> list[Row]:
        return [asdict(each) for each in change([Version(**row) for row in known])]

    _store(root).rewrite(rows)


def _store(root: Place) -> Store:
    return Store(root / "versions", VERSIONS)
