"""A real Airflow runs pipelines: on schedule, again, after a kill; tables are what one run gives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from airflow_home import AirflowHome, running
from dag_pipelines import land_day, write_pipeline

from tidemark.pipeline import Pipeline

pytestmark = pytest.mark.spark
DONE = {"discover": "success", "process": "success", "check_quality": "success", "publish": "success"}
VERIFIED = DONE | {"publish": "skipped"}
NOTHING = {"discover": "success", "process": "skipped", "check_quality": "skipped", "publish": "skipped"}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Iterator[AirflowHome]:
    folder = tmp_path_factory.mktemp("airflow")
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    land_day(folder / "landing", today - timedelta(days=2))
    asked = {"start_date": today.isoformat(), "retries": 1, "retry_delay": "1s"}
    write_pipeline(folder / "pipelines", schedule="0 0 * * *", airflow=asked)
    with running(folder) as home:
        yield home


def pipeline_of(home: AirflowHome, name: str = "toll") -> Pipeline:
    return Pipeline.load(home.folder / "pipelines" / f"{name}.yml")


def tables(pipeline: Pipeline) -> dict[str, list[tuple]]:
    """Rows without the batch that wrote them."""
    hours = pipeline.table("streams/hours").to_table().to_pylist()
    return {"events": events(pipeline), "hours": sorted((row["_window_start"], row["n"]) for row in hours)}


def events(pipeline: Pipeline) -> list[tuple]:
    kept = ("_partition", "_offset", "_event_time", "_system_timestamp", "_disposition")
    rows = pipeline.table("events/readings").to_table().to_pylist()
    return sorted([tuple(row[key] for key in kept) for row in rows], key=str)


def first_run(home: AirflowHome, dag: str) -> str:
    """The run that the scheduler makes when a DAG is switched on."""
    home.switch_on(dag)
    runs = home.until(lambda: home.get(f"/api/v2/dags/{dag}/dagRuns")["dag_runs"])
    return str(runs[0]["dag_run_id"])


@pytest.fixture(scope="module")
def scheduled(home) -> str:
    run = first_run(home, "tidemark_toll")
    assert home.run_ended("tidemark_toll", run)["state"] == "success", home.log("tidemark_toll", run, "process")
    return run


def test_a_scheduled_run_takes_what_has_landed_and_tells_consumers(home, scheduled):
    assert home.get("/api/v2/importErrors")["import_errors"] == []
    assert home.states("tidemark_toll", scheduled) == DONE
    found = pipeline_of(home).summary(scheduled)
    assert sum(batch["rows"] for batch in found["batches"]) == 20
    (event,) = events_of(home, "tidemark_toll")
    assert event["extra"]["rows"] == 20
    assert event["extra"]["run_id"] == scheduled
    assert event["extra"]["watermarks"]["readings"]["watermark"] == found["watermarks"]["readings"]["watermark"]
    hours = events_of(home, "tidemark_toll.hours")
    complete = datetime.fromisoformat(found["streams"]["hours"]["watermark"])
    assert max(event["partition_key"] for event in hours) == f"{complete - timedelta(hours=1):%Y-%m-%dT%H:00:00}"
    assert len({event["partition_key"] for event in hours}) == len(hours) == complete.hour
    assert (hours[0]["uri"], hours[0]["extra"]["again"]) == (
        (home.folder / "warehouse/toll/published/streams/hours").as_uri(),
        [],
    )


def events_of(home: AirflowHome, asset: str) -> list[dict[str, Any]]:
    found = home.get("/api/v2/assets/events?limit=100")["asset_events"]
    return [event for event in found if event["name"] == asset]


def cleared(home: AirflowHome, dag: str, run: str) -> dict[str, str]:
    """The states of a run's tasks after it was cleared and has ended again."""
    home.post(
        f"/api/v2/dags/{dag}/clearTaskInstances",
        {"dry_run": False, "dag_run_id": run, "only_failed": False, "reset_dag_runs": True},
    )
    home.run_ended(dag, run)
    return home.states(dag, run)


def test_a_cleared_run_verifies_what_it_did(home, scheduled):
    before = tables(pipeline_of(home))
    assert cleared(home, "tidemark_toll", scheduled) == VERIFIED
    assert "has answered for it" in home.log("tidemark_toll", scheduled, "discover", 2)
    assert tables(pipeline_of(home)) == before
    assert pipeline_of(home).ledger.last().committed_through == 1
    shown = home.page("/tidemark/pipelines/toll/runs")
    assert "DAG run, success" in shown
    assert ">identical, " in shown


@pytest.mark.usefixtures("scheduled")
def test_a_run_without_anything_to_do_starts_no_spark(home):
    shutil.rmtree(home.folder / "empty", ignore_errors=True)
    write_pipeline(home.folder / "pipelines", "quiet", warehouse="../quiet", streams={})
    source = home.folder / "pipelines" / "quiet.yml"
    source.write_text(source.read_text().replace("../landing", "../empty"))
    (home.folder / "empty").mkdir()
    run = triggered(home, "tidemark_quiet")
    assert home.run_ended("tidemark_quiet", run)["state"] == "success"
    assert home.states("tidemark_quiet", run) == NOTHING


def triggered(home: AirflowHome, dag: str, **conf: Any) -> str:
    home.switch_on(dag)
    return str(home.post(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"])


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_run_that_quality_blocks_fails_at_its_check_until_it_is_released(home):
    limits = {"max_watermark_delay": "1s", "on_failure": "block"}
    file = write_pipeline(home.folder / "pipelines", "strict", warehouse="../strict", quality=limits)
    run = triggered(home, "tidemark_strict")
    assert home.run_ended("tidemark_strict", run)["state"] == "failed"
    assert home.states("tidemark_strict", run) == DONE | {"check_quality": "failed", "publish": "upstream_failed"}
    assert home.tasks("tidemark_strict", run)["check_quality"]["try_number"] == 1
    assert f"tidemark release {file} {run} --reason" in home.log("tidemark_strict", run, "check_quality")
    later = triggered(home, "tidemark_strict")
    assert home.run_ended("tidemark_strict", later)["state"] == "failed"
    assert f"quality blocks run {run}" in home.log("tidemark_strict", later, "discover")
    told = subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, "-m", "tidemark", "release", str(file), run, "--reason", "an old day"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert cleared(home, "tidemark_strict", run) == DONE, "as a whole: what was released is verified, and emitted"
    (event,) = events_of(home, "tidemark_strict")
    assert (event["extra"]["runs"], event["extra"]["rows"]) == ([run], 20)
    assert cleared(home, "tidemark_strict", run) == VERIFIED


def test_the_report_dag_writes_a_page_for_each_pipeline(home, scheduled):
    ended = home.run_ended("tidemark_quality_report", triggered(home, "tidemark_quality_report"))
    assert ended["state"] == "success"
    page = home.folder / "reports" / "toll" / f"{ended['run_after'][:10]}.html"
    assert scheduled.replace("+", "&#43;") in page.read_text() or scheduled in page.read_text()
    assert "with 20 rows" in page.read_text()


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_the_backfill_dag_builds_a_version_and_promotes_it_where_that_was_asked_for(home):
    asked = {"pipeline": "toll", "from": (datetime.now(UTC) - timedelta(days=3)).isoformat()}
    run = triggered(home, "tidemark_backfill", **asked, settings=["sources.readings.late_arrival.tolerance=10m"])
    assert home.run_ended("tidemark_backfill", run)["state"] == "success", home.log("tidemark_backfill", run, "build")
    assert "nobody asked for it" in home.log("tidemark_backfill", run, "report")
    before = pipeline_of(home).versions()["live"]
    run = triggered(home, "tidemark_backfill", **asked, promote="when identical")
    assert home.run_ended("tidemark_backfill", run)["state"] == "success", home.log("tidemark_backfill", run, "build")
    assert "came out identical" in home.log("tidemark_backfill", run, "report")
    versions = pipeline_of(home).versions()
    assert versions["live"] == versions["versions"][-1]["version"] > before


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
@pytest.mark.parametrize("dag", ["tidemark_toll", "tidemark_backfill", "tidemark_quality_report"])
def test_each_dag_runs_without_a_scheduler(home, dag):
    """`airflow dags test` is `dag.test()`; maintenance has a test of its own."""
    before = tables(pipeline_of(home))
    asked = {"pipeline": "toll", "from": (datetime.now(UTC) - timedelta(days=3)).isoformat()}
    conf = ["--conf", json.dumps(asked)] if dag == "tidemark_backfill" else []
    assert "state=success" in home.tested(dag, *conf)
    assert tables(pipeline_of(home)) == before


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_the_maintenance_dag_tells_what_it_would_do_and_does_it(home):
    before = tables(pipeline_of(home))
    for dry in ("true", "false"):
        said = home.tested("tidemark_maintenance", "--conf", f'{{"dry_run": {dry}}}')
        assert "state=success" in said
    assert tables(pipeline_of(home)) == before


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_run_whose_process_is_killed_is_repaired_by_its_retry(home):
    write_pipeline(home.folder / "pipelines", "killed", warehouse="../killed", airflow={"retry_delay": "1s"})
    run = triggered(home, "tidemark_killed")
    home.until((home.folder / "killed" / "killed" / "v1" / "batches").is_dir)
    process = home.until(partial(submitted, home.folder / "pipelines" / "killed.yml"))
    os.kill(process, signal.SIGKILL)
    assert home.run_ended("tidemark_killed", run)["state"] == "success"
    assert home.tasks("tidemark_killed", run)["process"]["try_number"] == 2
    assert len(tables(pipeline_of(home, "killed"))["events"]) == 20


def submitted(config: Path) -> int | None:
    """The JVM of the run of a pipeline file."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if str(config).encode() in words and b"org.apache.spark.deploy.SparkSubmit" in words:
                return int(entry.name)
    return None
