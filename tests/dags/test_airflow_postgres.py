"""The same with PostgreSQL as Airflow's database, as in docker-compose.yml, run by a user without rights."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pgserver
import pytest
from airflow_home import AirflowHome, running
from dag_pipelines import land_day, write_pipeline

from tidemark.pipeline import Pipeline

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture
def database() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-postgres-"))
    folder.chmod(0o755)  # the server's user must come through
    server = pgserver.get_server(folder)
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(folder)


@pytest.fixture
def home(tmp_path, database) -> Iterator[AirflowHome]:
    land_day(tmp_path / "landing", datetime.now(UTC) - timedelta(days=3))
    write_pipeline(tmp_path / "pipelines")
    with running(tmp_path, database) as home:
        yield home


def test_postgresql_holds_what_airflow_knows_and_nothing_of_the_pipeline(home):
    dag = "tidemark_toll"
    home.switch_on(dag)
    run = home.post(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None})["dag_run_id"]
    assert home.run_ended(dag, run)["state"] == "success", home.log(dag, run, "process")
    assert not (home.folder / "airflow.db").exists()
    found = Pipeline.load(home.folder / "pipelines" / "toll.yml").summary(run)
    assert sum(batch["rows"] for batch in found["batches"]) == 20
