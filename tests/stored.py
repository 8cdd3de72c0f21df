"""A pipeline with everything that is stored between runs: what one version of the product leaves, a later one reads.

`python tests/stored.py NAME` makes `tests/data/stored/NAME.tar.gz` with the code as it is. Made once for each way in
which state was ever stored; such files are never made anew, since pipelines out there were not either.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from tidemark.core.times import format_time
from tidemark.pipeline import Pipeline
from tidemark.storage.folders import tables_below

DATA = Path(__file__).parent / "data" / "stored"
START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = """
pipeline: stored
sources:
  readings:
    landing: ./landing/readings
    format: json
    schema: "lane STRING, device STRING, at TIMESTAMP, got TIMESTAMP, speed DOUBLE"
    partition: {column: lane}
    partitions: [north, south]
    timestamp_by: at
    arrival_time: got
    landing_delay: 3s
    over: device
    late_arrival: {tolerance: 4s, action: adjust}
    out_of_order: {tolerance: 2s, action: adjust}
  kept:
    landing: ./landing/readings
    format: json
    schema: "lane STRING, device STRING, at TIMESTAMP, speed DOUBLE"
    timestamp_by: at
    late_arrival: off
    early_arrival: off
    out_of_order: {tolerance: 1s, action: keep}
  gates:
    landing: ./landing/gates
    format: json
    schema: "lane STRING, kind STRING, opened TIMESTAMP, closed TIMESTAMP"
    timestamp_by: opened
    shape: {edge: {kind: kind, start: start, end: end, end_time: closed, match: [lane]}}
    punctuation: {every: 2, delay: 3s, import_from: readings, violations: adjust, final: true}
streams:
  good: {from: readings, where: speed > 20, publish: true}
  per_5s: {from: kept, tumbling: 5s, select: {n: count(*), speed: sum(speed)}, allowed_lateness: 1s}
  passing:
    join: [readings, gates]
    on: [lane]
    select: {device: readings.device, opened: gates.opened}
"""
RUNS = 3
FROM, SET = START + timedelta(seconds=8), ["sources.readings.late_arrival.tolerance=2s"]
WRONG = "0001.json"
EXPECTED, LIVE = "expected.json", Path("warehouse", "stored", "v1")
OUTPUTS = ("events/", "streams/", "dead_letters/", "substreams", "watermarks", "lifetimes/", "open_lifetimes/")
"""Tables whose rows do not tell how or when they were made."""


class Died(BaseException):
    """The process has ended."""


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


def readings(run: int) -> Iterator[dict[str, Any]]:
    dice = random.Random(run)  # noqa: S311 - the same rows each time
    for _ in range(20):
        got = 8 * run + dice.randint(0, 7)
        lane, device = dice.choice(("north", "south")), dice.choice(("a", "b", None))
        at = second(got - dice.choice((0, 0, 1, 1, 2, 3, 7)))
        yield {"lane": lane, "device": device, "at": at, "got": second(got), "speed": dice.uniform(5, 60)}


def gates(run: int) -> Iterator[dict[str, Any]]:
    for lane, shift in (("north", 0), ("south", 3)):
        yield {"lane": lane, "kind": "start", "opened": second(8 * run + shift)}
        if run > 1:
            opened = second(8 * (run - 1) + shift)
            yield {"lane": lane, "kind": "end", "opened": opened, "closed": second(8 * run + shift - 1)}


def land(folder: Path, run: int) -> None:
    """The objects of a run, counted from 1."""
    for name, rows in (("readings", readings(run)), ("gates", gates(run))):
        place = folder / "landing" / name / f"{run:04d}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(json.dumps(row, default=datetime.isoformat) + "\n" for row in rows))
        os.utime(place, (second(8 * run + 8).timestamp(),) * 2)


def as_of(run: int) -> str:
    return format_time(int(second(8 * run + 9).timestamp() * 1_000_000))


def make(folder: Path) -> None:
    """A pipeline of some runs, with a wrong object, a version of a backfill, and a run that died on its way."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "pipeline.yml"
    config.write_text(CONFIG.lstrip())
    for run in range(1, RUNS):
        land(folder, run)
        Pipeline.load(config, {}).run(as_of(run), run_id=f"run-{run}")
    Pipeline.load(config, {}).exclude(WRONG, "a sensor that was being mended")
    Pipeline.load(config, {}).backfill(FROM.isoformat(), None, SET)
    land(folder, RUNS)

    def die(step: str) -> None:
        if step == "watermarks":
            raise Died

    try:
        Pipeline.load(config, {}, on_checkpoint=die).run(as_of(RUNS), run_id=f"run-{RUNS}")
    except Died:
        return
    raise RuntimeError("the last run has not died")


def carry_on(folder: Path) -> None:
    """Finish the run that died and make another one."""
    land(folder, RUNS + 1)
    found = Pipeline.load(folder / "pipeline.yml", {}).run(as_of(RUNS + 1), run_id="next")
    if found["repaired"] != [f"run-{RUNS}"]:
        raise RuntimeError("the run that died was not finished")


def columns(folder: Path) -> dict[str, list[str]]:
    """The columns of the tables of outputs and state."""
    names = [name for name in tables_below(folder / LIVE) if name.startswith(OUTPUTS)]
    return {name: DeltaTable(folder / LIVE / name).to_pyarrow_dataset().schema.names for name in names}


def digests(folder: Path, known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """By table, the digest of its rows in the columns that were known then."""
    told = {}
    for name, chosen in known.items():
        rows = DeltaTable(folder / LIVE / name).to_pyarrow_table(columns=list(chosen)).to_pylist()
        lines = sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)
        told[name] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return told


def main(name: str) -> None:
    """Make the file of a name that is not taken: the pipeline, and what it comes to when it is carried on."""
    DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(DATA / f"{name}.tar.gz", "x:gz") as archive:
        before, after = Path(folder) / "p", Path(folder) / "after"
        make(before)
        shutil.copytree(before, after)
        carry_on(after)
        known = columns(after)
        (before / EXPECTED).write_text(json.dumps({"columns": known, "digests": digests(after, known)}, indent=1))
        archive.add(before, arcname=".")


if __name__ == "__main__":
    main(sys.argv[1])
