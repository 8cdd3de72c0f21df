"""Which objects a run takes, what it reports of the others, and runs that have nothing to do."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import PLAIN, at, contents, findings, hold_conservation, hold_replay, obj, touch

from oracle import Obj, Row
from product import DAY, Product, line, micros
from strategies import BASE
from tidemark.errors import TidemarkError, UsageError
from tidemark.landing import listing
from tidemark_verify import verify

pytestmark = pytest.mark.usefixtures("quick")
JOBS = Path(__file__).parents[2] / "jobs"
DATED = {"path": "dt=([0-9-]{10})/", "format": "yyyy-MM-dd", "plus": "1d"}


def place(product: Product, uri: str) -> Path:
    return product.folder / "landing" / "s" / uri


def taken(product: Product) -> list[tuple[int, str, str, int]]:
    rows = product.table("objects")
    return sorted((r["batch_id"], r["uri"], r["state"], r["rows"]) for r in rows if r["state"] != "changed")


def told(done: dict[str, Any]) -> dict[str, int]:
    """What a run reported of objects, with the counts."""
    return {found["type"]: found["count"] for found in done["diagnostics"] if found["partition"] is None}


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder, with size and time."""
    found = {str(path): path.stat() for path in folder.rglob("*")}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


def test_an_object_is_taken_once_and_a_change_is_reported_once_and_never_read(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [obj("a", 10), obj("b/c", 11)])
    assert told(product.run(at(12))) == {}
    before = product.events("s")
    for change in (12.5, 14.5):
        product.land("s", [Obj("a", at(change), obj("z", change).rows)])
        done = product.run(at(change + 0.5))
        assert (told(done), done["objects"]) == ({"ObjectChanged": 1}, 0)
        assert told(product.run(at(change + 1))) == {}
    place(product, "b/c").unlink()
    assert told(product.run(at(20))) == {}
    assert product.events("s") == before
    assert taken(product) == [(1, "a", "read", 12), (1, "b/c", "read", 12)]
    assert sorted(r["batch_id"] for r in product.table("objects") if r["state"] == "changed") == [2, 4]
    assert hold_replay(product)["batches"][0]["input"] == "events"


def test_events_name_an_object_as_the_ledger_does_even_where_its_name_is_no_text(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    odd = Obj(os.fsdecode(b"b\xff.json"), at(11), obj("b", 11).rows)
    product.land("s", [obj("a", 10), odd])
    product.run(at(12))
    named = {row["uri"] for row in product.table("objects")}
    assert {row["_file"] for row in product.events("s")} == named == {"a", "//b%FF.json"}
    hold_conservation(product)
    hold_replay(product)


def test_names_with_what_text_but_no_file_takes_for_a_line_end_are_read_from_all_logs(tmp_path):
    odd = ("p\u2028", "q\x85")
    product = Product(tmp_path, {"s": replace(PLAIN, partitions=odd)})
    product.land("s", [obj(f"{mark}.json", 10, partitions=odd) for mark in "\x85\u2028\u2029"])
    product.run(at(12))
    product.land("s", [obj("later", 13, partitions=odd)])
    assert product.run(at(14))["objects"] == 1
    assert {row["_file"] for row in product.events("s")} == {"\x85.json", "\u2028.json", "\u2029.json", "later"}
    hold_replay(product)
    pipeline = product.pipeline()
    assert pipeline.backfill(at(0))["identical"]
    assert pipeline.promote(2)["live"] == 2
    assert product.pipeline().verify(bundle=tmp_path / "bundle.zip")["sound"]
    assert verify.main([str(tmp_path / "bundle.zip")]) == 0


def test_an_object_quarantined_whole_is_taken_again_once_it_is_replaced(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [obj("a", 10), Obj("b.gz", at(10))])
    sound = gzip.compress("".join(line(row) + "\n" for row in obj("b", 10).rows).encode())
    place(product, "b.gz").write_bytes(sound[:-20])
    touch(place(product, "b.gz"), at(10))
    product.run(at(12))
    assert taken(product) == [(1, "a", "read", 12), (1, "b.gz", "quarantined", 1)]
    place(product, "b.gz").write_bytes(sound)
    touch(place(product, "b.gz"), at(13))
    done = product.run(at(14))
    assert taken(product)[2:] == [(2, "b.gz", "read", 12)]
    assert told(done) == {}
    (note,) = [row for row in product.events("s") if row["_batch_id"] == 1 and row["_file"] == "b.gz"]
    assert (note["_disposition"], note["_reasons"]) == ("quarantined", ["invalid_row"])
    hold_conservation(product)
    hold_replay(product)


def test_an_object_waits_until_it_has_settled(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"settle": "5s"})
    product.land("s", [obj("a", 10)])
    assert product.run(at(14.999999))["objects"] == 0
    done = product.run(at(15))
    assert (done["objects"], told(done)) == (1, {})


def test_a_landing_time_read_from_the_name_is_the_arrival_and_decides_when_it_is_taken(tmp_path):
    source = replace(PLAIN, arrival_column=False, partitions=("x", "y"), late=(DAY, "drop"))
    product = Product(tmp_path, {"s": source})
    product.write(s={"partition": {"path": "p=([a-z]+)/"}, "landed_at": DATED})
    row = Row("elsewhere", event=at(50))
    names = ["p=x/dt=2026-01-01/a", "p=y/dt=2026-01-01/b", "p=x/dt=2026-01-02/c", "p=y/undated/d"]
    product.land("s", [Obj(name, at(5), (row,)) for name in names])
    assert product.run(BASE + DAY - 1)["objects"] == 1
    assert product.run(BASE + DAY)["objects"] == 2
    found = [(r["_partition"], r["_offset"], r["_arrival_time"], r["_file"]) for r in product.events("s")]
    assert found == [
        ("x", 0, BASE + DAY, names[0]),
        ("y", 0, at(5), names[3]),
        ("y", 1, BASE + DAY, names[1]),
    ]
    assert taken(product)[0] == (1, names[3], "quarantined", 1)
    times = {r["uri"]: micros(r["modified"]) for r in product.table("objects")}
    assert times[names[0]] == BASE + DAY
    hold_replay(product)


def test_objects_far_outside_of_max_object_age_are_not_even_listed(tmp_path, monkeypatch):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"landing": "./landing/s/{yyyy}/{MM}/{dd}", "max_object_age": "2d"})
    names = ["2026/01/01/a", "2025/12/31/old", "2025/12/20/b", "2020/01/01/c"]
    times = [at(10), at(-2 * 86_400), at(5), at(5)]
    product.land("s", [replace(obj(n, 10), modified=t) for n, t in zip(names, times, strict=True)])
    opened: list[str] = []
    entries = listing._entries
    monkeypatch.setattr(listing, "_entries", lambda folder: opened.append(folder) or entries(folder))
    done = product.run(at(12))
    assert told(done) == {"ObjectTooOld": 1}
    assert taken(product) == [(1, "2026/01/01/a", "read", 12)]
    assert not any("2020" in folder or "12/20" in folder for folder in opened)
    assert told(product.run(at(13))) == {}


def test_late_lists_idle_partitions_and_what_lands_after_close_are_reported_with_their_counts(tmp_path):
    product = Product(tmp_path, {"s": replace(PLAIN, landing_delay=0)})
    product.land("s", [obj("a", 10, partitions=("p0",))])
    product.run(at(12))
    product.run(at(20))
    idle = {("p0", "InputPartitionNotProgressing"): 1}
    silent = {(name, "InputPartitionNotProgressing"): 1 for name in ("p1", "p2")}
    assert findings(product, 2) == idle | silent
    rows = [Row("p0", at(19), at(t)) for t in (15, 18, 17.999999, 21)]
    product.land("s", [Obj("late", at(19), ()), Obj("b", at(20), ()), Obj("c", at(21), tuple(rows))])
    assert told(product.run(at(21))) == {"ListedLate": 2}
    assert findings(product, 3)["p0", "LandedTooLate"] == 2
    product.pipeline().close(as_of=at(22))
    product.land("s", [obj("d", 21), obj("e", 23)])
    assert told(product.run(at(24))) == {"LandedAfterClose": 2}
    assert told(product.run(at(25))) == {}
    assert product.run(at(26))["watermarks"]["s"]["complete"]
    hold_conservation(product)
    hold_replay(product)


def test_a_promotion_reports_what_landed_too_late_in_the_runs_that_its_version_lacked(tmp_path):
    product = Product(tmp_path, {"s": replace(PLAIN, landing_delay=0)})
    product.land("s", [obj("a", 10, partitions=("p0",))])
    product.run(at(12))
    built = product.pipeline().backfill(at(0), None)["version"]
    product.run(at(20))
    product.land("s", [Obj("b", at(21), tuple(Row("p0", at(19), at(t)) for t in (15, 17, 21)))])
    product.run(at(21))
    reported = findings(product)
    assert reported["p0", "LandedTooLate"] == 2
    assert product.pipeline().promote(built)["brought_up"] == [2, 3]
    product.version = built
    assert findings(product) == reported
    hold_replay(product)


def test_as_of_never_goes_back_and_never_lies_ahead_of_the_clock(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [Obj("a", at(14))])
    assert product.run(at(20))["as_of"] == "2026-01-01T00:00:20Z"
    back = product.run(at(12))
    assert back["as_of"] == "2026-01-01T00:00:20Z"
    assert back["notes"] == [
        "as_of 2026-01-01T00:00:12Z is before that of the last run: this run is as of 2026-01-01T00:00:20Z, too"
    ]
    product.hooks = {"clock": lambda: at(30)}
    with pytest.raises(UsageError, match="later than the clock") as refused:
        product.run(at(30) + 1)
    assert refused.value.exit_code == 2
    assert product.run(at(30))["batches"][0]["batch_id"] == 3


def test_a_time_that_is_none_is_wrong_usage(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    for text in ("yesterday", "2026-13-01T00:00:00Z", "1767225612000000"):
        with pytest.raises(UsageError, match="is not a time"):
            product.pipeline().run(text)


def test_a_run_id_that_is_committed_is_verified_and_changes_nothing(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [obj("a", 10), obj("b", 10)])
    first = product.run(at(12), run_id="mine", max_files=1)
    product.land("s", [obj("c", 13)])
    before = contents(product)
    again = product.run(at(20), run_id="mine")
    assert again["verified"]["identical"]
    assert len(again["verified"]["batches"]) == 2
    assert {key: again[key] for key in ("run_id", "as_of", "batches", "watermarks", "objects")} == {
        key: first[key] for key in ("run_id", "as_of", "batches", "watermarks", "objects")
    }
    assert contents(product) == before


def test_a_dry_run_says_what_would_be_taken_and_writes_nothing_at_all(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [obj("a", 10), obj("b", 11), obj("later", 13)])
    before = tree(tmp_path)
    done = product.run(at(12), dry_run=True)
    assert [item["uri"] for item in done["would_take"]] == ["a", "b"]
    assert (tree(tmp_path), done["notes"]) == (before, [])
    product.run(at(12), run_id="first")
    product.land("s", [obj("b", 12.5)])
    before = tree(tmp_path)
    done = product.run(at(13), run_id="first", dry_run=True)
    assert (done["would_take"], done["as_of"], "verified" in done) == ([], "2026-01-01T00:00:12Z", False)
    assert done["notes"] == ["run first is committed already: it would be verified, and nothing changed"]
    done = product.run(at(13), dry_run=True, max_files=1)
    assert [item["uri"] for item in done["would_take"]] == ["later"]
    assert {found["type"] for found in done["diagnostics"]} == {"ObjectChanged"}
    assert tree(tmp_path) == before
    (later,) = tmp_path.rglob("later")
    os.utime(later, (4_102_444_800, 4_102_444_800))
    later.with_name("away").symlink_to(tmp_path)
    for dry_run in (True, False):
        done = product.run(at(13), dry_run=dry_run)
        assert done["objects"] == 0
        note, link = done["notes"]
        assert note.startswith(
            "s: objects have landing times in the future (1, the first 'later' at 2100-01-01T00:00:00Z)"
        )
        assert link.startswith("s: not listed (1, the first 'away'): a link that leads out of the landing folder")


def test_a_landing_folder_that_is_missing_is_an_error_and_nothing_is_planned(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    place(product, "").rmdir()
    with pytest.raises(TidemarkError, match="does not exist"):
        product.run(at(12))
    assert product.table("batches") == []


IDLE = """
import json, sys, time
from tidemark.pipeline import Pipeline
pipeline = Pipeline.load(sys.argv[1])
begun = time.process_time()
done = [pipeline.run(int(sys.argv[2]) + n * 1_000_000, dry_run=n == 2)["objects"] for n in range(3)]
seconds = time.process_time() - begun
status = pipeline.status()["pipeline"]
print(json.dumps([done, seconds, status, [name for name in sys.modules if name.startswith(("pyspark", "py4j"))]]))
"""


def test_a_run_with_nothing_to_do_starts_no_jvm_and_is_done_in_a_moment(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [obj("a", 10)])
    product.run(at(12))
    line_ = [sys.executable, "-c", IDLE, str(product.config), str(at(13))]
    done = subprocess.run(line_, env=os.environ | {"PYTHONPATH": str(JOBS)}, capture_output=True, check=True)  # noqa: S603
    objects, seconds, _, spark = json.loads(done.stdout)
    assert (objects, spark) == ([0, 0, 0], [])
    assert seconds < 1
    assert sorted(row["batch_id"] for row in product.table("batches")) == [1, 2, 3]


def test_why_rows_of_a_first_run_were_quarantined_stays_true_when_their_object_changes(tmp_path):
    """They count by the time at which their object landed when it was taken."""
    product = Product(tmp_path, {"s": PLAIN})
    rows = tuple(Row(name, at(8), at(9), "a") for name in PLAIN.partitions for _ in range(12))
    good, bad = Obj("good", at(10), rows), Obj("bad", at(10), tuple(replace(row, broken=True) for row in rows[:20]))
    product.land("s", [good, bad])
    product.run(at(12))
    (found,) = product.pipeline().why()["causes"]
    assert (found["kind"], found["files"], found["rows"]) == ("bad_file", ["bad"], 20)
    assert found["remedy"] == "correct these rows and land them as a new file"
    product.land("s", [Obj("bad", at(4 * 3600), rows[:20])])
    assert told(product.run(at(4 * 3600 + 2))) == {"ObjectChanged": 1}
    first = product.pipeline().status()["runs"][-1]["run_id"]
    assert product.pipeline().why(run=first)["causes"] == [found]
