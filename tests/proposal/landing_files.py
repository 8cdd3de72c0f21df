"""Landing folders for the tests of proposals: files with a landing time, and times in the forms that files have."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import tidemark
from tidemark.config import load_pipeline
from tidemark.core.times import from_datetime
from tidemark.proposal.objects import ListedObject

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def put(path: Path, content: str | bytes, landed: datetime = START + HOUR) -> Path:
    """A file with this content and landing time; text in a name that ends in .gz is compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" and isinstance(content, str) else raw)
    os.utime(path, (landed.timestamp(),) * 2)
    return path


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def cells(rows: Iterable[Iterable[object]], sep: str = ",") -> str:
    return "".join(sep.join(map(str, row)) + "\n" for row in rows)


def iso(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def millis(time: datetime) -> int:
    return from_datetime(time) // 1000


def landed(folder: Path) -> list[ListedObject]:
    """The files below a folder, in log order."""
    found = [
        ListedObject(str(path.relative_to(folder)), str(path), path.stat().st_size, path.stat().st_mtime_ns // 1000)
        for path in folder.rglob("*")
        if path.is_file()
    ]
    return sorted(found, key=lambda item: (item.modified, item.uri))


def readings(hour: int, count: int = 40) -> list[dict[str, Any]]:
    """Rows that arrived within an hour in order, each a while after it happened: most seconds, one of ten 200 s."""
    rows = []
    for number in range(count):
        arrival = START + hour * HOUR + number * 80 * SECOND
        late = 200 if number % 10 == 3 else number % 3
        rows.append({"event_time": arrival - late * SECOND, "received_at": arrival, "device": f"d{number % 15}"})
    return rows


def proposed(folder: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `init` proposes for folder/landing: its record of sources, and the sources as the file has them. The file
    holds without errors."""
    record = tidemark.init(folder / "landing", options.get("out", folder / "proposed.yml"))
    load_pipeline(record["path"], {})
    written = YAML(typ="safe", pure=True).load(Path(record["path"]))
    return record["proposal"]["sources"], written["sources"]
