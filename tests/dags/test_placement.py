"""Where the tasks of a pipeline run, and when: DAGs as Airflow stores them, and as a group in another DAG."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from airflow_home import AirflowHome
from dag_pipelines import write_pipeline

from tidemark.config.load import load_pipeline
from tidemark.config.pipeline_files import SINCE, PipelineFile, content_of, read
from tidemark.config.scheduling.placement import conf_of_environment, refused
from tidemark.errors import ConfigError, UsageError
from tidemark.spark.session import session
from tidemark.spark.session.settings import RESULT_SETTINGS

STORED = """
import json, sys
from datetime import datetime
from pathlib import Path
from airflow.sdk import DAG, task
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction
from tidemark.airflow import pipeline_tasks
from tidemark.airflow.pipelines import pipeline_dag
from tidemark.config.pipeline_files import PipelineFile

def stored(dag):
    found = json.loads(json.dumps(DagSerialization.to_dict(dag)))
    back = DagSerialization.from_dict(found)
    runs, last = [], None
    for _ in range(4 if back.timetable.can_be_scheduled else 0):
        info = back.timetable.next_dagrun_info(
            last_automated_data_interval=last, restriction=TimeRestriction(back.start_date, None, True))
        runs.append(info.run_after.isoformat())
        last = info.data_interval
    tasks = {{each["__var"]["task_id"]: each["__var"] for each in found["dag"]["tasks"]}}
    return dict(dag=found["dag"], tasks=tasks, runs=runs)

def say(word):
    return word

with DAG("mine", schedule=None) as mine:
    before, after = task(task_id="before")(say)("a"), task(task_id="after", trigger_rule="none_failed")(say)("b")
    toll = pipeline_tasks("toll", default_args=dict(retries=7), tasks=dict(process=dict(pool="mine", queue="large")))
    again = pipeline_tasks(Path({files!r}["plain"]), group_id="again")
    before >> toll >> after
files = {{name: stored(pipeline_dag(PipelineFile.load(Path(path)))) for name, path in {files!r}.items()}}
print(json.dumps(dict(mine=stored(mine), **files)))
"""
SPARK = {"conn_id": "big", "pool": "spark", "pool_slots": 2, "conf": {"spark.executor.memory": "4g"}}
PLACED = {
    "timezone": "Europe/Amsterdam",
    "start_date": "2026-03-28",
    "pool": "small",
    "spark": SPARK,
    "paused": False,
    "backoff": True,
    "description": "tolls",
    "owner": "roads",
    "owner_link": "mailto:roads@example.com",
}


@pytest.fixture(scope="module")
def dags(tmp_path_factory):
    """DAGs as Airflow stores them, by name: each with its tasks and its first runs."""
    home = AirflowHome(tmp_path_factory.mktemp("airflow"))
    folder = home.folder / "pipelines"
    files = {
        "toll": write_pipeline(folder, schedule="@daily", airflow={"retries": 1}),
        "placed": write_pipeline(folder, "placed", schedule="@daily", airflow=PLACED),
        "plain": write_pipeline(folder, "plain"),
        "edited": write_pipeline(folder / "later", "plain", quality={"max_dropped": "1%"}),
    }
    return home.python(STORED.format(files={name: str(path) for name, path in files.items()}))


def problems(tmp_path, **airflow) -> str:
    with pytest.raises(ConfigError) as raised:
        PipelineFile.load(write_pipeline(tmp_path, airflow=airflow))
    return str(raised.value)


def test_the_spark_task_alone_is_placed(dags):
    tasks = dags["placed"]["tasks"]
    pools = {name: each.get("pool") for name, each in tasks.items()}
    assert pools == {"discover": "small", "process": "spark", "check_quality": "small", "publish": "small"}
    assert (tasks["process"]["pool_slots"], tasks["process"]["conf"]) == (2, SPARK["conf"])
    assert {each["retry_exponential_backoff"] for each in tasks.values()} == {2.0}
    dag = dags["placed"]["dag"]
    assert (dag["is_paused_upon_creation"], dag["description"]) == (False, "tolls")
    assert dag["owner_links"] == {"roads": "mailto:roads@example.com"}


def test_a_schedule_follows_its_time_zone_through_a_day_of_23_hours(dags):
    assert dags["placed"]["runs"] == [
        "2026-03-27T23:00:00+00:00",
        "2026-03-28T23:00:00+00:00",
        "2026-03-29T22:00:00+00:00",
        "2026-03-30T22:00:00+00:00",
    ]


def test_a_schedule_without_a_first_day_has_one_that_never_moves(dags):
    first = dags["toll"]["dag"]
    assert datetime.fromtimestamp(first["start_date"], UTC) == SINCE
    assert not first["catchup"]
    assert dags["placed"]["dag"]["catchup"]


def test_each_task_links_to_the_page_of_its_run(dags):
    assert all("Pipeline run" in each["_operator_extra_links"] for each in dags["toll"]["tasks"].values())


def test_an_edited_file_makes_another_version_of_the_dag_and_a_remark_does_not(dags, tmp_path):
    path = write_pipeline(tmp_path)
    before = content_of(load_pipeline(path).spec)
    path.write_text("# a remark\n" + path.read_text())
    assert content_of(load_pipeline(path).spec) == before
    edited = content_of(load_pipeline(write_pipeline(tmp_path, quality={"max_dropped": "1%"})).spec)
    assert edited != before
    assert dags["plain"]["tasks"]["discover"]["op_args"][1] != dags["edited"]["tasks"]["discover"]["op_args"][1]


def test_a_version_does_not_depend_on_values_of_the_environment(tmp_path):
    path = write_pipeline(tmp_path, warehouse="${PLACE}/warehouse")
    found = {content_of(load_pipeline(path, {"PLACE": place}).spec) for place in ("/one", "/two")}
    assert len(found) == 1


def test_a_pipeline_is_a_group_of_another_dag_with_arguments_of_its_own(dags):
    tasks = dags["mine"]["tasks"]
    assert tasks["before"]["downstream_task_ids"] == ["toll.discover"]
    assert tasks["toll.publish"]["downstream_task_ids"] == ["after"]
    assert "task_ids='toll.discover'" in json.dumps(tasks["toll.process"]["application_args"])
    assert "task_ids='again.discover'" in json.dumps(tasks["again.process"]["application_args"])
    assert (tasks["toll.process"]["pool"], tasks["toll.process"]["queue"]) == ("mine", "large")
    assert tasks["toll.publish"].get("pool") is None
    assert (tasks["toll.process"]["retries"], tasks["again.process"]["retries"]) == (7, 2)


@pytest.mark.parametrize(
    ("airflow", "said"),
    [
        ({"spark": {"colour": 1}}, "airflow.spark.colour: is not known: there are conn_id, conf"),
        ({"spark": {"pool_slots": 0}}, "airflow.spark.pool_slots: 0: must be at least 1"),
        ({"spark": {"deploy_mode": "here"}}, "airflow.spark.deploy_mode: 'here': must be client or cluster"),
        ({"spark": {"conf": {"spark.sql.ansi.enabled": True}}}, "airflow.spark.conf.spark.sql.ansi.enabled: may not"),
        ({"spark": {"conf": {"spark.ssl.keyPassword": "x"}}}, "take it from the environment of the process"),
        (
            {"spark": {"conf": {"executor.memory": "4g"}}},
            "airflow.spark.conf.executor.memory: is no setting of Spark",
        ),
        (
            {"spark": {"conf": {"spark.executor.cores": []}}},
            "conf.spark.executor.cores: []: must be a text, a number",
        ),
        ({"spark": "big"}, "airflow.spark: 'big': must be a mapping with keys of conn_id"),
        ({"timezone": "Amsterdam"}, "airflow.timezone: 'Amsterdam': must be a time zone by its name"),
        ({"owner_link": "roads"}, "airflow.owner_link: 'roads': must begin with https://"),
        ({"backoff": 0.5}, "airflow.backoff: 0.5: must be true, false, or a factor"),
        ({"catchup": True}, "airflow.catchup: needs airflow.start_date"),
    ],
)
def test_a_wrong_key_is_named_with_its_path(tmp_path, airflow, said):
    assert said in problems(tmp_path, **airflow)


def test_no_setting_that_tidemark_relies_on_may_be_chosen():
    own = {**RESULT_SETTINGS, **session._STATIC_SETTINGS}
    assert not [name for name in own if refused(name) is None]
    assert refused("spark.executor.memory") is None
    assert "looks like a secret" in str(refused("spark.executorEnv.API_TOKEN"))
    assert refused("spark.kubernetes.driver.secrets.aws") is None


def test_spark_settings_of_the_environment_are_checked():
    assert conf_of_environment({"TIDEMARK_SPARK_CONF": '{"spark.executor.cores": 2}'}) == {
        "spark.executor.cores": "2"
    }
    for wrong in ("[", '{"spark.jars": "mine.jar"}'):
        with pytest.raises(UsageError, match="the variable TIDEMARK_SPARK_CONF"):
            conf_of_environment({"TIDEMARK_SPARK_CONF": wrong})


@pytest.mark.parametrize("name", ["backfill", "maintenance", "quality_report", "operate", "operate_verify"])
def test_a_pipeline_may_not_be_called_like_a_dag_for_all_pipelines(tmp_path, name):
    write_pipeline(tmp_path, name)
    (error,) = read(tmp_path).broken.values()
    assert f"pipeline: {name!r} is taken: DAGs for all pipelines are called so; choose another name" in error
