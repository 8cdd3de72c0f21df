"""Runs that a scheduler asks for: in any order, twice, over intervals that are answered for already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from samples import Crash, at, contents, hold_conservation, hold_replay, obj

from oracle import SECOND, Source
from product import Product
from tidemark.commands.alerts.due import owed
from tidemark.commands.schedule import ScheduledWork, answer, foresee
from tidemark.errors import CheckFailed

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = Source(late=(20 * SECOND, "adjust"), out_of_order=(2 * SECOND, "adjust"), landing_delay=5 * SECOND)
MINUTES = {"minutes": {"from": "s", "tumbling": "10s", "select": {"n": "count(*)"}}}
INTERVALS = (10, 20, 30, 40)


@pytest.fixture
def landed(tmp_path) -> Product:
    """Objects of three of four intervals."""
    product = Product(tmp_path / "landed", {"s": SOURCE}, {"streams": MINUTES})
    product.land("s", [obj(f"{end}", end - 3, 12) for end in INTERVALS if end != 30])
    return product


def copy_of(product: Product, folder: Path) -> Product:
    shutil.copytree(product.folder / "landing", folder / "landing")
    return Product(folder, product.sources, product.settings)


def scheduled(product: Product, ends: Sequence[int]) -> list[ScheduledWork]:
    """What each interval's run came to; those that have nothing to do are left out."""
    needs = []
    for end in ends:
        foreseen = foresee(product.pipeline().context, at(end), f"scheduled-{end}")
        needs.append(foreseen.need)
        if foreseen.need is not ScheduledWork.NOTHING:
            answer(product.pipeline().context, at(end), f"scheduled-{end}")
    return needs


def published(product: Product) -> dict[str, list[tuple]]:
    """Rows without the batches and runs that wrote them, which depend on the cut."""
    events = [(row["_partition"], row["_offset"], row["_system_timestamp"]) for row in product.events("s")]
    windows = [(row["_window_start"], row["n"]) for row in product.table("streams/minutes")]
    return {"events": sorted(events, key=str), "windows": sorted(windows)}


def test_intervals_in_order_in_reverse_and_twice_come_to_the_same_tables(tmp_path, landed):
    backwards, mixed = (copy_of(landed, tmp_path / name) for name in ("backwards", "mixed"))
    assert scheduled(landed, INTERVALS) == [
        ScheduledWork.RUN,
        ScheduledWork.RUN,
        ScheduledWork.NOTHING,
        ScheduledWork.RUN,
    ]
    assert scheduled(backwards, INTERVALS[::-1]) == [
        ScheduledWork.RUN,
        ScheduledWork.VERIFY,
        ScheduledWork.VERIFY,
        ScheduledWork.VERIFY,
    ]
    assert scheduled(mixed, (20, 10, 40, 30)) == [
        ScheduledWork.RUN,
        ScheduledWork.VERIFY,
        ScheduledWork.RUN,
        ScheduledWork.VERIFY,
    ]
    assert published(landed) == published(backwards) == published(mixed)
    before = contents(landed)
    assert scheduled(landed, INTERVALS) == [ScheduledWork.VERIFY] * 4
    assert contents(landed) == before


def test_intervals_at_once_come_to_the_tables_of_those_in_order(tmp_path, landed):
    at_once = copy_of(landed, tmp_path / "at_once")
    scheduled(landed, INTERVALS)
    with ThreadPoolExecutor(len(INTERVALS)) as pool:
        asked = [pool.submit(answer, at_once.pipeline().context, at(end), f"scheduled-{end}") for end in INTERVALS]
        for done in asked:
            done.result()
    assert published(at_once) == published(landed)
    hold_conservation(at_once)
    hold_replay(at_once)


def test_a_run_that_finds_nothing_and_moves_nothing_has_nothing_to_do(tmp_path):
    product = Product(tmp_path, {"s": SOURCE})
    assert scheduled(product, (10,)) == [ScheduledWork.NOTHING]
    product.land("s", [obj("a", 12)])
    assert scheduled(product, (10, 20, 30)) == [ScheduledWork.NOTHING, ScheduledWork.RUN, ScheduledWork.NOTHING]


def test_streams_go_on_without_rows_until_time_has_passed_them(tmp_path):
    product = Product(tmp_path, {"s": SOURCE}, {"streams": MINUTES})
    product.land("s", [obj("a", 5)])
    assert scheduled(product, (10, 60)) == [ScheduledWork.RUN, ScheduledWork.RUN]
    assert product.table("streams/minutes")


def test_an_interval_whose_rows_are_others_now_fails_to_verify(landed):
    scheduled(landed, (10, 20))
    path = landed.folder / "landing" / "s" / "10"
    before, text = path.stat(), path.read_text()
    path.write_text(text.replace("00:00:0", "00:00:1", 1))
    os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
    with pytest.raises(CheckFailed, match=r"scheduled-10 comes out differently now: .*events/s"):
        answer(landed.pipeline().context, at(10), "scheduled-10")


def test_a_run_that_died_is_finished_by_whoever_comes_next(landed):
    class Died(BaseException):
        pass

    def die(step: str) -> None:
        if step == "events":
            raise Died

    pipeline = landed.pipeline()
    pipeline.context.on_checkpoint = die
    with pytest.raises(Died):
        answer(pipeline.context, at(10), "scheduled-10")
    assert foresee(landed.pipeline().context, at(10), "scheduled-10").need is ScheduledWork.RUN
    done = answer(landed.pipeline().context, at(10), "scheduled-10")
    assert done["repaired"] == ["scheduled-10"]
    assert foresee(landed.pipeline().context, at(10), "scheduled-10").need is ScheduledWork.VERIFY


def test_the_run_that_ended_an_abandoned_one_answers_for_its_interval(tmp_path):
    """What the abandoned run had committed is published by the next one. Its own name is that of no run."""
    product = Product(tmp_path, {"s": SOURCE}, {"streams": MINUTES})
    product.land("s", [obj("a", 7, 12), obj("b", 8, 12)])

    def on_checkpoint(step: str) -> None:
        if step == "committed":
            raise Crash(step)

    product.hooks = {"on_checkpoint": on_checkpoint}
    with pytest.raises(Crash):
        product.run(at(10), run_id="scheduled-10", max_files=1)
    product.hooks = {}
    product.pipeline().abandon("scheduled-10", "its second object is wrong")
    for end, need in ((10, ScheduledWork.RUN), (20, ScheduledWork.RUN)):
        assert foresee(product.pipeline().context, at(end), f"later-{end}").need is need
    (tmp_path / "landing" / "s" / "b").unlink()
    assert foresee(product.pipeline().context, at(20), "scheduled-20").why.startswith("nothing has landed, but")
    (owes,) = owed(product.pipeline().context, at(20))
    assert (owes.stream, owes.published) == ("minutes", None)
    assert owes.due is not None, "by the rows that were committed"
    assert answer(product.pipeline().context, at(20), "scheduled-20")["run_id"] == "scheduled-20"
    assert owed(product.pipeline().context, at(20)) == []
    for name in ("scheduled-10", "scheduled-20", "manual"):
        foreseen = foresee(product.pipeline().context, at(10), name)
        assert (foreseen.need, foreseen.run_id) == (ScheduledWork.VERIFY, "scheduled-20")
        found = answer(product.pipeline().context, at(10), name)
        assert (found["run_id"], found["verified"]["identical"]) == ("scheduled-20", True)
