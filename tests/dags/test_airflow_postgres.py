"""Weeks, consumers and random stories in Airflow with PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow_home import ROOT, AirflowHome, running
from dag_pipelines import CONSUMERS, land_day, write_pipeline
from postgres import address, postgres
from test_airflow import DONE, NOTHING, VERIFIED, events, pipeline_of

pytestmark = [pytest.mark.spark, pytest.mark.long]
RUNS = int(os.environ.get("RUNS", "12"))
"""Number of runs in the random story of `publish`."""
SIGNALS = {
    "hours": {"from": "readings", "tumbling": "1h", "select": {"n": "count(*)"}},
    "days": {"from": "readings", "tumbling": "1d", "select": {"n": "count(*)"}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with postgres() as server:
        yield server


def dag_folder(folder: Path, pipeline: str) -> Path:
    """The project's DAG files, and a file with the DAGs of consumers of a pipeline."""
    shutil.copytree(ROOT / "dags", folder / "dags")
    (folder / "dags" / "consumers.py").write_text(CONSUMERS.replace("PIPELINE", pipeline))
    return folder / "dags"


@pytest.fixture(scope="module")
def home(tmp_path_factory, server) -> Iterator[AirflowHome]:
    folder = tmp_path_factory.mktemp("airflow")
    land_day(folder / "landing", datetime.now(UTC) - timedelta(days=3))
    write_pipeline(folder / "pipelines")
    signals = write_pipeline(folder / "pipelines", "signals", warehouse="../signals", streams=SIGNALS)
    signals.write_text(signals.read_text().replace("../landing", "../crossings"))
    with running(folder, address(server, "airflow"), dag_folder=dag_folder(folder, "signals")) as home:
        yield home


def test_postgresql_holds_what_airflow_knows_and_nothing_of_the_pipeline(home):
    dag = "tidemark_toll"
    home.switch_on(dag)
    run = home.post(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None})["dag_run_id"]
    assert home.run_ended(dag, run)["state"] == "success", home.log(dag, run, "process")
    assert not (home.folder / "airflow.db").exists()
    found = pipeline_of(home).summary(run)
    assert sum(batch["rows"] for batch in found["batches"]) == 20


def test_a_week_that_is_backfilled_in_order_has_the_tables_of_one_that_is_backfilled_in_reverse(home):
    """Airflow's own backfill: in order each day takes what landed in it; in reverse the first run takes all."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=back) for back in range(6, -1, -1)]
    for day in days[::3]:
        land_day(home.folder / "week", day - timedelta(days=1))  # it lands when the day is over
    later = {"start_date": (today + timedelta(days=1)).isoformat(), "catchup": False}
    found = {}
    for name, span, options in (("onward", days, []), ("backward", days[-3:], ["--run-backwards"])):
        path = write_pipeline(home.folder / "pipelines", name, schedule="0 0 * * *", airflow=later, streams={})
        path.write_text(path.read_text().replace("../landing", "../week").replace("../warehouse", f"../{name}"))
        found[name] = backfilled(home, f"tidemark_{name}", span, *options)
    answers = {name: [answer(states) for states in runs] for name, runs in found.items()}
    assert answers["onward"] == ["taken", "nothing", "nothing", "taken", "nothing", "nothing", "taken"]
    assert answers["backward"] == ["verified", "verified", "taken"]
    rows = {name: events(pipeline_of(home, name)) for name in found}
    assert len(rows["onward"]) == 60
    assert rows["onward"] == rows["backward"]


def backfilled(home: AirflowHome, dag: str, days: list[datetime], *options: str) -> list[dict[str, str]]:
    """The states of the tasks of each day's run, in the order of days, once a backfill has ended."""
    home.switch_on(dag)
    span = ["--from-date", days[0].isoformat(), "--to-date", days[-1].isoformat()]
    home.command("backfill", "create", "--dag-id", dag, *span, "--max-active-runs", "1", *options)

    def ended() -> Any:
        runs = home.get(f"/api/v2/dags/{dag}/dagRuns?run_type=backfill&order_by=logical_date")["dag_runs"]
        over = [run["dag_run_id"] for run in runs if run["state"] in ("success", "failed")]
        return over if len(over) == len(days) else None

    return [home.states(dag, run) for run in home.until(ended, 900)]


def answer(states: dict[str, str]) -> str:
    """What a run came to; its tasks' states if that is none of what it may."""
    known = {"taken": DONE, "verified": VERIFIED, "nothing": NOTHING}
    return next((name for name, wanted in known.items() if states == wanted), str(states))


def test_a_consumer_runs_once_for_each_complete_day(home):
    """Its schedule is Airflow's own rollup of hours to days. A day is complete once rows of the next have come."""
    dag, today = "tidemark_signals", datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=back) for back in (6, 5, 4, 3)]
    for consumer in ("daily", "both"):
        home.switch_on(consumer)
    for day in days[:2]:
        land_day(home.folder / "crossings", day)
    run = triggered(home, dag)
    assert home.states(dag, run) == DONE, home.log(dag, run, "publish")
    assert consumed(home, 1) == {f"{days[0]:%Y-%m-%d}"}
    land_day(home.folder / "crossings", days[3])
    pipeline_of(home, "signals").run()
    assert home.states(dag, triggered(home, dag)) == NOTHING | {"publish": "success"}
    assert consumed(home, 3) == {f"{day:%Y-%m-%d}" for day in days[:3]}
    assert home.states(dag, triggered(home, dag)) == NOTHING


def triggered(home: AirflowHome, dag: str) -> str:
    """A run of a DAG that has ended."""
    home.switch_on(dag)
    run = str(home.post(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None})["dag_run_id"])
    home.run_ended(dag, run)
    return run


def consumed(home: AirflowHome, count: int) -> set[str]:
    """The days for which each consumer has a run, once there are so many runs."""

    def found() -> Any:
        runs = [home.get(f"/api/v2/dags/{dag}/dagRuns")["dag_runs"] for dag in ("daily", "both")]
        return runs if min(map(len, runs)) >= count else None

    daily, both = ([run["partition_key"] for run in runs] for runs in home.until(found))
    assert sorted(daily) == sorted(both)
    assert len(daily) == count
    return set(daily)


def test_after_random_faults_no_period_is_emitted_early_twice_or_never(tmp_path, server):
    """`RUNS=300` in the environment asks for as many runs."""
    home = AirflowHome(tmp_path, address(server, "stories"), dag_folder=dag_folder(tmp_path, "story"))
    home.command("db", "migrate")
    paths = os.pathsep.join(str(ROOT / name) for name in ("jobs", "tests", "tests/dags", "tests/e2e"))
    done = subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, str(ROOT / "tests/dags/stories.py"), str(tmp_path), str(RUNS), str(RUNS)],
        env=home.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["early"], found["twice"], found["missing"]) == ([], [], []), found
    assert found["totals"]["daily"] >= RUNS // 12, found
