"""A caller's own Spark session answers after each verb as it did before, and the process is as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tidemark.errors import TidemarkError
from tidemark.spark.session import isolation
from tidemark.spark.session.jars import installed_jars
from tidemark.spark.session.session import open_session

CONFIG = """
pipeline: beside
warehouse: ./warehouse
sources:
  s:
    landing: ./landing
    format: json
    schema: "k STRING, v DOUBLE, t TIMESTAMP"
    timestamp_by: t
    late_arrival: {tolerance: 20d, action: adjust}
  o:
    landing: ./orc
    format: orc
    schema: "t TIMESTAMP"
    timestamp_by: t
    late_arrival: {tolerance: 20d, action: adjust}
streams:
  minutes: {from: s, tumbling: 1m, select: {n: count(*), total: sum(v)}}
"""
LETTERS = """
pipeline: letters
warehouse: ./warehouse
sources:
  s:
    landing: ./landing
    format: json
    schema: "k STRING, t TIMESTAMP"
    timestamp_by: t
    partition: {column: lower(k)}
    late_arrival: {tolerance: 20d, action: adjust}
streams:
  letters: {from: s, publish: true, select: {low: lower(k)}}
"""
VERBS = (
    "run()",
    "replay(all_batches=True)",
    "advise()",
    "status()",
    "rows()",
    "explain('s', '0', 0)",
    "backfill('2026-01-01T00:00:00Z')",
    "promote(2)",
    "report(out='report.html')",
    "repair()",
    "close()",
)
BEGIN = """
import json, sys, threading
from pathlib import Path
from pyspark.sql import SparkSession

def begun():
    return (SparkSession.builder.master("local[2]").config("spark.jars", sys.argv[1])
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.driver.extraJavaOptions",
            "-Duser.timezone=America/New_York -Duser.language=tr -Duser.country=TR")
        .config("spark.ui.enabled", "false").config("spark.sql.icu.caseMappings.enabled", "false")
        .config("spark.databricks.delta.properties.defaults.appendOnly", "true")
        .getOrCreate())

caller = begun()
"""
CALLER = (
    BEGIN
    + """
caller.conf.set("spark.sql.shuffle.partitions", "7")
caller.range(3).createOrReplaceTempView("mine")
caller.range(1).selectExpr("timestamp '2026-01-01 00:00:00Z' as t").write.orc("orc")
jvm = caller.sparkContext._jvm

def state():
    try:
        ansi = caller.sql("select cast('x' as int)").collect()
    except Exception as error:
        ansi = type(error).__name__
    hadoop = caller.sparkContext._jsc.hadoopConfiguration()
    return dict(settings=caller.conf.getAll, ansi=ansi, zone=jvm.java.util.TimeZone.getDefault().getID(),
        locale=str(jvm.java.util.Locale.getDefault()), lower=caller.range(1).selectExpr("lower('I')").first()[0],
        noon=str(caller.sql("select cast('2026-01-01 12:00:00Z' as timestamp) as t").toPandas()["t"][0]),
        active=SparkSession.getActiveSession() is caller, built=SparkSession.builder.getOrCreate() is caller,
        jactive=caller._jsparkSession.equals(jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession().get()),
        tables=[each.name for each in caller.catalog.listTables()], view=sorted(vars(jvm)),
        switch=sys.getswitchinterval(), hadoop=sorted(each.getKey() for each in hadoop.iterator()),
        properties=str(caller.sparkContext._jsc.sc().getLocalProperties()))

from tidemark import Pipeline
from tidemark.spark.session.session import open_session
OTHERS = "spark.sql.icu.caseMappings.enabled", "spark.databricks.delta.properties.defaults.appendOnly"
before, found = state(), {}
for verb in sys.argv[2:]:
    pipeline = Pipeline.load("p.yml")
    eval("pipeline." + verb)
    after = state()
    found[verb] = {key: [before[key], after[key]] for key in before if before[key] != after[key]}
own = open_session()
found["ours"] = [own.conf.get(key, None) for key in OTHERS]
print(json.dumps(found))
"""
)
KEPT = (
    BEGIN
    + """
from tidemark import Pipeline

def land(number):
    Path(f"landing/{number}.json").write_text(json.dumps({"k": f"ÁI{number}", "t": "2026-01-01T00:00:00Z"}))

def locale():
    return str(caller.sparkContext._jvm.java.util.Locale.getDefault())

kept, other, found = Pipeline.load("p.yml"), Pipeline.load("other.yml"), [locale()]
kept.run()
found.append(locale())
land(2)
kept.run()  # the second verb of the same object
found.append(locale())

reached, may_end = threading.Event(), threading.Event()

def wait(step):
    reached.set()
    may_end.wait()

land(3)
kept.context.on_checkpoint = wait
thread = threading.Thread(target=kept.run)
thread.start()
reached.wait()
other.run()  # a verb that ends while another goes on
may_end.set()
thread.join()
kept.context.on_checkpoint = lambda step: None
found.append(locale())

caller.stop()
caller = begun()  # the application that the object knew is gone
land(4)
kept.run()
found.append(locale())
kept.close()
rows = kept.table("streams/letters").to_table()["low"].to_pylist()
files = [str(path) for path in Path("warehouse").rglob("*") if not path.name.isascii()]
found = [found, sorted(rows), kept.replay(all_batches=True)["identical"], files]

process = caller.sparkContext._gateway.proc
process.kill()
process.wait()
print(json.dumps([*found, len(kept.status()["runs"]), kept.replay()["identical"]]))
"""
)


def printed_by(code: str, folder: Path, *arguments: str) -> Any:
    """What a caller's process in a folder prints last, as JSON."""
    ran = subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, "-c", code, ",".join(map(str, installed_jars())), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_callers_settings_and_answers_are_the_same_before_and_after_every_verb(tmp_path):
    (tmp_path / "landing").mkdir()
    rows = [{"k": "a", "v": 1.5, "t": f"2026-01-01T00:0{minute}:00Z"} for minute in range(3)]
    (tmp_path / "landing" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "p.yml").write_text(CONFIG)
    found = printed_by(CALLER, tmp_path, *VERBS)
    assert found.pop("ours") == [None, None], "settings of the application that change results or tables"
    assert found == {verb: {} for verb in VERBS}


def test_each_verb_of_a_kept_pipeline_has_settings_of_its_own_and_gives_the_callers_back(tmp_path):
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "1.json").write_text('{"k": "ÁI1", "t": "2026-01-01T00:00:00Z"}')
    (tmp_path / "p.yml").write_text(LETTERS)
    (tmp_path / "other.yml").write_text(LETTERS.replace("letters", "others"))
    found, rows, identical, files, *after = printed_by(KEPT, tmp_path)
    assert found == ["tr_TR"] * 5, "the caller's, before and after each verb"
    assert (rows, identical, files) == (["ái1", "ái2", "ái3", "ái4"], True, [])
    assert after == [5, True], "what a JVM that was killed leaves"


def test_a_session_of_our_own_is_not_the_one_that_others_get(spark):
    assert open_session() is spark
    beside = spark.newSession()
    beside.conf.set("spark.sql.ansi.enabled", "true")
    assert spark.conf.get("spark.sql.ansi.enabled") == "false"


def test_spark_connect_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    with pytest.raises(TidemarkError, match="can't run through Spark Connect") as caught:
        open_session()
    assert "TIDEMARK_MASTER" in caught.value.hint


def test_a_session_without_delta_is_refused_with_what_it_lacks(tmp_path: Path):
    code = (
        "from pyspark.sql import SparkSession\n"
        "SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()\n"
        "from tidemark.spark.session.session import open_session\n"
        "open_session()\n"
    )
    ran = subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "it lacks spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in ran.stderr
    assert "the class tidemark.count.EventCounts" in ran.stderr


def test_a_session_with_the_classes_of_another_tidemark_is_refused(spark, monkeypatch):
    isolation._ensure_equipped(spark)
    monkeypatch.setattr(isolation, "fingerprint", lambda: "0" * 64)
    with pytest.raises(TidemarkError, match=r"functions\.jar of this tidemark, and has one of another"):
        isolation._ensure_equipped(spark)
