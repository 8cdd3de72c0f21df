"""A small run at installation: its classes go into an archive, from which later commands load them.

python -m tidemark.demo.first_run
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from tidemark import Pipeline
from tidemark.spark.session.class_archive import recorded

_PIPELINE = """
pipeline: small
warehouse: ./warehouse
sources:
  readings:
    landing: ./landing
    format: json
    schema: "device STRING, value DOUBLE, at TIMESTAMP"
    partition: {column: device}
    timestamp_by: at
    late_arrival: {tolerance: 1h, action: adjust}
streams:
  minutes: {from: readings, group_by: [device], tumbling: 1m, select: {n: count(*), mean: avg(value)}}
"""
_LANDED = 1_767_229_200
"""When the rows landed, in seconds: 2026-01-01 at 01:00 UTC."""


def prepare(folder: Path) -> Path:
    """Write a pipeline and 60 rows that have landed into an empty folder; returns the pipeline's file."""
    rows = ({"device": f"d{n % 3}", "value": n / 2, "at": f"2026-01-01T00:{n:02}:00Z"} for n in range(60))
    file = folder / "landing" / "rows.json"
    file.parent.mkdir()
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    os.utime(file, (_LANDED, _LANDED))
    config = folder / "small.yml"
    config.write_text(_PIPELINE, encoding="utf-8")
    return config


def run(folder: Path) -> None:
    """Run, replay and read the pipeline in an empty folder."""
    pipeline = Pipeline.load(prepare(folder))
    pipeline.run()
    pipeline.replay(all_batches=True)
    pipeline.rows()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made, recorded():
        run(Path(made))
