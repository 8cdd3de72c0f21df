"""Airflow with PostgreSQL as its database, as in docker-compose.yml, run by a user without rights."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pgserver
import pytest
from airflow_home import AirflowHome, running
from dag_pipelines import land_day, write_pipeline
from test_airflow import DONE, NOTHING, VERIFIED, events, pipeline_of

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-postgres-"))
    folder.chmod(0o755)  # the server's user must come through
    server = pgserver.get_server(folder)
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def home(tmp_path_factory, database) -> Iterator[AirflowHome]:
    folder = tmp_path_factory.mktemp("airflow")
    land_day(folder / "landing", datetime.now(UTC) - timedelta(days=3))
    write_pipeline(folder / "pipelines")
    with running(folder, database) as home:
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
