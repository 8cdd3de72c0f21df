"""Writes landing files of any content, lists them as a run does, and reads their rows through Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject
from tidemark.landing.listing import LandingLocation, list_objects
from tidemark.spark import columns
from tidemark.spark.read.landed_rows import read_rows

LANDED = 1_780_000_000_000_000
"""Landing time of files that are given none: 2026-05-28T20:26:40Z."""
MINUTE = 60_000_000


@dataclass(frozen=True)
class Read:
    """One row as `read_rows` gives it; times are microseconds."""

    uri: str
    partition: str
    arrival: int | None
    event: int | None
    substream: str | None
    bad: str | None
    raw: str | None
    payload: dict[str, Any]


def source_of(folder: Path, schema: str, **keys: Any) -> SourceSpec:
    declared = {"name": "s", "landing": str(folder), "format": "json", "schema": schema, **keys}
    return SourceSpec.model_validate(declared)


def land(folder: Path, files: Mapping[str, bytes | str], modified: int = LANDED) -> None:
    """Write `files` (name to content) below `folder`, all with one landing time."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        touch(path, modified)


def touch(path: Path, modified: int = LANDED) -> None:
    os.utime(path, ns=(modified * 1000, modified * 1000))


def objects_in(folder: Path | str) -> list[LandedObject]:
    """What lies in `folder`, in log order."""
    place = LandingLocation(str(folder))
    found = [
        LandedObject("s", item.uri, item.size, item.modified, item.tag, place.path(item.uri), place.refusal(item.uri))
        for item in list_objects(place, LANDED * 2)
    ]
    return sorted(found, key=lambda item: item.order)


def read(spark, source: SourceSpec, objects: Sequence[LandedObject] | None = None, **options: Any) -> list[Read]:
    """All rows in log order; values as pyarrow gives them."""
    chosen = objects_in(Path(source.landing)) if objects is None else objects
    rows = read_rows(spark, source, chosen, **options).orderBy(*columns.ORDER)
    return [_read(row, chosen) for row in rows.toArrow().to_pylist()]


def by_file(rows: Sequence[Read]) -> dict[str, list[Read]]:
    found: dict[str, list[Read]] = {}
    for row in rows:
        found.setdefault(row.uri, []).append(row)
    return found


def _read(row: dict[str, Any], objects: Sequence[LandedObject]) -> Read:
    return Read(
        uri=objects[row[columns.OBJECT]].uri,
        partition=row.pop(columns.PARTITION),
        arrival=row.pop(columns.OWN),
        event=row.pop(columns.EVENT),
        substream=row.pop(columns.SUBSTREAM),
        bad=row.pop(columns.BAD),
        raw=row.pop(columns.RAW),
        payload={name: value for name, value in row.items() if name not in (*columns.ORDER, columns.BEYOND)},
    )


def micros(time: datetime | None) -> int | None:
    """A time that Spark gave as microseconds."""
    return None if time is None else (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
