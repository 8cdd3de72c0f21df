"""Messages about runs by Airflow's notifiers: of failed runs, and of output that is overdue."""

from __future__ import annotations

from typing import Any

from tidemark.airflow.alerts.deadline import deadline_alert
from tidemark.airflow.alerts.notifier import FailureNotifier
from tidemark.config.pipeline_files import PipelineFile


def dag_options(file: PipelineFile) -> dict[str, Any]:
    """Return the options of a pipeline's DAG for its keys `notify`, `deadline` and `timeout`. A run that may wait for
    a person has no timeout, only its tasks have one."""
    asked = file.scheduling
    found: dict[str, Any] = {"dagrun_timeout": None if asked.approval else asked.timeout}
    if asked.notify:
        found["on_failure_callback"] = _notifier(file)
    if asked.deadline is not None:
        found["deadline"] = deadline_alert(str(file.path), asked.deadline)
    return found


def task_options(file: PipelineFile) -> dict[str, Any]:
    """Return the options of each of the DAG's tasks."""
    found: dict[str, Any] = {"execution_timeout": file.scheduling.timeout}
    return found | ({"on_failure_callback": _notifier(file)} if file.scheduling.notify else {})


def _notifier(file: PipelineFile) -> FailureNotifier:
    return FailureNotifier(file.spec.name, str(file.path), file.scheduling.notify)
