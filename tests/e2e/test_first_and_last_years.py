"""Streams over rows of the first and the last moments there are: progress lies beyond the years that readers know."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import pytest
from samples import at, feed
from test_streams import declared, hold_equal, hold_replayed, hold_told, payload

from oracle import MAX_TIME, MIN_TIME, SECOND, Obj, Row, Run, Source
from oracle_streams import Step, Window, flow
from product import Product
from tidemark.pipeline import Pipeline

SOURCE = Source(early=None, late=None, out_of_order=(2 * SECOND, "adjust"), partitions=("0", "1"))
FIRST = (0, 1, 3, 8, 21)
"""Seconds after the first moment of a run's rows, and before the last one."""
TIMES = [MIN_TIME + seconds * SECOND for seconds in FIRST] + [MAX_TIME - seconds * SECOND for seconds in FIRST[::-1]]
SHIFT = 11 * SECOND
pytestmark = pytest.mark.usefixtures("quick")


def runs() -> tuple[Run, ...]:
    """Each brings a row of one time to both partitions."""
    return tuple(
        Run(at(number), (Obj(f"o{number}", at(number), tuple(Row(name, time, at(number), "a") for name in "01")),))
        for number, time in enumerate(TIMES, 1)
    )


def batches(product: Product) -> list[dict[str, Any]]:
    """The rows of `batches`, in order, every time of them a datetime."""
    return sorted(product.table("batches"), key=itemgetter("batch_id"))


@pytest.mark.long
def test_every_kind_of_stream_is_the_oracles_and_its_progress_can_be_read(tmp_path):
    logs = {"a": (SOURCE, runs()), "b": (SOURCE, runs())}
    product = hold_equal(tmp_path, logs)
    hold_replayed(product)
    first, *_, last = batches(product)
    shown = {stream["stream"]: stream["watermark"] for stream in first["streams"]}
    assert shown["shifted"] == shown["tumbling"] == datetime(1, 1, 1, tzinfo=UTC)
    assert {stream["watermark"].year for stream in last["streams"]} == {9999}


def test_progress_beyond_the_years_is_kept_to_the_microsecond_and_shown_at_their_bound(tmp_path):
    window = Window(4 * SECOND, 2 * SECOND)
    steps = {
        "before": Step(("a",), shift=-SHIFT, publish=True),
        "after": Step(("a",), shift=SHIFT, publish=True),
        "windows": Step(("before",), window=window),
    }
    configured = {
        "before": {"from": "a", "shift": "-11s", "publish": True},
        "after": {"from": "a", "shift": "11s", "publish": True},
        "windows": declared(window, "before", {"n": "count(*)"}),
    }
    product = Product(tmp_path, {"a": SOURCE}, {"streams": configured})
    said = feed(product, {"a": (SOURCE, runs())})
    for run, wanted in zip(said, flow({"a": (SOURCE, runs())}, steps, payload), strict=True):
        for name, outcome in wanted.items():
            hold_told(run["streams"][name], outcome, name)
    first, *_, last = batches(product)
    assert {stream["watermark"] for stream in first["streams"] if stream["stream"] != "after"} == {
        datetime(1, 1, 1, tzinfo=UTC)
    }
    shown = {stream["stream"]: stream["watermark"] for stream in last["streams"]}
    assert shown["after"] == datetime.max.replace(tzinfo=UTC)
    hold_replayed(product)


OLD_DAYS = """
pipeline: tested
warehouse: ./warehouse
sources:
  a: {landing: ./landing, format: json, schema: "t TIMESTAMP, d DATE", timestamp_by: t, late_arrival: off}
streams:
  rows: {from: a, publish: true}
  visits: {from: a, session: {gap: 1m, max_duration: 1h}, group_by: [d], select: {n: count(*)}}
"""


def test_days_that_the_julian_calendar_lacks_are_days_as_others(tmp_path):
    """1582-10-05 to 1582-10-14 are missing in Java's older dates."""
    (tmp_path / "p.yml").write_text(OLD_DAYS)
    (tmp_path / "landing").mkdir()
    days = ("1582-10-05", "1582-10-05", "1582-10-15")
    times = ("1582-10-10T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:10Z")
    pipeline = Pipeline.load(tmp_path / "p.yml")
    for number, (day, time) in enumerate(zip(days, times, strict=True)):
        landed = tmp_path / "landing" / f"{number}.json"
        landed.write_text(json.dumps({"t": time, "d": day}))
        os.utime(landed, (at(number) // SECOND,) * 2)
        pipeline.run(as_of=at(number))
    pipeline.close(as_of=at(9))
    shown = [sorted(str(row["t"]) for row in pipeline.table("streams/rows").to_table().to_pylist())]
    assert shown == [sorted(f"{time[:10]} {time[11:19]}+00:00" for time in times)]
    visits = pipeline.table("streams/visits").to_table().sort_by("_window_start").to_pylist()
    assert [(str(row["_window_start"])[:19], str(row["d"]), row["n"]) for row in visits] == [
        (f"{time[:10]} {time[11:19]}", day, 1) for time, day in zip(times, days, strict=True)
    ]
    assert pipeline.replay(all_batches=True)["identical"]
