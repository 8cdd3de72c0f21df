"""Objects that should not have landed. Users name them; versions built by backfills leave them out."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tidemark.ledger.durability import lasting
from tidemark.ledger.tables.schemas import EXCLUSIONS
from tidemark.ledger.tables.store import Store
from tidemark.storage import Location

FOLDER = "exclusions"


@dataclass(frozen=True)
class Exclusion:
    """A wrong object of a source, by its stored URI, with the reason and the time of recording (microseconds UTC)."""

    source: str
    uri: str
    reason: str
    recorded: int


def excluded(root: Location) -> tuple[Exclusion, ...]:
    """All exclusions of a pipeline, in the order in which they were recorded."""
    return tuple(sorted((Exclusion(**row) for row in _store(root).all()), key=lambda each: each.recorded))


def exclude(root: Location, found: list[Exclusion]) -> None:
    """Record exclusions, in one commit; earlier ones of these objects are replaced."""
    objects, rows = {(each.source, each.uri) for each in found}, [asdict(each) for each in found]
    with lasting(root / FOLDER):
        _store(root).rewrite(lambda known: [r for r in known if (r["source"], r["uri"]) not in objects] + rows)


def _store(root: Location) -> Store:
    return Store(root / FOLDER, EXCLUSIONS)
