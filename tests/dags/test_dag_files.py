"""What Airflow makes of pipeline files: DAGs, import errors, drawings, and how long that takes."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest
from airflow_home import AirflowHome
from dag_pipelines import write_pipeline

from tidemark.application.command import APPLICATION
from tidemark.spark.session import class_archive
from tidemark.spark.session.jars import installed_jars
from tidemark.spark.session.session import class_path

LOAD = """
import json, sys, time
import airflow.sdk, airflow.dag_processing.dagbag as dagbag
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
begun = time.perf_counter()
bag = dagbag.DagBag({folder!r})
took = time.perf_counter() - begun
told = lambda dag: dict(schedule=str(dag.schedule), catchup=dag.catchup, active=dag.max_active_runs, doc=dag.doc_md,
    tags=sorted(dag.tags), owner=dag.owner, start=str(dag.start_date), tasks={{task.task_id: dict(
    retries=task.retries, pool=task.pool, below=sorted(task.downstream_task_ids), kind=type(task).__mro__[1].__name__,
    ) for task in dag.tasks}})
print(json.dumps(dict(errors=bag.import_errors, took=took, spark="pyspark" in sys.modules,
    dags={{name: told(dag) for name, dag in bag.dags.items()}})))
"""
ASSETS = """
import json
import airflow.dag_processing.dagbag as dagbag
bag = dagbag.DagBag({folder!r})
dag = bag.dags["tidemark_toll"]
named = lambda ref: getattr(ref, "name", None) or ref.uri
print(json.dumps(dict(errors=bag.import_errors, awaited=[named(ref) for ref in dag.timetable.asset_condition.objects],
    inlets=[named(ref) for ref in dag.get_task("discover").inlets],
    outlets=[[asset.name, asset.uri] for asset in dag.get_task("publish").outlets])))
"""
VERBS = ("replay", "advise", "release", "abandon", "exclude", "repair", "close", "verify")
OPERATIONS = {"tidemark_backfill", "tidemark_quality_report", "tidemark_maintenance"} | {
    f"tidemark_operate_{verb}" for verb in VERBS
}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> AirflowHome:
    home = AirflowHome(tmp_path_factory.mktemp("airflow"))
    home.command("db", "migrate")
    return home


@pytest.fixture
def pipelines(home):
    folder = home.folder / "pipelines"
    yield folder
    for path in folder.iterdir():
        path.unlink()


def loaded(home: AirflowHome):
    return home.python(textwrap.dedent(LOAD.format(folder=home.environ["AIRFLOW__CORE__DAGS_FOLDER"])))


def test_a_pipeline_file_becomes_a_dag_of_four_tasks(home, pipelines):
    keys = {"owner": "data", "retries": 5, "tags": ["roads"], "start_date": "2026-01-01"}
    write_pipeline(pipelines, schedule="*/15 * * * *", airflow=keys)
    found = loaded(home)
    assert found["errors"] == {}
    assert found["dags"].keys() == {"tidemark_toll", *OPERATIONS}
    dag = found["dags"]["tidemark_toll"]
    assert (dag["schedule"], dag["catchup"], dag["active"], dag["owner"]) == ("*/15 * * * *", True, 1, "data")
    assert dag["tags"] == ["roads", "tidemark"]
    assert dag["start"].startswith("2026-01-01")
    below = {name: told["below"] for name, told in dag["tasks"].items()}
    assert below["discover"] == ["process"]
    assert (below["process"], below["check_quality"], below["publish"]) == (["check_quality"], ["publish"], [])
    assert dag["tasks"]["process"]["kind"] == "SparkSubmitOperator"
    assert {told["retries"] for told in dag["tasks"].values()} == {5}


def test_a_pipeline_may_wait_for_assets_and_has_one_for_each_stream(home, pipelines):
    write_pipeline(pipelines, airflow={"assets": ["uploads", "s3://bucket/other"], "periods": {"hours": "day"}})
    write_pipeline(pipelines, "both", schedule="@daily", airflow={"assets": ["uploads"]})
    found = home.python(ASSETS.format(folder=home.environ["AIRFLOW__CORE__DAGS_FOLDER"]))
    assert found["awaited"] == ["uploads", "s3://bucket/other"]
    assert found["inlets"] == found["awaited"]
    location = (home.folder / "warehouse" / "toll" / "published" / "streams" / "hours").as_uri()
    assert found["outlets"] == [
        ["tidemark_toll", "tidemark_toll"],
        ["tidemark_toll.hours", location],
        ["tidemark_toll:emitted", "tidemark_toll:emitted"],
    ]
    (message,) = found["errors"].values()
    assert "airflow.assets: goes without `schedule`" in message


def test_the_page_of_a_dag_has_its_streams_in_mermaid_and_tells_its_policies(home, pipelines):
    streams = {"fast": {"from": "readings", "where": "lane <> '\"]; click'"}, "both": {"union": ["fast", "readings"]}}
    write_pipeline(pipelines, streams=streams)
    doc = loaded(home)["dags"]["tidemark_toll"]["doc"]
    assert "```mermaid\nflowchart LR\n" in doc
    assert 'n_readings[("readings")]' in doc
    assert "n_readings --> n_fast" in doc
    assert "&quot;]; click" in doc
    assert "| readings | 5m, drop | 1h, drop | 10m, adjust | 1d | a, b |" in doc


def test_a_broken_file_gives_one_import_error_and_leaves_the_other_dags_alone(home, pipelines):
    write_pipeline(pipelines, "good")
    write_pipeline(pipelines, "bad", airflow={"retries": "many", "colour": "red"}, start="yesterday")
    (pipelines / "again.yml").write_text((pipelines / "good.yml").read_text())
    found = loaded(home)
    assert found["dags"].keys() == {"tidemark_good", *OPERATIONS}
    ((file, message),) = found["errors"].items()
    assert file.endswith("tidemark_broken_pipelines.py")
    assert "bad.yml" in message
    assert "start" in message
    assert "'good' is the pipeline of" in message


def test_what_a_file_asks_of_airflow_is_checked(home, pipelines):
    write_pipeline(pipelines, "bad", airflow={"retries": "many", "colour": "red"})
    (message,) = loaded(home)["errors"].values()
    assert "airflow.retries: 'many': must be a whole number" in message
    assert "airflow.colour: is not known: there are owner, retries" in message


SUBMIT = """
import json, locale
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from tidemark.airflow import submit
SparkSubmitOperator.execute = lambda self, context: print(
    json.dumps([self.application, self.application_args, self.jars, self.driver_class_path,
        self.conf["spark.driver.defaultJavaOptions"], self.env_vars["LC_ALL"]])
)
locale.getencoding = lambda: "ANSI_X3.4-1968"  # as with LC_ALL=C, where Python has UTF-8 for names of files
submit.TidemarkSubmitOperator(task_id="process", job="process", application_args=[{config!r}]).execute({{}})
"""


def test_a_submitted_job_has_the_class_path_of_the_archive_of_classes(home, pipelines):
    config = write_pipeline(pipelines)
    application, arguments, jars, on_driver, options, language = home.python(SUBMIT.format(config=str(config)))
    assert (Path(application), arguments) == (APPLICATION, ["process", str(config)])
    assert on_driver == os.pathsep.join(map(str, class_path()))
    assert jars == ",".join(map(str, installed_jars()))
    assert options.endswith(class_archive.java_options())
    assert class_archive.java_options()
    assert language == "C.UTF-8"


CHILD = """
import json
from tidemark.airflow import command
class Found:
    host, port, extra_dejson = "spark://here", 7077, {extra!r}
command.connection = lambda name: Found()
child = command.Child("spark_default", None)
print(json.dumps([child.command(), child.environment({{"PYTHONPATH": "a", "HOME": "b"}})]))
"""


def test_a_child_process_gets_the_master_of_the_connection_and_elsewhere_no_packages_of_airflow(home):
    master = {"HOME": "b", "TIDEMARK_MASTER": "spark://here:7077", "TIDEMARK_LOG": "1"}
    elsewhere = home.python(CHILD.format(extra={"tidemark": "docker run --rm 'my image' tidemark"}))
    assert elsewhere == [["docker", "run", "--rm", "my image", "tidemark"], master]
    assert home.python(CHILD.format(extra={})) == [
        [sys.executable, "-m", "tidemark"],
        master | {"PYTHONPATH": "a"},
    ]


COMMAND = """
import json, sys
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from tidemark.airflow import command
class Found:
    host, port, extra_dejson = None, None, dict(tidemark=sys.executable + " {script}")
command.connection = lambda name: Found()
command.pinned.load = lambda config, content: None
try:
    operator = command.TidemarkCommandOperator(task_id="process", job="process", application_args=["toll.yml", "3"])
    operator.execute({{}})
    print(json.dumps("done"))
except AirflowException as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (0, "done"),
        (1, ["AirflowFailException", "the check failed: error: of status 1 for process toll.yml 3"]),
        (
            2,
            [
                "AirflowFailException",
                "the configuration or the call is wrong: error: of status 2 for process toll.yml 3",
            ],
        ),
        (3, ["AirflowException", "the command ended with status 3: error: of status 3 for process toll.yml 3"]),
    ],
)
def test_the_end_of_a_command_elsewhere_is_the_end_of_its_task(home, tmp_path, status, ends):
    script = tmp_path / "elsewhere.py"
    said = f"print('error: of status {status} for', *sys.argv[1:], file=sys.stderr)"
    script.write_text(f"import sys\nprint('begun')\n{said}\nsys.exit({status})\n")
    assert home.python(COMMAND.format(script=script)) == ends


TIMED_OUT = """
import json, logging, sys
from airflow.sdk.exceptions import AirflowTaskTimeout
from airflow.sdk.execution_time.timeout import timeout
from tidemark.airflow import command
class Found:
    host, port, extra_dejson = None, None, dict(tidemark=sys.executable + " {script}")
command.connection = lambda name: Found()
command.pinned.load = lambda config, content: None
child = command.Child("spark_default", logging.getLogger())
try:
    with timeout(1):
        child.run("process", ["toll.yml"])
except AirflowTaskTimeout:
    print(json.dumps(child._process.returncode))
"""


def test_a_command_of_a_task_that_has_timed_out_is_stopped(home, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(30)\n")
    assert home.python(TIMED_OUT.format(script=script)) == -signal.SIGTERM


ALERTS = """
import json
from tidemark.airflow import pipeline_dags
dag = pipeline_dags()["tidemark_toll"]
kind = lambda found: type(found).__name__ if found else None
of_tasks = {(*map(kind, task.on_failure_callback), str(task.execution_timeout)) for task in dag.tasks}
print(json.dumps([str(dag.dagrun_timeout), [str(each.interval) for each in dag.deadline or ()],
    kind(dag.on_failure_callback), sorted(of_tasks)]))
"""


def test_a_pipeline_file_asks_for_messages_a_deadline_and_a_timeout(home, pipelines):
    write_pipeline(pipelines)
    assert home.python(ALERTS) == ["None", [], None, [["None"]]]
    write_pipeline(pipelines, airflow={"notify": ["ops"], "deadline": "1h", "timeout": "2h"})
    each = ["FailureNotifier", "2:00:00"]
    assert home.python(ALERTS) == ["2:00:00", ["1:00:00"], "FailureNotifier", [each]]


GATED = """
import json
from tidemark.airflow import operation_dags, pipeline_dags
dag = pipeline_dags()["tidemark_toll"]
tasks = {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks}
gate, publish = dag.get_task("check_quality"), dag.get_task("publish")
waits = [str(dag.dagrun_timeout), str(gate.execution_timeout), str(publish.execution_timeout)]
backfill = sorted(operation_dags()["tidemark_backfill"].get_task("decide").downstream_task_ids)
print(json.dumps([tasks, waits, publish.trigger_rule, backfill]))
"""


def test_with_approval_the_check_waits_for_a_person_as_long_as_it_takes(home, pipelines):
    write_pipeline(pipelines, airflow={"approval": True, "timeout": "2h"})
    tasks, waits, rule, decided = home.python(GATED)
    assert tasks == {
        "discover": ["process"],
        "process": ["check_quality"],
        "check_quality": ["release"],
        "release": ["publish"],
        "publish": [],
    }
    assert waits == ["None", "None", "2:00:00"]
    assert (rule, decided) == ("none_failed", ["report"])


def test_a_notifier_that_airflow_lacks_is_an_import_error(home, pipelines):
    write_pipeline(pipelines, "good")
    wrong = ("no.such.Class", "tidemark.pipeline.Pipeline", "airflow.providers.smtp.notifications.smtp.SmtpNotifier")
    write_pipeline(pipelines, "bad", airflow={"notify": [{"class": name, "colour": "red"} for name in wrong]})
    found = loaded(home)
    assert "tidemark_bad" not in found["dags"]
    assert "tidemark_good" in found["dags"]
    (message,) = found["errors"].values()
    assert "airflow.notify: no.such.Class: No module named 'no'" in message
    assert "airflow.notify: tidemark.pipeline.Pipeline: is no notifier class of Airflow" in message
    assert "SmtpNotifier: missing a required argument: 'to'" in message


WARM = """
import json
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from tidemark.airflow import command, submit
from tidemark.config.scheduling.placement import Placement
class Found:
    host, port, extra_dejson = "local[1]", None, {extra!r}
command.connection = lambda name: Found()
command.pinned.load = lambda config, content: None
said = []
class Process:
    returncode, stdout = 0, ()
    def __init__(self, line, env, **options):
        said.append([*line[1:], *([env["TIDEMARK_SPARK_CONF"]] if "TIDEMARK_SPARK_CONF" in env else [])])
    __enter__, __exit__ = lambda self: self, lambda self, *_: None
command.subprocess.Popen = Process
submit.TidemarkSubmitOperator._submit = lambda self, context: said.append([self.job])
for job in ("process", "maintain"):
    submit.TidemarkSubmitOperator(task_id=job, job=job, application_args=["toll.yml"]).execute({{}})
    command.TidemarkCommandOperator(task_id=job, job=job, application_args=["toll.yml"]).execute({{}})
placed = dict(job="process", application_args=["toll.yml"], placement=Placement(conf={{"spark.executor.cores": "2"}}))
command.TidemarkCommandOperator(task_id="placed", **placed).execute({{}})
print(json.dumps(said))
"""


def test_the_task_process_uses_a_server_if_the_connection_asks_for_it(home):
    def child(job: str, *more: str) -> list[str]:
        return ["-m", "tidemark", job, "toll.yml", *more]

    placed = child("process", '{"spark.executor.cores": "2"}')  # a server's session has its own settings
    warm = home.python(WARM.format(extra={"tidemark_warm": True}))
    assert warm == [child("process", "--warm")] * 2 + [["maintain"], child("maintain"), placed]
    for extra in ({}, {"tidemark_warm": "false"}):
        cold = home.python(WARM.format(extra=extra))
        assert cold == [["process"], child("process"), ["maintain"], child("maintain"), placed]


def test_fifty_files_are_parsed_without_spark(home, pipelines):
    for number in range(50):
        write_pipeline(pipelines, f"p{number}", schedule="0 * * * *")
    found = loaded(home)
    assert len(found["dags"]) == 50 + len(OPERATIONS)
    assert not found["spark"]
    print(json.dumps({"seconds": found["took"]}))  # noqa: T201 - a figure for whoever looks with -s


TELL = """
import json, types
from tidemark.airflow import approvals, operations
same = dict(rows=dict(), streams=dict(), dead_letters=dict())
built = [dict(version=2, label="mine", difference=same), dict(version=3, label="another", difference=same)]
class Pipeline:
    spec = None
    def versions(self):
        return types.SimpleNamespace(record=dict(versions=built))
pushed = dict()
class Instance:
    xcom_push = lambda self, key, value: pushed.update({key: value})
operations.aws.load = approvals.aws.load = lambda config: Pipeline()
operations.get_current_context = lambda: dict(params=dict(promote="when identical"), run_id="mine", ti=Instance())
Pipeline.spec = types.SimpleNamespace(name="toll")
task = operations.report_differences(dict(config="toll.yml", label="mine"), dict(toll="promote_toll"))
print(json.dumps([task, pushed["arguments"]]))
"""


def test_a_backfill_dag_judges_and_promotes_the_version_that_its_own_run_built(home, pipelines):
    assert home.python(TELL) == ["promote_toll", ["toll.yml", "2", "--wait"]]
    write_pipeline(pipelines)
    write_pipeline(pipelines, "large", airflow={"spark": {"pool": "large"}})
    dags = loaded(home)["dags"]
    backfill = dags["tidemark_backfill"]
    assert backfill["active"] == 1
    below = {name: told["below"] for name, told in backfill["tasks"].items()}
    assert below["choose"] == ["build", "build_large", "decide", "report"]
    assert below["report"] == ["promote", "promote_large"]
    pools = {name: told["pool"] for name, told in backfill["tasks"].items()}
    assert {name for name, pool in pools.items() if pool == "large"} == {"build_large", "promote_large"}
    assert dags["tidemark_maintenance"]["tasks"]["large"]["pool"] == "large"
    assert dags["tidemark_operate_replay"]["tasks"]["replay_large"]["pool"] == "large"
