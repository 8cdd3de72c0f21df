"""Commands of tidemark submitted with spark-submit through a Spark connection, where Airflow's provider for Spark and
tidemark-spark are installed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from tidemark.airflow import aws
from tidemark.airflow.command import DEFAULT_CONNECTION, HOPELESS, Child, lineage_of, raise_for

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

_STATUS = re.compile(r"Error code is: (\d+)")


class TidemarkSubmitOperator(SparkSubmitOperator):
    """Submits a command of tidemark, whose first argument is a pipeline file, with the jars that it needs.

    The connection decides where Spark runs: local, standalone, YARN or Kubernetes. The retry of a task recovers a
    run that crashed; failures that a retry cannot solve fail at once.
    """

    def __init__(self, *, job: str, application_args: Any, conn_id: str = DEFAULT_CONNECTION, **options: Any) -> None:
        super().__init__(application_args=application_args, conn_id=conn_id, **options)
        self.job, self.conn_id = job, conn_id
        self.application_args: Any = application_args
        self._child: Child | None = None

    def execute(self, context: Context) -> None:
        child = Child(self.conn_id, self.log)
        if child.is_elsewhere or child.is_warm(self.job):
            self._child = child
            child.run(self.job, self.application_args)
        else:
            self._submit(context)

    def on_kill(self) -> None:
        if self._child is None:
            super().on_kill()
        else:
            self._child.stop()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:  # noqa: ARG002
        """What Airflow's provider for OpenLineage sends when the task ends."""
        arguments = self.application_args
        return lineage_of(self.job, arguments[1:] if arguments[0] == self.job else arguments)

    def _submit(self, context: Context) -> None:
        # These import pyspark, so only when a task runs.
        from tidemark.application.command import APPLICATION
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
        self.name, self.application = self.dag_id, str(APPLICATION)
        self.application_args = [self.job, *self.application_args]
        try:
            super().execute(context)
        except AirflowException as error:
            status = _STATUS.search(str(error))
            if status is None or int(status[1]) not in HOPELESS:
                raise
            raise_for(int(status[1]), str(error).splitlines())
