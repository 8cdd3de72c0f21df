"""tidemark as it is measured: a configuration, a fresh warehouse, a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.answers import LANE, Answer, expected, found
from bench.clock import seconds
from bench.data import SCHEMA, Landed
from tidemark.core.batch_result import BatchRecord
from tidemark.pipeline import Pipeline

SOURCE = "readings"
EVENTS = f"events/{SOURCE}"
STREAM = "per_minute"
STREAMS = {
    STREAM: {
        "from": SOURCE,
        "tumbling": "1m",
        "group_by": ["lane"],
        "select": {"n": "count(*)", "speed": "avg(speed)"},
    }
}
"""1-minute windows by lane."""


def configure(folder: Path, landing: Path, lanes: int, source: Mapping[str, Any] = {}, **keys: Any) -> Path:
    """Write a pipeline over `landing` with its warehouse in `folder`, more keys of its `source`, and more `keys`;
    returns the configuration's path."""
    settings = {
        "landing": str(landing),
        "format": "parquet",
        "schema": SCHEMA,
        "partition": {"column": "lane"},
        "partitions": [str(lane) for lane in range(lanes)],
        "arrival_time": "arrived",
        "landing_delay": "1h",
        "timestamp_by": "event_time",
        "early_arrival": {"tolerance": "5m", "action": "drop"},
        "late_arrival": {"tolerance": "1m", "action": "adjust"},
        "out_of_order": {"tolerance": "5s", "action": "adjust"},
    } | dict(source)
    document = {"pipeline": "bench", "warehouse": str(folder / "warehouse"), "sources": {SOURCE: settings}} | keys
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "pipeline.yml"
    config.write_text(json.dumps(document, indent=2))
    return config


def fresh(folder: Path, landed: Landed, **keys: Any) -> Pipeline:
    """A pipeline that has never run, with more `keys` of its configuration."""
    source = {"format": landed.suffix} | keys.pop("source", {})
    return Pipeline.load(configure(folder, landed.folder, landed.lanes, source, **keys), {})


def timed(
    folder: Path,
    data: Landed,
    look: Callable[[Pipeline, float], object] | None = None,
    *,
    key: str = LANE,
    right: Landed | None = None,
    max_files: int | None = None,
    **keys: Any,
) -> float:
    """Seconds of the first run of a pipeline in `folder`, which is removed once every row was checked (against the
    Parquet files of `right`, if they are others) and `look` has had the pipeline and its seconds."""
    pipeline = fresh(folder, data, **keys)
    took = seconds(lambda: pipeline.run(data.end, max_files=max_files))
    check(pipeline, right or data, key)
    if look is not None:
        look(pipeline, took)
    shutil.rmtree(folder)
    return took


def check(pipeline: Pipeline, landed: Landed, key: str = LANE) -> Answer:
    """Every row of Parquet files has the fate and the time that it must have, or the measurement stops."""
    answer, right = found(pipeline.table(EVENTS)), expected(tuple(landed.files), key)
    assert answer == right, f"a wrong answer: {answer}, not {right}"
    return answer


def records(pipeline: Pipeline) -> list[BatchRecord]:
    """All committed batches."""
    return pipeline.ledger.batches(1, pipeline.ledger.last().committed_through)


def phases(records: Sequence[BatchRecord]) -> dict[str, float]:
    """Seconds by phase, summed over the batches of a run."""
    total: dict[str, float] = {}
    for record in records:
        for phase, took in record.timings.items():
            total[phase] = total.get(phase, 0.0) + took
    return total


def typical_phases(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of each phase over runs."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: median(run.get(name, 0.0) for run in runs) for name in names}


def where_time_goes(runs: Sequence[dict[str, float]]) -> str:
    """Medians by phase of runs' `phases` and their `whole` seconds: `judging` holds the other phases, and what is
    left is discovery, plan and upkeep."""
    spent = typical_phases(runs)
    whole, batches = spent.pop("whole"), spent.pop("judging")
    parts = ", ".join(f"{name} {took:.2f} s" for name, took in spent.items())
    rest = batches - sum(spent.values())
    return f"{parts}, the rest of the batches {rest:.2f} s, discovery, plan and upkeep {whole - batches:.2f} s"
