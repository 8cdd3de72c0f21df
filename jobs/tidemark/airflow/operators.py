"""Chooses the operator for commands that need Spark."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from tidemark.airflow.command import TidemarkCommandOperator

_PROVIDER = "airflow.providers"


def spark_task(job: str, application_args: Any, **options: Any) -> BaseOperator:
    """Return a task that runs a command of tidemark with Spark: by spark-submit if Airflow's provider for Spark is
    installed, otherwise as a child process. `options` are those of every operator."""
    try:
        from tidemark.airflow.submit import TidemarkSubmitOperator
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(_PROVIDER):
            raise
        return TidemarkCommandOperator(job=job, application_args=application_args, **options)
    return TidemarkSubmitOperator(job=job, application_args=application_args, **options)
