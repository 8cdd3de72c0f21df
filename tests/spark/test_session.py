"""The JVM that a command starts on one machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tidemark.config.scheduling.placement import CONF_VARIABLE
from tidemark.spark.session.session import _reason, _region, cluster_settings, local_settings


def test_parts_of_the_heap_hold_sparks_buffers(spark):
    factory = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    asked = list(factory.getRuntimeMXBean().getInputArguments())
    assert [word for word in asked if word.startswith("-XX:G1HeapRegionSize=")], asked


def test_what_is_read_and_written_at_once_keeps_no_memory_outside_the_heap(spark, tmp_path):
    jvm, whole = spark.sparkContext._jvm, 48 << 20
    pools = list(jvm.java.lang.management.ManagementFactory.getPlatformMXBeans(_class(jvm, "BufferPoolMXBean")))
    [direct] = [pool for pool in pools if pool.getName() == "direct"]
    before = direct.getMemoryUsed()
    file = jvm.java.io.RandomAccessFile(str(tmp_path / "file"), "rw")
    try:
        assert file.getChannel().write(jvm.java.nio.ByteBuffer.allocate(whole)) == whole
    finally:
        file.close()
    assert direct.getMemoryUsed() - before < whole // 2


def _class(jvm, name):
    return jvm.java.lang.Class.forName(f"java.lang.management.{name}")


def test_sparks_own_page_is_shown_to_nobody(spark):
    assert spark.sparkContext.uiWebUrl is None


def test_only_where_one_process_does_all_does_spark_leave_out_to_prove_a_stage_that_it_computes_again(spark):
    name = "spark.sql.shuffle.orderIndependentChecksum.enabled"
    assert local_settings("local[*]")[name] == local_settings("local")[name] == "false"
    assert (
        local_settings("spark://host:7077")
        == local_settings("yarn")
        == local_settings("local-cluster[2,1,1024]")
        == {}
    )
    assert spark.conf.get(name) == "false"
    [shuffle] = _shuffles(spark.range(9).repartition(3)._jdf.queryExecution().sparkPlan())
    assert len(shuffle.shuffleDependency().rowBasedChecksums()) == 0


def _shuffles(plan):
    own = [plan] if plan.nodeName() == "Exchange" else []
    children = plan.children()
    return own + [found for index in range(children.size()) for found in _shuffles(children.apply(index))]


def test_a_cluster_fetches_our_jars_and_finds_the_driver(tmp_path):
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    listed = {"spark.jars": f"{jars[0]},{jars[1]}"}
    here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    assert cluster_settings("spark://host:7077", jars) == cluster_settings("yarn", jars) == listed
    assert (
        cluster_settings("spark://127.0.0.1:7077", jars)
        == cluster_settings("local-cluster[2,1,1024]", jars)
        == listed | here
    )


LOG = """
Exception in thread "main" java.lang.ExceptionInInitializerError
\tat org.apache.spark.internal.config.package$.<clinit>(package.scala:1150)
Caused by: java.net.UnknownHostException: batch-7: Name or service not known
\tat java.base/java.net.InetAddress.getLocalHost(InetAddress.java:1936)
\t... 17 more
"""


def test_the_reason_in_a_log_is_no_line_of_a_stack():
    assert _reason(LOG) == "Caused by: java.net.UnknownHostException: batch-7: Name or service not known"
    assert (
        _reason("spark-class: line 97: CMD: bad array subscript\n")
        == "spark-class: line 97: CMD: bad array subscript"
    )
    assert _reason("\n") == ""


@pytest.mark.parametrize(("memory", "wanted"), [(1 << 30, 4), (3 << 30, 12), (8 << 30, 16), (16 << 30, 16)])
def test_a_small_heap_has_small_parts(memory, wanted):
    assert _region(memory) == wanted


ASKED = """
import json, sys
from tidemark.spark.compat.jvm import running
from tidemark.spark.session.session import open_session
session = open_session("local[1]")
conf = session.conf
names = ["executor.cores", "driver.memory", "ui.enabled", "sql.adaptive.advisoryPartitionSizeInBytes"]
found = [running().java.lang.System.getenv("SPARK_LOCAL_IP"), session.read.text(sys.argv[1]).count()]
print(json.dumps([*[conf.get("spark." + name) for name in names], *found]))
"""


LOCALE = "from tidemark.spark.compat.sessions import locale_of_java; print(locale_of_java())"


def python(script: str, *arguments: str, **environ: str) -> str:
    whole = {key: value for key, value in os.environ.items() if not key.startswith("LC_")} | {"LANG": "C.UTF-8"}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=whole | environ, capture_output=True, text=True, check=True).stdout  # noqa: S603


@pytest.mark.parametrize("environ", [{"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "C", "PYTHONCOERCECLOCALE": "0"}])
def test_java_names_files_as_python_does(environ):
    assert python(LOCALE, **environ) == "{'LC_ALL': 'C.UTF-8'}\n"
    assert python(LOCALE) == "{}\n"


STARTING = """
from tidemark.errors import TidemarkError
from tidemark.spark.session.session import open_session
try:
    open_session("local[1]")
except TidemarkError as error:
    print(error.message, error.where)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"SPARK_HOME": "/nonexistent"}, "SPARK_HOME has no Spark"),
        ({"SPARK_LOCAL_DIRS": "/proc/nope"}, "Spark did not start: .*Failed to create any local dir"),
        (
            {"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"},
            "Spark did not start: .*HADOOP_CONF_DIR or YARN_CONF_DIR",
        ),
    ],
)
def test_what_keeps_spark_from_starting_is_said(environ, message):
    assert re.match(message, python(STARTING, **environ).splitlines()[-1])


@pytest.mark.spark
@pytest.mark.long
def test_spark_settings_of_the_environment_count_and_files_of_any_name_are_found(tmp_path):
    file = tmp_path / "día 日.json"
    file.write_text("{}")
    size = {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "64b"}
    asked = json.dumps({"spark.executor.cores": "2", "spark.driver.memory": "1g", **size})
    place = "<configuration><property><name>fs.defaultFS</name><value>hdfs://localhost:1</value></property></configuration>"
    (tmp_path / "core-site.xml").write_text(place)
    environ = {CONF_VARIABLE: asked, "LC_ALL": "C", "HADOOP_CONF_DIR": str(tmp_path)}
    assert json.loads(python(ASKED, str(file), **environ).splitlines()[-1]) == [
        "2",
        "1g",
        "false",
        "64b",
        "127.0.0.1",
        1,
    ]
