"""Runs oracle logs through the product: writes landing files and a configuration, reads the tables back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from ruamel.yaml import YAML

import oracle
from tidemark.pipeline import Pipeline
from tidemark.storage import is_table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000
SCHEMA = "p STRING, e TIMESTAMP, a TIMESTAMP, k STRING, n INT"
FATES = ("_partition", "_offset", "_arrival_time", "_event_time", "_system_timestamp", "_disposition", "_reasons")


def iso(micros: int) -> str | int:
    """A time as JSON: text, or a number of seconds where no calendar has it."""
    if not oracle.readable(micros):
        return micros // 1_000_000 + (1 if micros > 0 else 0)
    return (EPOCH + timedelta(microseconds=micros)).isoformat()


def micros(time: datetime | None) -> int | None:
    return None if time is None else (time - EPOCH) // timedelta(microseconds=1)


def declared(source: oracle.Source) -> dict[str, Any]:
    """The source's settings as keys of the configuration."""

    if not isinstance(source, oracle.Source):
        return source.declared()

    def policy(value: tuple[int, str] | None) -> Any:
        return "off" if value is None else {"tolerance": f"{value[0]}us", "action": value[1]}

    keys: dict[str, Any] = {"format": "json", "schema": SCHEMA, "clock_skew": f"{source.clock_skew}us"}
    keys |= oracle.admission(source)
    if source.interval:
        keys |= {"schema": f"{SCHEMA}, v TIMESTAMP", "shape": {"interval": {"end_time": "v"}}}
    if not source.single:
        keys["partition"] = {"column": "p"}
        keys["partitions"] = list(source.partitions)
    if source.arrival_column:
        keys |= {"arrival_time": "a", "landing_delay": f"{source.landing_delay}us"}
    if source.timestamp_by:
        keys |= {
            "timestamp_by": "e",
            "early_arrival": policy(source.early),
            "late_arrival": policy(source.late),
            "out_of_order": policy(source.out_of_order),
        }
        if source.over:
            keys["over"] = "k"
    return keys


def line(row: oracle.Row) -> str:
    given = (("e", row.event), ("a", row.arrival), ("v", row.end))
    times = {name: iso(time) for name, time in given if time is not None}
    broken = {"n": "not a number"} if row.broken else {}
    more = {"t": row.kind} if hasattr(row, "kind") else {}  # of rows of punctuated sources
    return json.dumps({"p": row.partition, "k": row.substream, **times, **broken, **more})


@dataclass
class Product:
    """A pipeline under `folder` with one source a name, fed with oracle objects."""

    folder: Path
    sources: dict[str, oracle.Source]
    settings: dict[str, Any] = field(default_factory=dict)
    hooks: dict[str, Any] = field(default_factory=dict)
    version: int = 1

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.sources:
            (self.folder / "landing" / name).mkdir(parents=True, exist_ok=True)
        self.write()

    @property
    def config(self) -> Path:
        return self.folder / "pipeline.yml"

    def write(self, **changed: dict[str, Any]) -> None:
        """Write the configuration; `changed` overrides keys of sources."""
        starts = {source.start for source in self.sources.values() if source.start is not None}
        document: dict[str, Any] = {"pipeline": "tested", "warehouse": "./warehouse", **self.settings}
        if starts:
            document["start"] = iso(starts.pop())
        document["sources"] = {
            name: {"landing": f"./landing/{name}", **declared(source), **changed.get(name, {})}
            for name, source in self.sources.items()
        }
        with self.config.open("w") as file:
            YAML().dump(document, file)

    def land(self, name: str, objects: Iterable[oracle.Obj]) -> None:
        for item in objects:
            path = self.folder / "landing" / name / item.uri
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(line(row) + "\n" for row in item.rows))
            os.utime(path, ns=(item.modified * 1000, item.modified * 1000))

    def pipeline(self) -> Pipeline:
        return Pipeline.load(self.config, {}, **self.hooks)

    def run(self, as_of: int, **options: Any) -> dict[str, Any]:
        return self.pipeline().run(as_of, **options)

    def go(self, run: oracle.Run, **options: Any) -> dict[str, Any]:
        """Run, or close, as of the run's time."""
        if run.close:
            return self.pipeline().close(as_of=run.as_of)
        return self.run(run.as_of, **options)

    def feed(self, name: str, runs: Sequence[oracle.Run], **options: Any) -> None:
        """Land and run one run after the other, closing where the log does."""
        for run in runs:
            self.land(name, run.objects)
            self.go(run, **options)

    def folder_of(self, table: str) -> Path:
        return self.folder / "warehouse" / "tested" / f"v{self.version}" / table

    def table(self, name: str) -> list[dict[str, Any]]:
        """Rows of a table; none where there is none, or another process is only making it."""
        place = self.folder_of(name)
        return DeltaTable(place).to_pyarrow_table().to_pylist() if is_table(place) else []

    def events(self, name: str) -> list[dict[str, Any]]:
        """Rows of `events/<name>` by partition and offset, times as microseconds."""
        rows = self.table(f"events/{name}")
        for row in rows:
            row.update({key: micros(value) for key, value in row.items() if isinstance(value, datetime)})
        return sorted(rows, key=lambda row: (row["_partition"], row["_offset"]))


def verdicts(events: Iterable[dict[str, Any]], *more: str) -> list[tuple[Any, ...]]:
    """What became of rows, comparable with `expected`."""
    names = (*FATES, *more)
    return [tuple(tuple(row[name]) if name == "_reasons" else row[name] for name in names) for row in events]


def expected(outcome: oracle.Outcome, *more: str) -> list[tuple[Any, ...]]:
    """The oracle's verdicts in the same form and order."""
    rows = sorted(outcome.verdicts, key=lambda verdict: (verdict.partition, verdict.offset))
    return [
        (
            row.partition,
            row.offset,
            row.arrival,
            row.event,
            row.system_timestamp,
            row.disposition,
            row.reasons,
            *[getattr(row, name.removeprefix("_")) for name in more],
        )
        for row in rows
    ]
