"""Streams over rows of the first and the last moments there are: progress lies beyond the years that readers know."""

from __future__ import annotations

from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import pytest
from samples import at, feed
from test_streams import declared, hold_equal, hold_replayed, hold_told, payload

from oracle import MAX_TIME, MIN_TIME, SECOND, Obj, Row, Run, Source
from oracle_streams import Step, Window, flow
from product import Product

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
