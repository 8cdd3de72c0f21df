"""Pipeline files and landing files for the tests of DAGs."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

PIPELINE: dict[str, Any] = {
    "pipeline": "toll",
    "warehouse": "../warehouse",
    "sources": {
        "readings": {
            "landing": "../landing",
            "landed_at": {"path": "dt=([0-9-]{10})/", "format": "yyyy-MM-dd", "plus": "1d"},
            "format": "json",
            "schema": "lane STRING, passed TIMESTAMP, received TIMESTAMP",
            "partition": {"column": "lane"},
            "partitions": ["a", "b"],
            "arrival_time": "received",
            "landing_delay": "1d",
            "timestamp_by": "passed",
            "late_arrival": {"tolerance": "1h", "action": "drop"},
            "out_of_order": {"tolerance": "10m", "action": "adjust"},
        }
    },
    "streams": {"hours": {"from": "readings", "tumbling": "1h", "select": {"n": "count(*)"}}},
}

CONSUMERS = """
from airflow.sdk import DAG, Asset, DayWindow, PartitionedAssetTimetable, RollupMapper, StartOfDayMapper, WaitForAll
from airflow.sdk import task

hours, days = Asset.ref(name="tidemark_PIPELINE.hours"), Asset.ref(name="tidemark_PIPELINE.days")
whole = RollupMapper(upstream_mapper=StartOfDayMapper(), window=DayWindow(), wait_policy=WaitForAll())
every = {"daily": (hours, {}), "both": (hours & days, {days: StartOfDayMapper()})}
for name, (assets, mappers) in every.items():
    timetable = PartitionedAssetTimetable(
        assets=assets, default_partition_mapper=whole, partition_mapper_config=mappers
    )
    with DAG(name, schedule=timetable, start_date=None, catchup=False) as dag:
        task(task_id="count")(lambda dag_run=None: print(dag_run.partition_key))()
    globals()[name] = dag
"""
"""DAG file of two consumers of the streams `hours` and `days` of a pipeline PIPELINE: each day, once its hours are
complete, or once the day is complete in both streams."""


def write_pipeline(folder: Path, name: str = "toll", **keys: Any) -> Path:
    """A pipeline file that lands and keeps its tables beside `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yml"
    with path.open("w") as file:
        YAML().dump(PIPELINE | {"pipeline": name} | keys, file)
    return path


def land_day(folder: Path, day: datetime, rows: int = 20) -> None:
    """The readings of one day, some behind others, in an object of its name."""
    target = folder / f"dt={day:%Y-%m-%d}" / "readings.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(rows):
        received = day + timedelta(hours=24 * number / rows)
        passed = received - timedelta(minutes=(number * 37) % 90)
        row = {"lane": "ab"[number % 2], "passed": passed.isoformat(), "received": received.isoformat()}
        lines.append(json.dumps(row))
    target.write_text("\n".join(lines) + "\n")


def land_late_hours(folder: Path, day: datetime) -> None:
    """The readings of one day, 5 an hour and lane on time, and in hours 10 and 11 another 30 of lane b, three hours
    late: 60 of 300."""
    target = folder / f"dt={day:%Y-%m-%d}" / "readings.json"
    target.parent.mkdir(parents=True)
    rows = [(lane, hour, 12 * number, 0) for hour in range(24) for number in range(5) for lane in "ab"]
    rows += [("b", hour, 2 * number, 180) for hour in (10, 11) for number in range(30)]
    lines = []
    for lane, hour, minute, late in sorted(rows, key=lambda row: row[1:3]):
        received = day + timedelta(hours=hour, minutes=minute)
        passed = received - timedelta(minutes=late)
        lines.append(json.dumps({"lane": lane, "passed": passed.isoformat(), "received": received.isoformat()}))
    target.write_text("\n".join(lines) + "\n")
