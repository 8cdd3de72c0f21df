"""A pipeline with landing and tables on S3 does what the same pipeline does in a folder."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from itertools import count
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from s3_product import Remote, hold_same, states
from s3_service import SECRET

from e2e.samples import KEYED, PLAIN, at, hold_conservation, hold_replay, obj
from oracle import SECOND
from product import Product
from short_lived import SHORT_LIVED
from tidemark.config.address import RemoteLocation
from tidemark.errors import TidemarkError
from tidemark.pipeline import Pipeline

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("quick")]

STREAMS = {
    "streams": {
        "kept": {"from": "readings", "where": "k is not null", "publish": True},
        "counted": {"from": "kept", "tumbling": "2s", "select": {"n": "count(*)"}},
    }
}
COUNTED = {"select": {"n": "count(*)"}}
EVERY_RULE: dict[str, Any] = {
    "streams": {
        "rates": {"from": "readings", "lifetime": {"until": "next", "by": ["k"], "at_most": "2s"}, "publish": True},
        "stays": {"from": "other", "lifetime": {"until": "_event_time + INTERVAL 2 SECONDS", "at_most": "5s"}},
        "steps": {
            "from": "readings",
            "preceding": {"by": ["k"], "within": "9s", "select": {"before": "last(_event_time)"}},
            "publish": True,
        },
        "priced": {
            "join": ["stays", "rates"],
            "on": ["k"],
            "how": "left",
            "select": {"k": "stays.k", "rate": "rates.n"},
        },
        "alone": {"join": ["stays", "rates"], "on": ["k"], "how": "anti", "select": {"k": "stays.k"}},
        "days": {"from": "readings", "tumbling": {"calendar": "day", "zone": "Australia/Lord_Howe"}, **COUNTED},
        "load": {"from": "other", "windows": {"short": {"tumbling": "2s"}, "long": {"tumbling": "9s"}}, **COUNTED},
        "visits": {"from": "other", "session": {"gap": "3s"}, "group_by": ["k"], **COUNTED},
    }
}
"""The rules of streams that read rows before or after a row, or have a state of their own."""
NAMES = ("one.json", "a/two words.json", "b=1/3:é#%20.json", "a/0-late-name.json")
OBJECTS = [obj(name, 10 + 10 * number) for number, name in enumerate(NAMES)]


def remote_of(tmp_path, service, bucket, source=PLAIN, settings=None, **hooks: Any) -> Remote:
    return Remote(tmp_path / "remote", {"readings": source}, settings or {}, hooks, bucket=bucket, service=service)


def now_and_then() -> Callable[[object], tuple[int, str] | None]:
    """Refuses a request in twelve."""
    dice, number = Random(4), count()  # noqa: S311 - the same refusals each time

    def refusal(_: object) -> tuple[int, str] | None:
        kind = dice.choice([(503, "SlowDown"), (500, "InternalError")])
        return kind if next(number) % 12 == 5 else None

    return refusal


def test_runs_replays_and_answers_are_those_of_a_folder(tmp_path, service, bucket):
    """Even where the service refuses a request now and then."""
    local = Product(tmp_path / "local", {"readings": PLAIN})
    remote = remote_of(tmp_path, service, bucket)
    for product in (local, remote):
        product.land("readings", OBJECTS[:3])
        product.run(at(60))
        product.land("readings", OBJECTS[3:])
        with service.refusing(now_and_then()):
            product.run(at(120))
    hold_same(remote, local)
    pipeline = remote.pipeline()
    assert [batch["input"] for batch in pipeline.replay()["batches"]] == ["landing"]
    found = pipeline.replay(input="events")
    assert ([batch["input"] for batch in found["batches"]], found["identical"]) == (["events"], True)


def test_objects_that_change_or_vanish_after_they_were_listed_are_not_read(tmp_path, service, bucket):
    client = service.client()

    def meddle(step: str) -> None:
        if step == "planned":
            client.put_object(Bucket=bucket, Key="landing/readings/one.json", Body=b"{}\n{}\n")
            client.delete_object(Bucket=bucket, Key="landing/readings/a/two words.json")

    remote = remote_of(tmp_path, service, bucket, on_checkpoint=meddle)
    remote.land("readings", OBJECTS[:3])
    remote.run(at(60))
    assert states(remote) == {NAMES[0]: "vanished", NAMES[1]: "vanished", NAMES[2]: "read"}
    assert {row["_file"] for row in remote.table("events/readings")} == {NAMES[2]}
    remote.hooks.clear()
    remote.land("readings", OBJECTS[:1])
    client.put_object(Bucket=bucket, Key=f"landing/readings/{NAMES[2]}", Body=b"{}")
    client.put_object(Bucket=bucket, Key=f"landing/readings/{NAMES[1]}", Body=b"")
    found = remote.pipeline().run()
    assert {each["type"] for each in found["diagnostics"] if "Object" in each["type"]} == {"ObjectChanged"}
    assert set(states(remote).values()) == {"read"}


def test_an_object_that_changes_while_it_is_read_stops_the_reader(service, bucket):
    from tidemark.spark.session.session import open_session

    spark, client = open_session(buckets=[RemoteLocation(f"s3://{bucket}")]), service.client()
    client.put_object(Bucket=bucket, Key="big", Body=b"x" * 3_000_000)
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(f"s3://{bucket}/big")
    stream = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).open(path)
    assert stream.read() == ord("x")
    client.put_object(Bucket=bucket, Key="big", Body=b"y" * 3_000_000)
    stream.seek(2_900_000)
    with pytest.raises(Exception, match="RemoteFileChangedException"):
        stream.read()


def test_of_two_commits_of_one_version_one_fails(service, bucket):
    """Even where the second writer looks before the first has written."""
    from tidemark.spark.session.session import open_session

    spark = open_session(buckets=[RemoteLocation(f"s3://{bucket}")])
    jvm, settings = spark.sparkContext._jvm, spark._jsparkSession.sessionState().newHadoopConf()
    commit = jvm.org.apache.hadoop.fs.Path(f"s3://{bucket}/table/_delta_log/00000000000000000001.json")
    log = jvm.tidemark.storage.ObjectLog(settings)

    def write(*lines: str) -> None:
        given = jvm.java.util.ArrayList()
        for text in lines:
            given.add(text)
        log.write(commit, given.iterator(), False, settings)

    write("first", "of two")
    with pytest.raises(Exception, match="FileAlreadyExistsException"):
        write("second")
    hidden = service.refusing(lambda request: (404, "NoSuchKey") if request.method == "HEAD" else None)
    with hidden, pytest.raises(Exception, match="FileAlreadyExistsException"):
        write("second")
    found = service.client().get_object(Bucket=bucket, Key=commit.toUri().getPath()[1:])
    assert found["Body"].read() == b"first\nof two\n"


def test_refusals_that_last_while_rows_are_read_are_told_and_the_next_run_finishes(
    tmp_path, service, bucket, monkeypatch
):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    remote = remote_of(tmp_path, service, bucket)
    remote.land("readings", OBJECTS[:2])

    def refusal(request: Any) -> tuple[int, str] | None:
        return (503, "SlowDown") if request.method == "GET" and request.path.endswith(".json") else None

    landing = service.refusing(lambda request: refusal(request) if "/landing/" in request.path else None)
    with landing, pytest.raises(TidemarkError, match="there are too many") as caught:
        remote.run(at(60))
    assert bucket in str(caught.value)
    assert "run again" in caught.value.hint
    assert remote.table("objects") == []
    remote.run(at(60))
    assert set(states(remote).values()) == {"read"}


@pytest.mark.long
def test_a_batch_of_many_objects_is_read_in_all_formats(tmp_path, service, bucket):
    """More objects than Spark lists one by one, and what is read of a file before Spark reads it."""
    remote = remote_of(tmp_path, service, bucket)
    remote.land("readings", [obj(f"{number:03}.json", 10, count=2) for number in range(40)])
    remote.run(at(60))
    assert len(states(remote)) == 40
    hold_conservation(remote)
    table = pa.table({"v": [1, 2, None]})
    files = {"parquet": BytesIO(), "orc": BytesIO(), "csv": BytesIO()}
    parquet.write_table(table, files["parquet"])
    orc.write_table(table, files["orc"])
    files["csv"].write(gzip.compress(b"v\n1\n2\n3\n"))
    client, sources = service.client(), {}
    for kind, file in files.items():
        end = f"{kind}.gz" if kind == "csv" else kind
        client.put_object(Bucket=bucket, Key=f"all/{kind}/good.{end}", Body=file.getvalue())
        client.put_object(Bucket=bucket, Key=f"all/{kind}/cut.{end}", Body=file.getvalue()[:-20])
        options = {"options": {"header": "true"}} if kind == "csv" else {}
        sources[kind] = {"landing": f"s3://{bucket}/all/{kind}", "format": kind, "schema": "v BIGINT", **options}
    config = tmp_path / "all.yml"
    config.write_text(json.dumps({"pipeline": "all", "warehouse": f"s3://{bucket}/tables", "sources": sources}))
    pipeline = Pipeline.load(config)
    pipeline.run()
    for kind in files:
        fates = pipeline.rows(source=kind)["rows"]
        assert sorted((row["file"][:4], row["disposition"]) for row in fates) == [
            ("cut.", "quarantined"),
            *[("good", "on_time")] * 3,
        ], kind
    assert pipeline.replay()["identical"]


@pytest.mark.long
def test_a_command_shows_no_secret_even_with_all_that_spark_says(tmp_path, service, bucket):
    remote = remote_of(tmp_path, service, bucket)
    remote.land("readings", OBJECTS[:1])
    command = [sys.executable, "-m", "tidemark", "run", str(remote.config)]
    environment = {**os.environ, **SHORT_LIVED, "TIDEMARK_DEBUG": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(  # noqa: S603
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    remote.hold_no_secret()


@pytest.mark.long
def test_substreams_micro_batches_and_many_runs_are_those_of_a_folder(tmp_path, service, bucket):
    local = Product(tmp_path / "local", {"readings": KEYED}, STREAMS)
    remote = remote_of(tmp_path, service, bucket, KEYED, STREAMS)
    for product in (local, remote):
        product.land("readings", OBJECTS[:3])
        product.run(at(60), max_files=2)
        product.land("readings", OBJECTS[3:])
        product.run(at(120))
        product.run(at(180))
        product.pipeline().close(as_of=at(240))
    hold_same(remote, local)
    counted = [each.pipeline().table("streams/counted").count_rows() for each in (remote, local)]
    assert counted[0] == counted[1] > 0
    assert {batch["input"] for batch in hold_replay(remote)["batches"]} == {"landing"}
    assert "events" in {batch["input"] for batch in hold_replay(remote, input="events")["batches"]}


@pytest.mark.long
def test_all_rules_of_streams_give_what_they_give_in_a_folder(tmp_path, service, bucket):
    """And a row that lands again is known as a duplicate by what is kept beside the events."""
    sources = {"readings": replace(KEYED, by=("k", "e"), within=300 * SECOND), "other": replace(PLAIN, require=True)}
    local = Product(tmp_path / "local", sources, EVERY_RULE)
    remote = Remote(tmp_path / "remote", sources, EVERY_RULE, bucket=bucket, service=service)
    again = [replace(item, uri=f"z{item.uri}") for item in OBJECTS[:2]]
    for product in (local, remote):
        for name in sources:
            product.land(name, [*OBJECTS[:2], again[0]])
        product.run(at(60), max_files=2)
        for name in sources:
            product.land(name, [*OBJECTS[2:], again[1]])
        product.run(at(120))
        product.pipeline().close(as_of=at(240))
    hold_same(remote, local)
    assert {("duplicate",), ("require.plain",)} <= {
        tuple(row["_reasons"]) for name in sources for row in remote.events(name)
    }
    tables = [f"streams/{name}" for name in ("rates", "steps", "priced", "alone", "days", "load_short", "visits")]
    assert [table for table in tables if not remote.table(table)] == []
    hold_replay(remote)
