"""Airflow in an environment without Spark and Great Expectations, and jobs in another one."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from airflow_home import AirflowHome
from dag_pipelines import land_day, write_pipeline

from environments import built, environment, script
from tidemark.pipeline import Pipeline

pytestmark = pytest.mark.long
TWO_LINES = "from tidemark.airflow import pipeline_dags\nglobals().update(pipeline_dags())\n"
LACKING = "pyspark", "great_expectations", "delta", "tidemark.spark", "boto3"
ABSENT = """
import importlib.util, json, tidemark.cli, tidemark.dashboard.app, tidemark.airflow
found = [name for name in {names!r} if importlib.util.find_spec(name) is not None]
from airflow import plugins_manager
plugins, errors = plugins_manager._get_plugins()
apps, _ = plugins_manager.get_fastapi_plugins()
ours = [plugin.name for plugin in plugins].count("tidemark")
print(json.dumps([found, errors, ours, [app["url_prefix"] for app in apps]]))
"""

REFUSED = """
import json
from tidemark.airflow.command import Child
try:
    Child("spark_default", None).command()
except Exception as error:
    print(json.dumps(str(error)))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An Airflow whose jobs run elsewhere, with one pipeline and a day of rows."""
    folder = tmp_path_factory.mktemp("apart")
    (folder / "wheels").mkdir()
    light, spark = built(folder / "wheels")
    jobs = environment(folder / "jobs", [light, spark])
    airflow = environment(folder / "airflow-env", [light], ["airflow"])
    script(airflow, "airflow", "airflow.__main__")
    subprocess.run([jobs.with_name("tidemark"), "setup"], check=True)  # noqa: S603 - the wheels' own command
    (folder / "home" / "dags").mkdir(parents=True)
    (folder / "home" / "dags" / "pipelines.py").write_text(TWO_LINES)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    land_day(folder / "home" / "landing", today - timedelta(days=2))
    write_pipeline(folder / "home" / "pipelines", schedule="0 0 * * *")
    command = {"tidemark": str(jobs.with_name("tidemark"))}
    made = AirflowHome(folder / "home", interpreter=airflow, dag_folder=folder / "home" / "dags", connection=command)
    made.command("db", "migrate")
    return made


def test_airflow_has_neither_spark_nor_great_expectations_and_one_dashboard(home):
    assert home.python(ABSENT.format(names=LACKING)) == [[], {}, 1, ["/tidemark"]]


def test_a_dag_file_of_two_lines_gives_the_dag_and_its_run_is_done_elsewhere(home):
    assert "state=success" in home.tested("tidemark_toll")
    pipeline = Pipeline.load(home.folder / "pipelines" / "toll.yml")
    (run,) = pipeline.status()["runs"]
    assert (run["rows"], run["status"]) == (20, "committed")
    assert pipeline.table("quality").count_rows() > 10
    assert pipeline.table("streams/hours").count_rows() > 0
    assert pipeline.replay(all_batches=True)["identical"]


def test_a_connection_that_names_no_environment_is_an_error_that_says_what_to_do(home):
    home.connection = {}
    assert "this environment has no Spark, and the Spark connection names no other" in home.python(REFUSED)


def test_readers_of_the_airflow_environment_read_what_the_jobs_wrote(home):
    command, config = home.interpreter.with_name("tidemark"), home.folder / "pipelines" / "toll.yml"

    def record(verb: str) -> dict:
        done = subprocess.run([command, verb, config, "--json"], capture_output=True, text=True, check=True)  # noqa: S603
        return json.loads(done.stdout)

    assert record("status")["runs"][0]["rows"] == 20
    assert record("verify")["sound"]
    assert record("rows")["total"] == 20
