"""Chooses the operator for commands that need Spark."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from tidemark.airflow.command import TidemarkCommandOperator
from tidemark.config.scheduling.placement import Placement

_PROVIDER = "airflow.providers"


def spark_task(job: Any, application_args: Any, placement: Placement | None = None, **options: Any) -> BaseOperator:
    """Return a task that runs a command of tidemark with Spark: by spark-submit if Airflow's provider for Spark is
    installed, else as a child process. `options`: arguments of any operator, which win over the placement, and
    `pinned`, the hash of the settings that the DAG run began with."""
    given: dict[str, Any] = {"job": job, "application_args": application_args, "placement": placement}
    try:
        from tidemark.airflow.submit import TidemarkSubmitOperator
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(_PROVIDER):
            raise
        return TidemarkCommandOperator(**given, **options)
    return TidemarkSubmitOperator(**given, **options)
