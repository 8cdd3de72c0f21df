"""The tasks of a pipeline's DAG that need no Spark. They import tidemark when they run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowFailException

from tidemark.airflow import pinned
from tidemark.airflow.telemetry import metrics
from tidemark.config.pipeline_files import content_of
from tidemark.core.shell import about

if TYPE_CHECKING:
    from airflow.sdk.types import DagRunProtocol as DagRun

    from tidemark.errors import TidemarkError


def as_of_of(dag_run: DagRun) -> datetime:
    """Return the time up to which a run takes what landed: the end of its interval, otherwise its run_after."""
    found: datetime = dag_run.data_interval_end or dag_run.run_after
    return found


def discover(config: str, content: str | None = None) -> dict[str, str]:
    """Return the work of the run, from the recorded manifest and a listing; empty if there is none, so that Spark
    need not start. `content`, the hash of the settings, makes each edited file another version of the DAG."""
    from tidemark.commands.schedule import ScheduledWork, foresee
    from tidemark.errors import Blocked, ConfigError, UsageError

    run = get_current_context()["dag_run"]
    as_of = as_of_of(run).isoformat()
    try:
        pipeline = pinned.load(config, content)
        foreseen = foresee(pipeline.context, as_of, run.run_id)
    except (Blocked, ConfigError, UsageError) as error:
        raise AirflowFailException(what_to_do(error, config)) from error
    print(f"as of {as_of}: {foreseen.need}, since {foreseen.why}")  # the task's log
    if foreseen.need is ScheduledWork.NOTHING:
        metrics.send(pipeline, as_of_of(run))
        return {}
    found = {"as_of": as_of, "run_id": run.run_id, "need": str(foreseen.need), "answered_by": foreseen.run_id}
    return found | {"settings": content_of(pipeline.spec)}


def what_to_do(error: TidemarkError, config: str) -> str:
    """Return the message of an error with its hint on a separate line, such as the keys to edit after a promotion."""
    return f"{error}\n{about(error.hint, config)}" if error.hint else str(error)


def check_quality(config: str, content: str | None = None) -> None:
    """Send metrics. Fail, without a retry, if quality blocks the run; the log has the values beyond their limits, and
    the likely cause. `content` is the hash of the settings that the run began with."""
    from tidemark.airflow.alerts.notifier import QualityBlocks, named_run
    from tidemark.commands.alerts.messages import check_failed
    from tidemark.commands.alerts.trouble import trouble
    from tidemark.commands.schedule import blocking

    pipeline, dag_run = pinned.load(config, content), get_current_context()["dag_run"]
    metrics.send(pipeline, as_of_of(dag_run))
    context = pipeline.context
    if reason := blocking(context):
        run = named_run(context.spec.name, dag_run.run_id, dag_run.dag_id)
        message = check_failed(run, "check_quality", reason, trouble(context, with_causes=True))
        print(message.text())
        raise QualityBlocks(reason, message)
