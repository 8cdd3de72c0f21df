"""Five days of three gates, of which one was late on one morning; judged without Spark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from report_warehouse import record

from oracle import Obj, Row, Run, Source
from product import Product
from row_engine import RowEngine, without_spark
from tidemark.context import RunContext
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND, parse_time

T0 = parse_time("2026-03-01T00:00:00Z")
GATES = ("G1", "G2", "G3")
TOLL = Source(late=(MINUTE, "drop"), out_of_order=(30 * SECOND, "adjust"), landing_delay=2 * HOUR, partitions=GATES)


def readings() -> list[Run]:
    """Five days of three gates, a file each two hours, a run each night. G2 is 40 minutes late on 5 March from 06:00
    to 10:00."""
    rng, runs = random.Random(11), []  # noqa: S311 - the same rows each time
    for day in range(5):
        files = []
        for part in range(0, 24, 2):
            rows = []
            for _ in range(120):
                at = T0 + day * DAY + part * HOUR + rng.randrange(7200) * SECOND
                gate = rng.choice(GATES)
                late = rng.choice([0, 1, 2, 5]) if rng.random() > 0.005 else rng.randrange(90, 300)
                if day == 4 and gate == "G2" and 6 <= part < 10:
                    late = 2400 + rng.randrange(300)
                rows.append(Row(gate, at - late * SECOND, at))
            landed = T0 + day * DAY + (part + 2) * HOUR
            ordered = tuple(sorted(rows, key=lambda row: row.arrival or 0))
            files.append(Obj(f"2026-03-0{day + 1}/{part:02d}.json", landed, ordered))
        runs.append(Run(T0 + (day + 1) * DAY + 2 * HOUR, tuple(files)))
    return runs


def judged(folder: Path, **settings: Any) -> Path:
    """The configuration of a pipeline that has judged these days; its rows are those of the oracle."""
    product, runs, engine = Product(folder, {"readings": TOLL}, settings), readings(), RowEngine()
    with pytest.MonkeyPatch.context() as patched:
        without_spark(patched)
        patched.setattr(RunContext, "engine", property(lambda _: engine))
        for number, run in enumerate(runs, 1):
            product.land("readings", run.objects)
            product.run(run.as_of, run_id=f"night-{number}")
    record(product.folder_of("events/readings"), TOLL, runs)
    return product.config
