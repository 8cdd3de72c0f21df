"""The notifier of failed runs: one message for a run, whichever of its tasks fails, or if the run itself fails.

A pipeline's tasks follow one another, so at most one of them fails in a run; later ones are not reached. Airflow
calls the notifier for the failed task, and once more for the run; the run's call counts only if no task has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from airflow.configuration import conf
from airflow.sdk import BaseNotifier
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.log import redact  # type: ignore[attr-defined] # its logs use it, too

from tidemark.airflow import aws
from tidemark.airflow.alerts.channels import send
from tidemark.commands.alerts.messages import NamedRun, failed
from tidemark.commands.alerts.trouble import Trouble, trouble
from tidemark.config.pipeline_files import dag_id
from tidemark.config.scheduling.notify import Recipient
from tidemark.dashboard import MOUNTED
from tidemark.report.alerts.message import RunMessage

_OF_A_TASK = "task_failure"
_OF_A_RUN = {"timed_out": "the run took longer than airflow.timeout"}
_UNKNOWN = "the task ended without an error of its own: its process was killed, or its machine was lost"


class QualityBlocks(AirflowFailException):
    """Raised by a task for a run that quality blocks, with the message about it."""

    def __init__(self, reason: str, message: RunMessage) -> None:
        super().__init__(reason)
        self.message = message


class Declined(AirflowFailException):
    """Raised by a task if a person has declined: the message about the question was sent before."""


class FailureNotifier(BaseNotifier):
    """Sends the message about a failed run of a pipeline. Its errors go to the log of the task (or of the DAG
    processor, if the run timed out or a task's process was lost), and change no state."""

    def __init__(self, pipeline: str, config: str, notify: Sequence[Recipient]) -> None:
        super().__init__()
        self.pipeline, self.config, self.asked = pipeline, config, tuple(notify)

    def notify(self, context: Any) -> None:
        error = context.get("exception")
        if context.get("reason") == _OF_A_TASK or isinstance(error, Declined):
            return
        message = error.message if isinstance(error, QualityBlocks) else self._message(context, error)
        send(message, self.asked, context, self.log)

    def _message(self, context: Mapping[str, Any], error: object) -> RunMessage:
        reason = context.get("reason")
        task = None if reason is not None else context["ti"].task_id
        said = _OF_A_RUN.get(reason, reason) if reason is not None else _UNKNOWN if error is None else str(error)
        run = named_run(self.pipeline, context["run_id"], context["dag"].dag_id)
        return failed(run, task, str(redact(said)), self._trouble())

    def _trouble(self) -> Trouble | None:
        """Return the pipeline's trouble; None, with the reason in the log, if it cannot be read from here."""
        try:
            return trouble(aws.load(self.config).context, with_causes=False)
        except Exception:  # of any kind: the message is sent without it
            self.log.exception("the pipeline could not be looked at")
            return None


def named_run(pipeline: str, run_id: str, dag: str) -> NamedRun:
    """Return a run of a pipeline with the address of its page, if Airflow's setting `[api] base_url` is given. The
    page belongs to Airflow's DAG run only if `dag` is the pipeline's own."""
    base = conf.get("api", "base_url", fallback=None)
    if not base:
        return NamedRun(pipeline, run_id)
    own, at = dag_id(pipeline), f"dags/{quote(dag_id(pipeline))}/runs/{quote(run_id, safe='')}"
    page = f"{base.rstrip('/')}/{at}/plugin/tidemark-run" if dag == own else f"{base.rstrip('/')}{MOUNTED}/{at}"
    return NamedRun(pipeline, run_id, [("The run on the dashboard", page)])
