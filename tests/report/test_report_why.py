"""What is abnormal and why: a week in which one sender was late on one morning, planted incidents, quiet weeks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from report_warehouse import record

from oracle import Obj, Row, Run, Source
from product import Product
from row_engine import RowEngine, without_spark
from tidemark.context import RunContext
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND, parse_time
from tidemark.pipeline import Pipeline

T0 = parse_time("2026-03-01T00:00:00Z")
GATES = ("G1", "G2", "G3")
TOLL = Source(
    late=(MINUTE, "drop"), out_of_order=(30 * SECOND, "adjust"), landing_delay=2 * HOUR, partitions=GATES
)  # fmt: skip


def readings() -> list[Run]:
    """Five days of three gates, a file each two hours, a run each night: G2 is 40 minutes late on 5 March, 06:00-10:00."""
    rng, runs = random.Random(11), []
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
            files.append(
                Obj(f"2026-03-0{day + 1}/{part:02d}.json", landed, tuple(sorted(rows, key=lambda r: r.arrival)))
            )
        runs.append(Run(T0 + (day + 1) * DAY + 2 * HOUR, tuple(files)))
    return runs


@pytest.fixture(scope="module")
def toll(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a pipeline that has judged these days; its rows are those of the oracle."""
    product, runs, engine = Product(tmp_path_factory.mktemp("toll"), {"readings": TOLL}), readings(), RowEngine()
    with pytest.MonkeyPatch.context() as patched:
        without_spark(patched)
        patched.setattr(RunContext, "engine", property(lambda _: engine))
        for number, run in enumerate(runs, 1):
            product.land("readings", run.objects)
            product.run(run.as_of, run_id=f"night-{number}")
    record(product.folder_of("events/readings"), TOLL, runs)
    return product.config


def test_the_sender_the_hours_the_files_and_the_tolerance_are_in_the_first_sentence(toll):
    answer = Pipeline.load(toll).why()
    (cause,) = answer["causes"]
    assert cause["sentence"] == ""
    assert (cause["source"], cause["partition"], cause["reason"], cause["fate"]) == (
        "readings",
        "G2",
        "late",
        "dropped",
    )
    assert (cause["from"], cause["to"]) == ("2026-03-05T06:00:00Z", "2026-03-05T10:00:00Z")
    assert {*cause["files"]} == {"2026-03-05/06.json", "2026-03-05/08.json"}
    assert cause["remedy"] == f"late_arrival 45m would have kept {cause['rows']}"
    late = [
        row for run in readings()[4:] for file in run.objects for row in file.rows if row.arrival - row.event > MINUTE
    ]
    morning = [row for row in late if row.partition == "G2" and 6 * HOUR <= row.arrival % DAY < 10 * HOUR]
    assert (cause["rows"], cause["kept"]) == (len(morning), len(morning))
    assert cause["sentence"].startswith(f"{len(morning)} of {len(late)} dropped rows are G2's")
