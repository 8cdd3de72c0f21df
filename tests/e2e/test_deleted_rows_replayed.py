"""Replays of batches that need rows which retention has deleted: such tables are not compared, all others are."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import fork

import oracle
from product import DAY, Product
from tidemark.cli import invoke
from tidemark.commands.schedule import answer
from tidemark.errors import CheckFailed, UsageError

S = oracle.SECOND
BASE = 1_767_225_600 * S
pytestmark = pytest.mark.usefixtures("quick")
PLAIN = oracle.Source(late=(60 * S, "adjust"), partitions=("0",), landing_delay=S)
KEYED = replace(PLAIN, by=("k",), within=3 * DAY)
BRIEF = replace(PLAIN, by=("k",), within=S, partitions=("0", "silent"))
STREAMS = {
    "long": {"from": "plain", "tumbling": "3d", "select": {"n": "count(*)"}},
    "short": {"from": "plain", "tumbling": "1m", "select": {"n": "count(*)"}},
}

SOURCES = {"plain": PLAIN, "keyed": KEYED, "brief": BRIEF}


def daily(first: int, end: int, name: str) -> oracle.Run:
    """A run with three rows at the begin of each day; those of each day have equal keys."""
    objects = []
    for day in range(first, end):
        at = BASE + day * DAY
        rows = tuple(oracle.Row("0", at + n, at + n, f"k{n}") for n in range(3))
        objects.append(oracle.Obj(f"{name}{day:03d}", at + S, rows))
    return oracle.Run(objects[-1].modified, tuple(objects))


@pytest.fixture(scope="module")
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Four runs of three days each, of which the events of one day are kept."""
    request.getfixturevalue("quick")
    settings = {"streams": STREAMS, "retention": {"events": "1d"}}
    product = Product(tmp_path_factory.mktemp("deleted") / "p", SOURCES, settings)
    for first in range(0, 12, 3):
        for name in product.sources:
            product.land(name, daily(first, first + 3, name).objects)
        product.run(daily(first, first + 3, "").as_of, run_id=f"r{first}")
    return product


def replayed(product: Product, **options: Any) -> tuple[bool | None, dict[int, list[str]], dict[int, list[str]]]:
    """The verdict, and by batch the tables that differ and those that were not compared."""
    found = product.pipeline().replay(all_batches=True, **options)
    tables = [
        {
            batch["batch_id"]: [text.partition(":")[0] for text in batch[key]]
            for batch in found["batches"]
            if batch[key]
        }
        for key in ("differences", "not_compared")
    ]
    return found["identical"], tables[0], tables[1]


def test_tables_that_need_deleted_rows_are_not_compared(kept: Product, capsys: pytest.CaptureFixture[str]) -> None:
    verdict, differing, left = replayed(kept)
    assert (verdict, differing) == (None, {})
    assert "streams/long" in left[4]
    assert "events/keyed" in left[2], "its duplicates are of the day before the batch"
    assert "events/plain" not in {table for tables in left.values() for table in tables}
    assert invoke(["replay", str(kept.config), "--all"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    others = "Nothing differs" if len(left) == 4 else "The others are identical"
    assert f"{len(left)} of them could not be compared in full. {others}." in said
    assert (
        "streams/long: retention.events has deleted rows of plain that it needs, which arrived before 2026-" in said
    )


@pytest.mark.parametrize("given", [{"from_batch": 9}, {"from_batch": 3, "to_batch": 2}])
def test_a_range_without_a_batch_is_refused_and_not_called_identical(kept: Product, given: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"there is no committed batch from [93] to [24]"):
        kept.pipeline().replay(**given)


def test_without_landing_events_are_not_compared_either(kept: Product) -> None:
    verdict, differing, left = replayed(kept, input="events")
    assert (verdict, differing) == (None, {})
    assert "events/plain" in left[1]


def test_a_schedule_that_verifies_such_a_run_succeeds(kept: Product) -> None:
    found = answer(kept.pipeline().context, BASE + 11 * DAY + S, "r9")
    assert found["verified"]["identical"] is None


def replaced(path: Path) -> None:
    """Replace an object of landing under its old time and size."""
    times, text = path.stat(), path.read_text()
    path.write_text(text.replace("k1", "k2"))
    assert path.read_text() != text
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_batch_whose_keys_are_all_kept_differs_beside_a_silent_partition(kept: Product, tmp_path: Path) -> None:
    product = fork(kept, tmp_path / "p")
    at = BASE + 11 * DAY + 60 * S
    product.feed("brief", [oracle.Run(at + S, (oracle.Obj("last", at, (oracle.Row("0", at, at, "k1"),)),))])
    replaced(product.folder / "landing" / "brief" / "last")
    found = product.pipeline().replay()
    assert (found["identical"], found["batches"][0]["not_compared"]) == (False, [])


def test_what_differs_besides_is_a_difference(kept: Product, tmp_path: Path) -> None:
    product = fork(kept, tmp_path / "p")
    replaced(product.folder / "landing" / "plain" / "plain011")
    verdict, differing, left = replayed(product)
    assert verdict is False
    assert "events/plain" in differing[4]
    assert "streams/long" in left[4]
    assert invoke(["replay", str(product.config)]) == 1
    with pytest.raises(CheckFailed, match="events/plain"):
        answer(product.pipeline().context, BASE + 11 * DAY + S, "r9")


def test_stored_rows_of_a_backfill_are_not_compared_after_some_are_deleted(tmp_path: Path) -> None:
    product = Product(tmp_path / "p", {"plain": PLAIN}, {"streams": STREAMS})
    product.feed("plain", [daily(0, 3, "a")])
    pipeline = product.pipeline()
    product.version = pipeline.backfill(BASE + DAY, None, ["sources.plain.late_arrival.tolerance=2m"])["version"]
    pipeline.promote(product.version)
    product.sources["plain"] = replace(PLAIN, late=(120 * S, "adjust"))
    product.write()
    assert replayed(product) == (True, {}, {})
    assert product.pipeline().replay(all_batches=True)["batches"][0]["input"] == "stored"
    product.settings["retention"] = {"events": "1d"}
    product.write()
    product.feed("plain", [daily(3, 6, "b")])
    verdict, differing, left = replayed(product)
    assert (verdict, differing, left[1]) == (None, {}, ["events/plain"])
