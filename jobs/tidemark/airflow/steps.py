"""The tasks of a pipeline's DAG that need no Spark. They import tidemark when they run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowFailException

from tidemark.airflow import aws

if TYPE_CHECKING:
    from airflow.sdk.types import DagRunProtocol as DagRun


def as_of_of(dag_run: DagRun) -> datetime:
    """Return the time up to which a run takes what landed: the end of its interval, otherwise its run_after."""
    found: datetime = dag_run.data_interval_end or dag_run.run_after
    return found


def discover(config: str) -> dict[str, str]:
    """Return the work of the run, from the recorded manifest and a listing; empty if there is none, so that Spark
    need not start."""
    from tidemark.commands.schedule import ScheduledWork, foresee
    from tidemark.errors import Blocked, ConfigError, UsageError

    run = get_current_context()["dag_run"]
    as_of = as_of_of(run).isoformat()
    try:
        foreseen = foresee(aws.load(config).context, as_of, run.run_id)
    except (Blocked, ConfigError, UsageError) as error:
        raise AirflowFailException(str(error)) from error
    print(f"as of {as_of}: {foreseen.need}, since {foreseen.why}")  # the task's log
    if foreseen.need is ScheduledWork.NOTHING:
        return {}
    return {"as_of": as_of, "run_id": run.run_id, "need": str(foreseen.need), "answered_by": foreseen.run_id}


def check_quality(config: str) -> None:
    """Fail, without a retry, if quality blocks the run."""
    from tidemark.commands.schedule import blocking

    if reason := blocking(aws.load(config).context):
        raise AirflowFailException(reason)
