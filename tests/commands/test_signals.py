"""What `publish` emits follows from the ledger alone, whoever made its runs. No JVM starts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from oracle import Obj, Row, Source
from product import Product
from row_engine import without_streams
from tidemark.commands.completeness.changed import EVERYTHING, changed
from tidemark.commands.completeness.signals import Signal, run_signal, stream_signal
from tidemark.config.scheduling.periods import periods_of
from tidemark.core.completeness.emitted import Emitted
from tidemark.core.times import DAY, HOUR, MAX_TIME, MINUTE, format_time, parse_time
from tidemark.ledger import versions
from tidemark.ledger.versions import Made

BEGIN = parse_time("2026-03-01T00:00:00Z")
SOURCE = Source(early=None, late=(10 * MINUTE, "adjust"), out_of_order=(10 * MINUTE, "adjust"))
HOURS: dict[str, Any] = {"streams": {"hours": {"from": "s", "tumbling": "1h", "select": {"n": "count(*)"}}}}


@pytest.fixture(autouse=True)
def no_spark() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        without_streams(patched)
        yield


@pytest.fixture
def product(tmp_path) -> Product:
    product = Product(tmp_path, {"s": SOURCE}, HOURS | {"start": format_time(BEGIN)})
    product.run(BEGIN + HOUR)
    return product


def land(product: Product, time: int, rows: int = 2) -> None:
    """Rows of a time land then."""
    row = Row("p", time, time)
    product.land("s", [Obj(f"{time}", time, (row,) * rows)])


def of_hours(product: Product, before: Emitted | None = None, name: str = "hours") -> Signal | None:
    context = product.pipeline().context
    return stream_signal(context, name, periods_of(context.spec)[name], before)


def of_runs(product: Product, before: Emitted | None = None) -> Signal | None:
    return run_signal(product.pipeline().context, before)


def hours(*numbers: int) -> tuple[str, ...]:
    return tuple(f"2026-03-01T{number:02d}:00:00" for number in numbers)


def test_nothing_is_emitted_before_the_first_run_and_when_nothing_came(tmp_path, product):
    fresh = Product(tmp_path / "fresh", {"s": SOURCE}, HOURS)
    assert of_runs(fresh) is None
    assert of_hours(fresh) is None
    assert of_runs(product) is None
    land(product, BEGIN + 2 * HOUR)
    product.run(BEGIN + 2 * HOUR)
    first = of_runs(product)
    assert first is not None
    assert first.extra["rows"] == 2
    product.run(BEGIN + 3 * HOUR)
    assert of_runs(product, first.after) is None


def test_an_hour_is_due_once_the_watermark_is_at_its_end(product):
    land(product, BEGIN + 2 * HOUR + 10 * MINUTE - 1)
    product.run(BEGIN + 2 * HOUR + 10 * MINUTE - 1)
    before = of_hours(product)
    assert before is not None
    assert before.keys == hours(0)
    land(product, BEGIN + 2 * HOUR + 10 * MINUTE)
    product.run(BEGIN + 2 * HOUR + 10 * MINUTE)
    found = of_hours(product, before.after)
    assert found is not None
    assert found.keys == hours(1)
    assert found.extra["watermark"] == format_time(BEGIN + 2 * HOUR)
    assert of_hours(product, found.after) is None


def test_a_run_of_a_person_in_between_is_part_of_the_next_event(product):
    """The scheduled run after it only verifies it, or has nothing to do, and has no record of its own."""
    for number in (2, 3):
        land(product, BEGIN + number * HOUR)
        product.run(BEGIN + number * HOUR, run_id=f"scheduled-{number}")
    emitted = of_runs(product), of_hours(product)
    assert emitted[0] is not None
    assert emitted[1] is not None
    land(product, BEGIN + 5 * HOUR)
    product.run(BEGIN + 5 * HOUR, run_id="by hand")
    found, periods = of_runs(product, emitted[0].after), of_hours(product, emitted[1].after)
    assert found is not None
    assert (found.extra["runs"], found.extra["rows"], found.extra["run_id"]) == (["by hand"], 2, "by hand")
    assert periods is not None
    assert periods.keys == hours(2, 3)


def test_a_stream_that_is_closed_is_complete_to_the_end_of_the_day(product):
    land(product, BEGIN + 2 * HOUR)
    product.pipeline().close(as_of=BEGIN + 3 * HOUR)
    found = of_hours(product)
    assert found is not None
    assert found.keys == hours(*range(24))
    assert found.extra["complete"]
    product.run(BEGIN + 4 * HOUR)
    assert of_hours(product, found.after) is None


def test_without_a_start_periods_count_from_the_day_of_the_first_row(tmp_path):
    product = Product(tmp_path, {"s": SOURCE}, HOURS)
    land(product, BEGIN + 90 * MINUTE)
    product.run(BEGIN + 2 * HOUR)
    land(product, BEGIN + 3 * HOUR)
    product.run(BEGIN + 3 * HOUR)
    assert of_hours(product) is None, "no table has a row"
    time = datetime(2026, 3, 1, 1, 30, tzinfo=UTC)
    rows = pa.table({"_system_timestamp": pa.array([time], pa.timestamp("us", "UTC"))})
    write_deltalake(product.folder_of("events/s"), rows)
    found = of_hours(product)
    assert found is not None
    assert found.keys == hours(0, 1)


def test_a_period_that_begins_before_the_start_is_not_emitted(tmp_path):
    settings = HOURS | {"start": format_time(BEGIN + 30 * MINUTE), "airflow": {"periods": {"hours": "hour"}}}
    product = Product(tmp_path, {"s": SOURCE}, settings)
    land(product, BEGIN + 4 * HOUR)
    product.run(BEGIN + 4 * HOUR)
    found = of_hours(product)
    assert found is not None
    assert found.keys == hours(1, 2)


def promote(product: Product, streams: tuple[str, ...], first: int, to: int | None, **changes: Any) -> int:
    """Let a copy of the live version be live, as a backfill of a range that changed these streams."""
    ledger = product.pipeline().ledger
    record = ledger.batches(ledger.last().committed_through, ledger.last().committed_through)[0]
    difference = json.dumps({"rows": {}, "streams": {name: {} for name in streams}, "dead_letters": {}})
    made = Made(
        first, to, record.fingerprint, record.configuration, ledger.version, record.batch_id, None, 0, difference
    )
    reserved = versions.reserve(ledger.root)
    shutil.copytree(ledger.folder, ledger.root / f"v{reserved.number}")
    versions.add(ledger.root, BEGIN, replace(made, **changes), reserved)
    versions.promote(ledger.root, reserved.number, BEGIN)
    return reserved.number


def test_a_promotion_emits_the_days_that_it_changed_again_and_says_so(product):
    land(product, BEGIN + DAY + 6 * HOUR)
    product.run(BEGIN + DAY + 6 * HOUR)
    runs, emitted = of_runs(product), of_hours(product)
    assert runs is not None
    assert emitted is not None
    assert len(emitted.keys) == 29
    promote(product, ("hours",), BEGIN + 2 * HOUR, BEGIN + 3 * HOUR)
    found, said = of_hours(product, emitted.after), of_runs(product, runs.after)
    assert found is not None
    assert found.keys == hours(*range(24))
    assert found.extra["again"] == [["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"]]
    assert (found.extra["version"], found.extra["path"]) == (
        2,
        str(product.folder / "warehouse/tested/v2/streams/hours"),
    )
    assert said is not None
    assert (said.extra["promoted"], said.extra["version"], said.extra["runs"]) == (True, 2, [])
    assert of_hours(product, found.after) is None
    assert of_runs(product, said.after) is None


def test_a_promotion_that_did_not_change_a_stream_emits_nothing_again(product):
    land(product, BEGIN + 6 * HOUR)
    product.run(BEGIN + 6 * HOUR)
    emitted = of_hours(product)
    assert emitted is not None
    promote(product, ("other",), BEGIN, None)
    assert of_hours(product, emitted.after) is None


def test_what_changed_between_versions_follows_their_backfills(product):
    ledger = product.pipeline().ledger
    land(product, BEGIN + 6 * HOUR)
    product.run(BEGIN + 6 * HOUR)
    through = product.pipeline().ledger.last().committed_through
    assert promote(product, ("hours",), BEGIN, BEGIN + HOUR) == 2
    assert promote(product, ("other",), BEGIN + 2 * HOUR, None, fingerprint="other settings") == 3
    live = product.pipeline().ledger
    assert changed(live, "hours", Emitted(1, through)) == [(BEGIN, BEGIN + HOUR)]
    assert changed(ledger, "hours", Emitted(3, through)) == [(BEGIN, BEGIN + HOUR)], "back to the first version"
    assert changed(live, "hours", Emitted(2, through)) == []
    assert changed(live, "other", Emitted(2, through)) == [(BEGIN + 2 * HOUR, MAX_TIME)]
    later = changed(live, "hours", Emitted(2, through + 1))
    assert later == [(BEGIN + 5 * HOUR, MAX_TIME)], "runs after the backfill were made under other settings"
    assert changed(live, "hours", Emitted(9, through)) == [EVERYTHING]
    versions.forget(live.root, [2])
    assert changed(live, "hours", Emitted(1, through)) == [EVERYTHING]


def test_outputs_that_a_backfill_changed_outside_of_its_range_are_emitted_again(product):
    """Windows that end in the range begin before it; a backfill from landing changes outputs of any time."""
    land(product, BEGIN + 6 * HOUR)
    product.run(BEGIN + 6 * HOUR)
    through = product.pipeline().ledger.last().committed_through
    assert promote(product, ("hours",), BEGIN + 5 * HOUR, BEGIN + 6 * HOUR) == 2
    live = product.pipeline().ledger
    times = pa.array([BEGIN + 3 * HOUR, BEGIN + 7 * HOUR], pa.timestamp("us", "UTC"))
    write_deltalake(str(live.folder / "difference/streams/hours"), pa.table({"_window_start": times}))
    assert changed(live, "hours", Emitted(1, through)) == [(BEGIN + 3 * HOUR, BEGIN + 7 * HOUR + 1)]
    ends = pa.array([None, BEGIN + 9 * HOUR], pa.timestamp("us", "UTC"))
    lives = pa.table({"_system_timestamp": times, "_end_time": ends})
    write_deltalake(str(live.folder / "difference/streams/other"), lives)
    assert promote(product, ("other",), BEGIN + 5 * HOUR, BEGIN + 6 * HOUR) == 3
    live = product.pipeline().ledger
    assert changed(live, "other", Emitted(2, through)) == [(BEGIN + 3 * HOUR, BEGIN + 9 * HOUR + 1)]


def test_a_warehouse_that_was_made_anew_is_emitted_from_its_begin(product):
    land(product, BEGIN + 3 * HOUR)
    product.run(BEGIN + 3 * HOUR)
    runs, emitted = of_runs(product), of_hours(product)
    assert runs is not None
    assert emitted is not None
    shutil.rmtree(product.folder / "warehouse")
    product.run(BEGIN + 3 * HOUR)
    again, said = of_hours(product, Emitted.of(emitted.after.record)), of_runs(product, Emitted.of(runs.after.record))
    assert again is not None
    assert again.keys == emitted.keys
    assert said is not None
    assert (said.extra["rows"], said.extra["promoted"]) == (2, False)
    before = {name: value for name, value in again.after.record.items() if name != "warehouse"}
    assert of_hours(product, Emitted.of(before)) is None, "a record of before this was kept"
