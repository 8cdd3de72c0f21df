"""The record of views in catalogs, `registered.json` beside the versions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tidemark.errors import TidemarkError
from tidemark.storage import Location, read_if_there, write_bytes

_FILE = "registered.json"


@dataclass(frozen=True)
class Registration:
    """Views of `tables` in a schema of a catalog. All of them read `version` (None: they are being changed). If
    `by_hand`, a person runs the statements that create them."""

    catalog: str
    schema: str
    by_hand: bool
    version: int | None
    tables: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The identity of a registration."""
        return self.catalog, self.schema


def registered(root: Location) -> list[Registration]:
    """The registrations of a pipeline. Raises TidemarkError if their record cannot be read."""
    content = read_if_there(root / _FILE)
    try:
        return [Registration(**row | {"tables": tuple(row["tables"])}) for row in json.loads(content or b"[]")]
    except (ValueError, TypeError, KeyError) as error:
        raise TidemarkError(
            f"the record of names in catalogs cannot be read: {error}",
            where=str(root / _FILE),
            hint="remove it, and use `tidemark register` again",
        ) from error


def save(root: Location, changed: Registration) -> None:
    """Record a registration in place of the one with its key."""
    _write(root, [*(each for each in registered(root) if each.key != changed.key), changed])


def forget(root: Location, key: tuple[str, str]) -> None:
    """Remove a registration from the record; its views stay."""
    _write(root, [each for each in registered(root) if each.key != key])


def _write(root: Location, rows: Sequence[Registration]) -> None:
    write_bytes(root / _FILE, json.dumps(list(map(asdict, rows)), indent=1).encode(), lasting=True)
