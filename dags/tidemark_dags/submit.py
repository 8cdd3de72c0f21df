"""Commands of tidemark that need Spark, submitted through the connection `spark_default`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.exceptions import AirflowException
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowFailException

from tidemark_dags import aws

if TYPE_CHECKING:
    from airflow.sdk import Context

JOBS = Path(__file__).parents[2] / "jobs"
_STATUS = re.compile(r"Error code is: (\d+)")
_HOPELESS = {1: "the check failed", 2: "the configuration or the call is wrong"}
"""Exit statuses of failures that a retry would only repeat."""


class TidemarkSubmitOperator(SparkSubmitOperator):
    """Runs one of the applications of `jobs/`, whose first argument is a pipeline file, with the jars that it needs.

    The connection decides where Spark runs: local, standalone, YARN or Kubernetes. The retry of a task recovers a
    run that crashed; failures that a retry cannot solve fail at once.
    """

    def __init__(self, *, job: str, **options: Any) -> None:
        super().__init__(application=str(JOBS / f"{job}.py"), **options)

    def execute(self, context: Context) -> None:
        # These import pyspark, so only when a task runs.
        from tidemark.spark.session.class_archive import java_options
        from tidemark.spark.session.jars import installed_jars
        from tidemark.spark.session.session import COMPILING, class_path

        on_s3 = aws.load(self.application_args[0]).context.on_s3
        on_driver = class_path()
        self.jars = ",".join(map(str, on_driver if on_s3 else installed_jars()))
        self.driver_class_path = os.pathsep.join(map(str, on_driver))
        self.conf = {"spark.driver.defaultJavaOptions": f"{COMPILING} {java_options()}".strip(), **(self.conf or {})}
        here = str(Path(sys.executable).parent)
        self.env_vars = {
            "PATH": os.pathsep.join([here, os.environ.get("PATH", os.defpath)]),
            "PYSPARK_PYTHON": sys.executable,
            **(self.env_vars or {}),
        }
        try:
            super().execute(context)
        except AirflowException as error:
            status = _STATUS.search(str(error))
            why = _HOPELESS.get(int(status[1])) if status else None
            if why is None:
                raise
            raise AirflowFailException(f"{why}: {_last_words(str(error))}") from error


def _last_words(text: str) -> str:
    """Return the command's own message from the last output of spark-submit."""
    lines = [line for line in text.splitlines() if line.startswith("error:")]
    return " ".join(lines) or text
