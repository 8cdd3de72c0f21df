"""A pipeline with landing and tables in Azure Storage or Google Cloud Storage does what it does in a folder."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from io import BytesIO
from threading import Barrier, Thread
from typing import Any

import pyarrow as pa
import pytest
from cloud_product import InCloud, InFolder, hold_equal, named, states
from py4j.protocol import Py4JJavaError
from pyarrow import orc, parquet

from e2e.samples import KEYED, PLAIN, at, hold_replay, obj
from oracle import SECOND
from tidemark import cli
from tidemark.pipeline import Pipeline
from tidemark.storage import delta_table, location_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("quick")]

STREAMS = {
    "streams": {
        "kept": {"from": "readings", "where": "k is not null", "publish": True},
        "counted": {"from": "kept", "tumbling": "2s", "select": {"n": "count(*)"}},
        "visits": {"from": "kept", "session": {"gap": "3s"}, "group_by": ["k"], "select": {"n": "count(*)"}},
    }
}
LOGS = {"azure": "AzureLogStore", "gcs": "GCSLogStore"}
NAMES = ("one.json", "a/two words.json", "b=1/3:é#%20.json", "a/0-late-name.json")
OBJECTS = [named(obj(name, 10 + 10 * number)) for number, name in enumerate(NAMES)]


@pytest.fixture
def remote(tmp_path, cloud, bucket) -> InCloud:
    return InCloud(tmp_path / "remote", {"readings": KEYED}, STREAMS, cloud=cloud, bucket=bucket)


@pytest.mark.long
def test_runs_replays_and_answers_are_those_of_a_folder(tmp_path, remote):
    local = InFolder(tmp_path / "local", {"readings": KEYED}, STREAMS)
    for product in (local, remote):
        product.land("readings", OBJECTS[:3])
        product.run(at(60), max_files=2)
        product.land("readings", OBJECTS[3:])
        product.run(at(120))
        product.pipeline().close(as_of=at(240))
    hold_equal(remote, local)
    counted = [each.pipeline().table("streams/counted").count_rows() for each in (remote, local)]
    assert counted[0] == counted[1] > 0
    hold_replay(remote)
    hold_replay(remote, input="events")


def test_objects_that_change_or_vanish_after_they_were_listed_are_not_read(remote, cloud, bucket):
    one, two, three = (item.uri for item in OBJECTS[:3])

    def meddle(step: str) -> None:
        if step == "planned":
            cloud.put(bucket, f"landing/readings/{one}", b"{}\n{}\n")
            cloud.delete(bucket, f"landing/readings/{two}")

    remote.hooks["on_checkpoint"] = meddle
    remote.land("readings", OBJECTS[:3])
    remote.run(at(60))
    assert states(remote) == {one: "vanished", two: "vanished", three: "read"}
    assert {row["_file"] for row in remote.table("events/readings")} == {three}
    remote.hooks.clear()
    remote.land("readings", OBJECTS[:2])
    remote.run(at(90))
    assert set(states(remote).values()) == {"read"}
    cloud.put(bucket, f"landing/readings/{three}", b"{}")
    found = remote.run(at(120))
    assert {each["type"] for each in found["diagnostics"] if "Object" in each["type"]} == {"ObjectChanged"}


def test_an_object_that_is_replaced_is_not_opened_by_its_listing(remote, cloud, bucket, address):
    from tidemark.core.batch import LandedObject
    from tidemark.spark.session.object_stores import spark_reads
    from tidemark.storage.stores import store_of

    location = location_of(f"{address}/big")
    cloud.put(bucket, "big", b"x" * 3_000)
    head = store_of(location).head(location)
    spark = remote.pipeline().context.engine.spark
    listed = LandedObject("readings", "big", head.size, 0, head.tag, str(location))
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(spark_reads(listed))
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    stream = files.open(path)
    assert stream.read() == ord("x")
    cloud.put(bucket, "big", b"y" * 3_000)
    with pytest.raises(Exception, match="has changed since it was listed"):
        files.open(path)


def test_of_commits_of_one_version_one_wins(remote, address):
    spark = remote.pipeline().context.engine.spark
    jvm, settings = spark.sparkContext._jvm, spark._jsparkSession.sessionState().newHadoopConf()
    store = getattr(jvm.io.delta.storage, LOGS[location_of(address).service])(settings)
    log = jvm.org.apache.hadoop.fs.Path(f"{address}/table/_delta_log")
    log.getFileSystem(settings).mkdirs(log)
    together, won, lost = Barrier(4), [], []

    def write(number: int) -> None:
        for version in range(5):
            given = jvm.java.util.ArrayList()
            given.add(str(number))
            commit = jvm.org.apache.hadoop.fs.Path(log, f"{version:020}.json")
            together.wait()
            try:
                store.write(commit, given.iterator(), False, settings)
            except Py4JJavaError as error:
                lost.append(error.java_exception.getClass().getSimpleName())
            else:
                won.append((version, number))

    threads = [Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    contents = remote.cloud.contents(remote.bucket)
    assert (len(won), Counter(lost)) == (5, {"FileAlreadyExistsException": 15})
    for version, number in won:
        assert contents[f"table/_delta_log/{version:020}.json"] == f"{number}\n".encode()


def test_a_run_without_the_jars_says_which_command_installs_them(remote, capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("TIDEMARK_JARS", str(tmp_path / "jars"))
    remote.land("readings", OBJECTS[:1])
    status = cli.invoke(["run", str(remote.config), "--as-of", "2026-06-02T00:00:00Z", "--json"])
    error = json.loads(capfd.readouterr().out)["error"]
    service = location_of(remote.address).service
    assert (status, error["hint"].split(" (")[0]) == (4, f"run `tidemark setup --{service}`")


@pytest.mark.long
def test_a_backfill_is_that_of_a_folder_and_can_be_promoted(tmp_path, remote):
    local = InFolder(tmp_path / "local", {"readings": KEYED}, STREAMS)
    made = []
    for product in (local, remote):
        for number, item in enumerate(OBJECTS[:3]):
            product.land("readings", [item])
            product.run(at(60 + 30 * number))
        changed = ["sources.readings.late_arrival.tolerance=2s"]
        made.append(product.pipeline().backfill(at(15), None, changed))
    assert made[0]["difference"] == made[1]["difference"]
    assert made[1]["difference"]["rows"]["readings"]["changed"] > 0
    assert remote.pipeline().promote(2)["live"] == 2
    for table in ("events/readings", "streams/counted", "streams/visits"):
        there = (
            delta_table(location_of(f"{remote.address}/warehouse/tested/v2/{table}")).to_pyarrow_table().to_pylist()
        )
        here = delta_table(local.folder / "warehouse" / "tested" / "v2" / table).to_pyarrow_table().to_pylist()
        assert sorted(map(repr, there)) == sorted(map(repr, here))
    hold_replay(remote)


@pytest.mark.long
def test_objects_of_all_formats_are_read(tmp_path, cloud, bucket, address):
    table = pa.table({"v": [1, 2, None]})
    files = {"parquet": BytesIO(), "orc": BytesIO(), "csv": BytesIO()}
    parquet.write_table(table, files["parquet"])
    orc.write_table(table, files["orc"])
    files["csv"].write(gzip.compress(b"v\n1\n2\n3\n"))
    sources: dict[str, Any] = {}
    for kind, file in files.items():
        end = f"{kind}.gz" if kind == "csv" else kind
        for name, content in (("good", file.getvalue()), ("cut", file.getvalue()[:-20])):
            cloud.put(bucket, f"all/{kind}/{name}.{end}", content)
        options = {"options": {"header": "true"}} if kind == "csv" else {}
        sources[kind] = {"landing": f"{address}/all/{kind}", "format": kind, "schema": "v BIGINT", **options}
    config = tmp_path / "all.yml"
    config.write_text(json.dumps({"pipeline": "all", "warehouse": f"{address}/tables", "sources": sources}))
    pipeline = Pipeline.load(config)
    pipeline.run()
    for kind in files:
        fates = sorted((row["file"][:4], row["disposition"]) for row in pipeline.rows(source=kind)["rows"])
        assert fates == [("cut.", "quarantined"), *[("good", "on_time")] * 3], kind
    assert pipeline.replay()["identical"]


@pytest.mark.long
def test_a_duplicate_is_found_by_what_is_kept_beside_the_events(tmp_path, cloud, bucket):
    source = replace(PLAIN, by=("k", "e"), within=300 * SECOND)
    remote = InCloud(tmp_path / "remote", {"readings": source}, cloud=cloud, bucket=bucket)
    local = InFolder(tmp_path / "local", {"readings": source})
    for product in (local, remote):
        for number in range(2):
            again = replace(OBJECTS[0], uri=f"{number}{OBJECTS[0].uri}")
            product.land("readings", [again])
            product.run(at(60 + number))
    hold_equal(remote, local)
    assert ("duplicate",) in {tuple(row["_reasons"]) for row in remote.events("readings")}
