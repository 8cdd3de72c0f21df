"""Changing a pipeline: what is taken up by the next run and told by it, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import PLAIN, at, contents, findings, hold_conservation, hold_replay, obj

from checked_records import printed_record
from oracle import Obj
from product import SCHEMA, Product, line, micros
from tidemark.errors import ConfigError

pytestmark = pytest.mark.usefixtures("quick")
JOBS = Path(__file__).parents[2] / "jobs"
WIDER = "p STRING, x STRING, e TIMESTAMP, a TIMESTAMP, k STRING, n INT"
FREE = {
    "schedule": "0 * * * *",
    "micro_batch": {"max_files": 1},
    "quality": {"max_dropped": "50%"},
    "retention": {"events": "400d", "ledger": "400d"},
    "airflow": {"owner": "data"},
}


def with_x(product: Product, uri: str, seconds: float) -> None:
    """Land an object whose rows have a value for the column `x`."""
    product.land("s", [Obj(uri, at(seconds))])
    path = product.folder / "landing" / "s" / uri
    rows = [json.loads(line(row)) | {"x": f"{uri}{number}"} for number, row in enumerate(obj(uri, seconds).rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, ns=(at(seconds) * 1000, at(seconds) * 1000))


def notes(product: Product, seconds: float) -> list[str]:
    return product.run(at(seconds))["notes"]


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Product:
    """A pipeline that was changed in every accepted way, from one run to the next."""
    folder = tmp_path_factory.mktemp("changed")
    product = Product(folder / "one", {"s": PLAIN})
    product.land("s", [obj("a", 10)])
    assert notes(product, 12) == []

    wider: dict[str, Any] = {"schema": WIDER}
    product.write(s=wider)
    with_x(product, "b", 21)
    assert notes(product, 22) == ["sources.s.schema: a new column 'x' STRING, null in older rows"]
    wider["partitions"] = [*PLAIN.partitions, "p3", "_more"]
    product.write(s=wider)
    with_x(product, "c", 23)
    told = notes(product, 24)
    assert told == [f"sources.s.partitions: partition {name!r} is now declared" for name in ("p3", "_more")]
    product.sources = {"s": PLAIN, "t": replace(PLAIN, over=True)}
    product.write(s=wider)
    (product.folder / "landing" / "t").mkdir()
    product.land("t", [obj("old", 5), obj("young", 25)])
    assert notes(product, 26) == ["sources.t: a new source"]
    product.settings = dict(FREE)
    product.write(s=wider)
    with_x(product, "d", 27)
    product.land("t", [obj("next", 27)])
    told = notes(product, 28)
    assert [note.split(":")[0] for note in told] == [
        "airflow.owner", "micro_batch", "quality", "retention.events", "retention.ledger", "schedule",
    ]  # fmt: skip

    moved = folder / "two"
    shutil.copytree(product.folder, moved)
    shutil.rmtree(product.folder)
    (moved / "landing").rename(moved / "landed")
    (moved / "warehouse").rename(moved / "tables")
    product.folder = moved
    product.settings |= {"warehouse": "./tables"}
    product.write(s={**wider, "landing": "./landed/s"}, t={"landing": "./landed/t"})
    told = notes(product, 29)
    assert [note.split(":")[0] for note in told] == ["warehouse", "sources.s.landing", "sources.t.landing"]
    assert notes(product, 30) == []
    (moved / "tables").rename(moved / "warehouse")
    product.settings |= {"warehouse": "./warehouse"}
    product.write(s={**wider, "landing": "./landed/s"}, t={"landing": "./landed/t"})
    return product


def test_batches_recorded_under_earlier_configurations_stay_identical(changed):
    hold_conservation(changed)
    replayed = hold_replay(changed)
    assert {batch["input"] for batch in replayed["batches"]} == {"landing"}
    hold_replay(changed, input="events")


def test_a_new_column_is_null_in_older_rows(changed):
    values = {(row["_batch_id"], row["x"] is None) for row in changed.events("s") if row["_raw"] is None}
    assert values == {(1, True), (2, False), (3, False), (5, False)}


def test_a_new_source_is_not_listed_late_and_starts_by_itself(changed):
    assert not [kind for _, kind in findings(changed) if kind == "ListedLate"]
    taken = {(row["batch_id"], row["uri"]) for row in changed.table("objects") if row["source"] == "t"}
    assert taken == {(4, "old"), (4, "young"), (6, "next")}


def test_a_declared_partition_counts_from_the_next_run_on(changed):
    """Never seen, it stands at as_of - 5 s - landing_delay - late, and holds back what is combined."""
    rows = {(row["batch_id"], row["partition"]): row for row in changed.table("watermarks") if row["source"] == "s"}
    assert (2, "p3") not in rows
    assert micros(rows[3, "p3"]["floor"]) == at(24 - 5 - 3 - 4)
    batches = {row["batch_id"]: row for row in changed.table("batches")}
    marks = [micros(each["watermark"]) for n in (1, 2, 3) for each in batches[n]["combined"] if each["source"] == "s"]
    assert marks == sorted(marks)


def test_micro_batches_follow_the_new_setting(changed):
    objects = {row["batch_id"]: row["objects"] for row in changed.table("batches")}
    assert objects == {1: 1, 2: 1, 3: 1, 4: 2, 5: 1, 6: 1, 7: 0, 8: 0}


@pytest.fixture(scope="module")
def steady(tmp_path_factory) -> Product:
    product = Product(tmp_path_factory.mktemp("steady"), {"s": PLAIN})
    product.land("s", [obj("a", 10)])
    product.run(at(12))
    product.land("s", [obj("b", 20)])
    return product


REFUSED = {
    "policy": ({"late_arrival": {"tolerance": "6s", "action": "drop"}}, "late_arrival.tolerance"),
    "action": ({"out_of_order": {"tolerance": "2s", "action": "keep"}}, "out_of_order.action"),
    "off": ({"early_arrival": "off"}, "early_arrival"),
    "over": ({"over": "k"}, "over"),
    "expression": ({"timestamp_by": "e + INTERVAL 1 SECOND"}, "timestamp_by"),
    "arrival": ({"arrival_time": "e"}, "arrival_time"),
    "landing delay": ({"landing_delay": "4s"}, "landing_delay"),
    "clock skew": ({"clock_skew": "1s"}, "clock_skew"),
    "type": ({"schema": SCHEMA.replace("n INT", "n BIGINT")}, "schema"),
    "removed column": ({"schema": SCHEMA.replace(", n INT", "")}, "schema"),
    "format": ({"format": "csv"}, "format"),
    "undeclared partition": ({"partitions": ["p0", "p1"]}, "partitions"),
    "partition": ({"partition": {"column": "k"}}, "partition.column"),
    "settle": ({"settle": "1s"}, "settle"),
    "landed_at": ({"landed_at": {"path": "dt=([0-9-]{10})/", "format": "yyyy-MM-dd"}}, "landed_at"),
}


def refuse(product: Product) -> ConfigError:
    before = contents(product)
    with pytest.raises(ConfigError) as error:
        product.run(at(22))
    assert contents(product) == before
    assert error.value.exit_code == 2
    assert f"tidemark backfill {product.config} --from T0" in error.value.hint
    return error.value


@pytest.mark.parametrize(("keys", "key"), REFUSED.values(), ids=REFUSED)
def test_what_changes_results_is_refused_by_its_key_with_the_command_that_does_it(steady, keys, key):
    steady.write(s=keys)
    assert any(problem.key.startswith(f"sources.s.{key}") for problem in refuse(steady).problems)


def test_a_renamed_source_and_another_start_are_refused_together(steady):
    renamed = Product(steady.folder, {"s": PLAIN, "renamed": replace(PLAIN, start=at(5))})
    del renamed.sources["s"]
    renamed.write(renamed={"landing": "./landing/s"})
    assert {problem.key for problem in refuse(renamed).problems} == {"sources.s", "start"}


def test_the_command_line_refuses_with_status_2_and_the_keys(steady):
    steady.write(s={"clock_skew": "1s"})
    line_ = [sys.executable, "-m", "tidemark", "run", str(steady.config), "--as-of", "2026-01-01T00:00:22Z", "--json"]
    done = subprocess.run(line_, env=os.environ | {"PYTHONPATH": str(JOBS)}, capture_output=True, check=False)  # noqa: S603
    error = printed_record("run", done.stdout.decode())["error"]
    assert (done.returncode, error["code"]) == (2, "configuration")
    assert "sources.s.clock_skew" in error["message"]
    assert "tidemark backfill" in error["hint"]
