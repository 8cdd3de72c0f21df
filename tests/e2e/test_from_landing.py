"""A backfill that reads landing again: what came too late or was repaired there is in the version, as if it had been
there in time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import Crash, CrashAt, at, fork, obj, rows
from test_backfill import SOURCE, STEPS, events, hold_ledger, product_in, runs, table, windows
from test_streams import payload

from oracle import Obj, Run, judge
from oracle_streams import flow
from product import Product, expected
from tidemark.cli import invoke
from tidemark.errors import ConfigError, UsageError

pytestmark = pytest.mark.usefixtures("quick")
NUMBER = 4
REPAIRED, LATE = "002", "late/017"
T0 = at(22)


@pytest.fixture(scope="module")
def live(request, tmp_path_factory) -> Product:
    request.getfixturevalue("quick")
    product = product_in(tmp_path_factory.mktemp("landed"))
    product.feed("a", runs(NUMBER))
    return product


@pytest.fixture
def product(live, tmp_path) -> Product:
    return fork(live, tmp_path / "copy")


def repaired() -> Obj:
    """An object of the third run with fewer rows, some of them others."""
    (then,) = [each for run in runs() for each in run.objects if each.uri == REPAIRED]
    return replace(then, rows=(*then.rows[:4], *rows(99, 3, then.modified), *then.rows[8:]))


def as_it_should_be(number: int = NUMBER) -> tuple[Run, ...]:
    """The runs with the repaired object and the one that came too late."""
    found = []
    for run in runs(number):
        objects = [repaired() if each.uri == REPAIRED else each for each in run.objects]
        if run.as_of == at(20):
            objects.append(obj(LATE, 17))
        found.append(replace(run, objects=tuple(sorted(objects, key=lambda each: (each.modified, each.uri)))))
    return tuple(found)


def repair(product: Product) -> None:
    product.land("a", [replace(repaired(), modified=at(1000)), obj(LATE, 17)])


def hold_oracle(product: Product, version: int, log: tuple[Run, ...]) -> None:
    assert events(product, version) == expected(judge(SOURCE, log))
    written = [item for run in flow({"a": (SOURCE, log)}, STEPS, payload) for item in run["per_4s"].written]
    assert windows(product, version) == Counter(
        (item.start, item.end, item.payload["n"], tuple(item.payload["keys"]), item.payload["first"])
        for item in written
    )
    hold_ledger(product, version)


def known(product: Product, version: int) -> dict[Any, Any]:
    """The rows of a version by what they say, and what became of each."""
    found, seen = {}, Counter()
    for row in sorted(table(product, version, "events/a"), key=lambda row: (row["_partition"], row["_offset"])):
        broken = row["_raw"] if row["_disposition"] == "quarantined" else None
        same = row["_partition"], row["_file"], row["e"], row["a"], row["k"], row["n"], broken
        found[*same, seen[same]] = row["_disposition"], row["_system_timestamp"], tuple(row["_reasons"])
        seen[same] += 1
    return found


def checked(product: Product, version: int) -> set[tuple[Any, ...]]:
    """What quality has looked at, by batch."""
    return {(row["batch_id"], row["table"], row["expectation"]) for row in table(product, version, "quality")}


def differing(product: Product) -> Counter[str]:
    """How many rows differ between the first two versions, by fate before and after."""
    before, after = known(product, 1), known(product, 2)
    none = ("not there", None, ())
    pairs = [(before.get(key, none), after.get(key, none)) for key in before.keys() | after.keys()]
    return Counter(f"{old[0]} -> {new[0]}" for old, new in pairs if old != new)


def test_what_came_too_late_and_what_was_repaired_is_the_difference(product, tmp_path, capsys):
    repair(product)
    config = str(product.config)
    pipeline = product.pipeline()
    made = pipeline.backfill(T0, from_landing=True)
    assert not made["identical"]
    assert made["from_landing"]
    hold_oracle(product, 1, runs(NUMBER))
    hold_oracle(product, 2, as_it_should_be())
    assert checked(product, 2) == checked(product, 1)
    changed = made["difference"]["rows"]["a"]
    assert Counter(changed["fates"]) == differing(product)
    assert changed["changed"] == sum(changed["fates"].values())
    told = table(product, 2, "difference/rows")
    assert len(told) == changed["changed"]
    assert {REPAIRED, LATE} <= {row["_file"] for row in told}
    standing = Counter((row["_window_start"], row["n"]) for row in table(product, 2, "streams/per_4s"))
    came = Counter(row["_difference"] for row in table(product, 2, "difference/streams/per_4s"))
    told_ = made["difference"]["streams"]["per_4s"]
    assert (told_["gone"], told_["new"]) == (came["before"], came["after"])
    windows_ = {row["_window_start"] for row in table(product, 2, "difference/streams/per_4s")}
    assert len(told_["windows"]) == len(windows_)
    page = Path(pipeline.report(tmp_path / "page.html")["path"]).read_text()
    assert "Version 2, built from version 1" in page
    assert f"{changed['changed']} rows otherwise" in page
    assert standing.total() == len(table(product, 2, "streams/per_4s"))

    product.feed("a", runs(NUMBER + 1)[NUMBER:])  # the live version takes the late object only now
    pipeline = product.pipeline()
    brought = pipeline.promote(2)["brought_up"]
    assert brought == [NUMBER + 1]
    assert checked(product, 2) == checked(product, 1)
    hold_oracle(product, 2, as_it_should_be(NUMBER + 1))
    found = pipeline.replay(all_batches=True)
    assert found["identical"], found
    assert {batch["input"] for batch in found["batches"]} == {"landing"}
    assert pipeline.backfill(T0, from_landing=True)["identical"]
    product.feed("a", runs(NUMBER + 2)[NUMBER + 1 :])
    hold_oracle(product, 2, as_it_should_be(NUMBER + 2))
    assert invoke(["versions", config]) == 0
    assert "landing" in capsys.readouterr().out

    back = product.pipeline().promote(1)
    assert back["brought_up"] == [NUMBER + 2]
    assert [row["_file"] for row in table(product, 1, "events/a")].count(LATE) == 12
    hold_ledger(product, 1)
    assert product.pipeline().replay(run=None)["identical"]


@pytest.mark.long
def test_landing_as_it_was_makes_no_difference(product, capsys):
    assert invoke(["backfill", str(product.config), "--from", "2025-01-01T00:00:00Z", "--from-landing"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Nothing came out otherwise." in told
    assert "read from landing again" in told
    hold_oracle(product, 2, runs(NUMBER))
    again = product.pipeline().backfill(T0, from_landing=True)
    assert again["identical"], again
    hold_oracle(product, 3, runs(NUMBER))
    assert 0 < again["input_rows"] < len(table(product, 1, "events/a"))


@pytest.mark.long
def test_substreams_go_on_from_what_the_runs_before_left(tmp_path):
    source = replace(SOURCE, over=True, late=(4_000_000, "adjust"))
    product = Product(tmp_path / "p", {"a": source})
    product.feed("a", runs(NUMBER))
    repair(product)
    assert not product.pipeline().backfill(T0, from_landing=True)["identical"]
    assert events(product, 2) == expected(judge(source, as_it_should_be()))
    pipeline = product.pipeline()
    pipeline.promote(2)
    assert pipeline.replay(all_batches=True)["identical"]


@pytest.mark.long
def test_other_readings_of_rows_make_all_runs_anew(product):
    product.write(a={"timestamp_by": "e + interval 1 second"})
    with pytest.raises(ConfigError) as refused:
        product.pipeline().backfill(T0)
    assert "--from-landing" in refused.value.hint
    made = product.pipeline().backfill(T0, from_landing=True)
    assert made["input_rows"] == len(table(product, 1, "events/a"))
    times = [{row["_offset"]: row["_event_time"] for row in rows_of(product, each, "p0")} for each in (1, 2)]
    both = [(time, times[1][offset]) for offset, time in times[0].items() if time and times[1][offset]]
    assert {(after - before).total_seconds() for before, after in both} == {1.0}
    product.pipeline().promote(2)
    product.feed("a", runs(NUMBER + 1)[NUMBER:])
    assert product.pipeline().replay(all_batches=True)["identical"]


def rows_of(product: Product, version: int, partition: str) -> list[dict[str, Any]]:
    return [row for row in table(product, version, "events/a") if row["_partition"] == partition]


@pytest.mark.long
def test_a_wrong_object_is_out_of_a_version_from_landing(product):
    pipeline = product.pipeline()
    pipeline.exclude("001", "a sender's test data")
    made = pipeline.backfill(at(12), from_landing=True)
    assert made["difference"]["excluded"] == [{"source": "a", "uri": "001", "rows": 12, "left": 0}]
    broken = [
        replace(run, objects=tuple(_broken(each) if each.uri == "001" else each for each in run.objects))
        for run in runs(NUMBER)
    ]
    rows_ = [(*row[:6], ()) for row in events(product, 2)]
    assert rows_ == [(*row[:6], ()) for row in expected(judge(SOURCE, tuple(broken)))]
    assert sum("excluded" in row[6] for row in events(product, 2)) == 12
    pipeline.promote(2)
    assert product.pipeline().replay(all_batches=True)["identical"]


def _broken(each: Obj) -> Obj:
    return replace(each, rows=tuple(replace(row, broken=True) for row in each.rows))


def test_an_object_that_is_gone_from_landing_is_named(product):
    (product.folder / "landing" / "a" / "003").unlink()
    with pytest.raises(UsageError, match="landing no longer has 1 of the objects that runs took: '003' of source a"):
        product.pipeline().backfill(T0, from_landing=True)
    assert not product.pipeline().versions()["versions"][1:]


def test_a_version_from_landing_has_no_end(product):
    with pytest.raises(UsageError, match="goes to the last run"):
        product.pipeline().backfill(T0, at(24), from_landing=True)


@pytest.mark.long
def test_a_backfill_from_landing_that_dies_is_made_again(product, tmp_path):
    repair(product)
    watch = CrashAt()
    fork(product, tmp_path / "watched", on_checkpoint=watch).pipeline().backfill(T0, from_landing=True)
    number = watch.steps.index("events") + 1
    with pytest.raises(Crash):
        fork(product, tmp_path / "died", on_checkpoint=CrashAt(number)).pipeline().backfill(T0, from_landing=True)
    died = Product(tmp_path / "died", product.sources, product.settings)
    assert [each["version"] for each in died.pipeline().versions()["versions"]] == [1]
    died.pipeline().backfill(T0, from_landing=True)
    built = max(each["version"] for each in died.pipeline().versions()["versions"])
    hold_oracle(died, built, as_it_should_be())
