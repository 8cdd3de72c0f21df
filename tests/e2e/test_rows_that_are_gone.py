"""Streams that are added, or built anew, when `start` or retention has left rows out: no output lacks one of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import oracle
from product import DAY, Product, micros
from tidemark.commands.maintain import maintain
from tidemark.errors import ConfigError, UsageError

S = oracle.SECOND
BASE = 1_767_225_600 * S
"""2026-01-01, where windows of three days begin."""
pytestmark = pytest.mark.usefixtures("quick")
SOURCE = oracle.Source(late=(60 * S, "adjust"), partitions=("0",), landing_delay=S)
STARTED = dataclasses.replace(SOURCE, start=BASE + 2 * DAY)
MINUTES = {"m": {"from": "s", "tumbling": "1m", "select": {"n": "count(*)"}}}
DAYS = {"w": {"from": "s", "tumbling": "3d", "select": {"n": "count(*)"}}}
HOURS = {"h": {"from": "s", "tumbling": "1h", "select": {"n": "count(*)"}}}
VISITS = {"v": {"from": "s", "session": {"gap": "1h"}, "select": {"n": "count(*)"}}}


def daily(day: int) -> oracle.Run:
    """A run with three rows at the beginning of a day."""
    at = BASE + day * DAY
    rows = tuple(oracle.Row("0", at + number, at + number) for number in range(3))
    return oracle.Run(at + S, (oracle.Obj(f"{day:03d}", at + S, rows),))


RUNS = tuple(map(daily, range(12)))


def windows(product: Product, name: str = "w") -> dict[int, int]:
    """Counted rows by days from the base to the end of the window."""
    return {(micros(row["_window_end"]) - BASE) // DAY: row["n"] for row in product.table(f"streams/{name}")}


def fed(folder: Path, source: oracle.Source, runs: tuple[oracle.Run, ...], **settings: Any) -> Product:
    product = Product(folder, {"s": source}, settings)
    product.feed("s", runs)
    return product


def go_on(product: Product, runs: tuple[oracle.Run, ...], **settings: Any) -> None:
    product.settings |= settings
    product.write()
    product.feed("s", runs)


BY_PARTITION = {
    kind: {"from": "s", **window, "partition_by": "partition", "select": {"n": "count(*)"}}
    for kind, window in (("m", {"tumbling": "1m"}), ("v", {"session": {"gap": "30s", "max_duration": "1m"}}))
}


def test_parts_that_are_ahead_lack_no_window_of_a_stream_that_is_added(tmp_path: Path) -> None:
    """Partition 1 is ten minutes ahead when streams by partition are added, and the next run brings it no row."""
    source = dataclasses.replace(SOURCE, partitions=("0", "1"), late=(3600 * S, "adjust"))
    runs = (ahead(("0", "1"), 0, 610), ahead(("1",), 600, 611), ahead(("0",), 60, 612), ahead(("0", "1"), 7200, 7210))
    whole = fed(tmp_path / "whole", source, runs, streams=BY_PARTITION)
    added = fed(tmp_path / "added", source, runs[:2])
    go_on(added, runs[2:], streams=BY_PARTITION)
    for name in BY_PARTITION:
        expected = counted(whole, name)
        assert {part for part, _, _ in expected} == {"0", "1"}
        assert counted(added, name) == expected, name
    assert added.pipeline().replay()["identical"]


def ahead(partitions: tuple[str, ...], seconds: int, listed: int) -> oracle.Run:
    """A run with two rows of each partition; their time and that of the run in seconds after the base."""
    at, landed = BASE + seconds * S, BASE + listed * S - S
    objects = (
        oracle.Obj(f"{part}-{seconds}", landed, tuple(oracle.Row(part, at + n, at + n) for n in range(2)))
        for part in partitions
    )
    return oracle.Run(landed + S, tuple(objects))


def counted(product: Product, name: str) -> list[tuple[str, int, int]]:
    rows = product.table(f"streams/{name}")
    return sorted((row["_partition"], (micros(row["_window_end"]) - BASE) // S, row["n"]) for row in rows)


@pytest.mark.parametrize("kept", ["1d", "30d"])
def test_an_added_stream_begins_with_the_first_window_that_lacks_no_deleted_row(tmp_path: Path, kept: str) -> None:
    product = fed(tmp_path, SOURCE, (together(0, 5), RUNS[5]), retention={"events": "1d"})
    assert {row["_arrival_time"] // DAY - BASE // DAY for row in product.events("s")} == {4, 5}
    go_on(product, (RUNS[6], together(7, 11), RUNS[11]), streams=DAYS, retention={"events": kept})
    assert windows(product) == {9: 9}, "the window to day 6 has rows of days 3 to 5, and those of day 3 are deleted"
    assert product.pipeline().replay()["identical"]


def test_an_added_stream_begins_at_the_watermark_if_retention_has_deleted_nothing(tmp_path: Path) -> None:
    product = fed(tmp_path, SOURCE, (together(0, 5),), retention={"events": "300d"})
    go_on(product, (together(5, 8),), streams=DAYS)
    assert windows(product) == {6: 9}


def test_streams_of_a_later_start_never_lack_rows_before_it(tmp_path: Path) -> None:
    product = fed(tmp_path, STARTED, (together(0, 3),), streams=MINUTES)
    assert len(product.events("s")) == 3, "rows of the first two days are left out"
    with pytest.raises(ConfigError, match=r"streams\.v: a new stream that depends on rows of any age"):
        go_on(product, RUNS[3:4], streams=MINUTES | VISITS)
    go_on(product, (together(3, 8),), streams=MINUTES | DAYS)
    assert windows(product) == {6: 9}, "that of the first three days has no rows of two"
    longer = {"m": {**MINUTES["m"], "tumbling": "3d"}}
    product.settings["streams"] = longer | DAYS
    product.write()
    begin = "2026-01-03T00:00:00Z"
    with pytest.raises(UsageError, match="needs rows of the source 's' that start left out"):
        product.pipeline().backfill(begin)
    built = product.pipeline().backfill(begin, from_landing=True)
    product.version = built["version"]
    assert windows(product, "m") == {3: 9, 6: 9}


def test_a_new_stream_over_intervals_is_refused_if_start_has_left_some_out(tmp_path: Path) -> None:
    lasting = dataclasses.replace(STARTED, interval=True)
    runs = tuple(map(week_long, (together(0, 4), RUNS[4])))
    product = fed(tmp_path, lasting, runs[:1])
    assert len(product.events("s")) == 6, "intervals of the first two days are left out, though they last for a week"
    with pytest.raises(ConfigError, match=r"streams\.h: .* may last until now, and are in no table") as caught:
        go_on(product, runs[1:], streams=HOURS)
    assert "--from-landing" in (caught.value.hint or "")
    built = product.pipeline().backfill("2026-01-03T00:00:00Z", from_landing=True)
    product.version = built["version"]
    assert {row["n"] for row in product.table("streams/h")} == {9}


@pytest.mark.parametrize("kind", ["visits", "lives"])
def test_what_may_need_windows_of_any_age_is_refused_over_windows_that_are_added(tmp_path: Path, kind: str) -> None:
    """Windows of before are in no table: a session of them may have begun at any time, a life of one may go on."""
    of_minutes = {**VISITS["v"], "from": "m"} if kind == "visits" else {"from": "living", "tumbling": "3d"}
    living = {"from": "m", "lifetime": {"until": "_system_timestamp + INTERVAL 9 DAYS"}, "publish": True}
    streams = MINUTES | {"v": {**of_minutes, "select": {"n": "count(*)"}}}
    streams |= {"living": living} if kind == "lives" else {}
    product = fed(tmp_path, SOURCE, (together(0, 4),))
    reason = r"streams\.v: a new stream that depends on rows of any age, but the stream 'm' below it, which is added"
    with pytest.raises(ConfigError, match=reason) as caught:
        go_on(product, RUNS[4:5], streams=streams)
    assert "tidemark backfill" in (caught.value.hint or "")
    assert not product.pipeline().ledger.last().pending
    built = product.pipeline().backfill(BASE)
    product.pipeline().promote(built["version"])
    product.version = built["version"]
    go_on(product, (RUNS[5], together(6, 12)), streams=streams)
    whole = fed(tmp_path / "whole", SOURCE, (together(0, 6), together(6, 12)), streams=streams)
    assert whole.table("streams/v")
    assert counts(product, "v") == counts(whole, "v")


def test_a_stream_added_over_one_that_a_backfill_made_begins_where_it_lacks_no_window(tmp_path: Path) -> None:
    """The backfill made the days from the fifth on: three days to the sixth have one of before."""
    days = {"d": {"from": "s", "tumbling": "1d", "select": {"n": "count(*)"}}}
    over = {"w": {"from": "d", "tumbling": "3d", "select": {"n": "sum(n)"}}}
    product = fed(tmp_path, SOURCE, (together(0, 6),))
    product.settings["streams"] = days
    product.write()
    product.pipeline().promote(product.pipeline().backfill(BASE + 4 * DAY)["version"])
    product.version = 2
    assert windows(product, "d") == {5: 3}
    visits = {"v": {**VISITS["v"], "from": "d"}}
    with pytest.raises(ConfigError, match=r"streams\.v: a new stream .* but the stream 'd' below it"):
        go_on(product, RUNS[6:7], streams=days | visits)
    product.settings["streams"] = days | over
    product.write()
    product.run(RUNS[6].as_of)
    product.feed("s", [together(7, 12)])
    assert windows(product, "d") == dict.fromkeys(range(5, 12), 3)
    assert windows(product) == {9: 9}
    assert product.pipeline().replay(all_batches=True)["identical"]


def test_retention_deletes_old_days_though_each_day_begins_with_a_run_without_objects(tmp_path: Path) -> None:
    product = Product(tmp_path, {"s": SOURCE}, {"retention": {"events": "1d"}})
    for day in range(4):
        noon = BASE + day * DAY + DAY // 2
        product.run(noon - DAY // 2)  # starts no JVM, which the deletion of events needs
        product.land("s", [oracle.Obj(f"{day}", noon, (oracle.Row("0", noon, noon),))])
        product.run(noon + S)
    assert days(product) == [2, 3]
    product.run(BASE + 9 * DAY)
    assert days(product) == [2, 3]
    maintain(product.pipeline().context)
    assert days(product) == []


def days(product: Product) -> list[int]:
    return sorted({(row["_arrival_time"] - BASE) // DAY for row in product.events("s")})


def together(first: int, end: int) -> oracle.Run:
    """A run with all rows of several days."""
    runs = [daily(day) for day in range(first, end)]
    return oracle.Run(runs[-1].as_of, tuple(item for run in runs for item in run.objects))


def counts(product: Product, name: str) -> list[tuple[int | None, int]]:
    return sorted((micros(row["_window_end"]), row["n"]) for row in product.table(f"streams/{name}"))


def week_long(run: oracle.Run) -> oracle.Run:
    """A run whose rows last for a week."""
    objects = []
    for landed in run.objects:
        rows = tuple(dataclasses.replace(row, end=(row.event or 0) + 7 * DAY) for row in landed.rows)
        objects.append(dataclasses.replace(landed, rows=rows))
    return dataclasses.replace(run, objects=tuple(objects))
