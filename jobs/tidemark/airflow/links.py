"""A link from a task to the page of its pipeline's run in the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink

from tidemark.config.pipeline_files import dag_id
from tidemark.dashboard import MOUNTED

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class RunPageLink(BaseOperatorLink):
    """Link to the page of a run of one pipeline. Airflow keeps the address as XCom of the task, so the link needs no
    entry in a plugin."""

    name = "Pipeline run"

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - of Airflow
        """Return the address below Airflow's own, under any prefix."""
        home = (conf.get("api", "base_url", fallback="") or "").rstrip("/")
        return f"{home}{MOUNTED}/dags/{dag_id(self.pipeline)}/runs/{quote(ti_key.run_id, safe='')}"
