"""Commands of tidemark submitted with spark-submit through a Spark connection, if Airflow's provider for Spark and
tidemark-spark are installed.

If the driver runs on the cluster and its manager answers questions about it, the task submits, gives its slot back,
and returns from time to time to ask. The provider has no operator that defers, but it has the parts for one: the
driver's id, kept for a retry, and the requests about the driver.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk.exceptions import AirflowException

from tidemark.airflow import pinned
from tidemark.airflow.command import HOPELESS, Child, lineage_of, raise_for
from tidemark.config.scheduling.placement import Placement
from tidemark.records import LOG_VARIABLE

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Connection, Context

_RESOURCE_MANAGER = "yarn_resourcemanager_webapp_address"
_STATUS = re.compile(r"Error code is: (\d+)")


class TidemarkSubmitOperator(SparkSubmitOperator):
    """Submits a command of tidemark, whose first argument is a pipeline file, with the jars that it needs.

    The connection decides where Spark runs: local, standalone, YARN or Kubernetes. The retry of a task recovers a run
    that crashed; a failure that a retry cannot solve is final.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "pinned")

    def __init__(
        self,
        *,
        job: str,
        application_args: Any,
        placement: Placement | None = None,
        pinned: str | None = None,
        **options: Any,
    ) -> None:
        chosen = placement or Placement()
        options = {"conf": dict(chosen.conf), "deploy_mode": chosen.deploy_mode} | chosen.in_airflow | options
        super().__init__(application_args=application_args, conn_id=chosen.conn_id, **options)
        self.job, self.conn_id, self.poll = job, chosen.conn_id, chosen.poll
        self.application_args: Any = application_args
        self.pinned = pinned
        self._child: Child | None = None

    def execute(self, context: Context) -> None:
        child = Child(self.conn_id, self.log, self.conf)
        if child.is_elsewhere or child.is_warm(self.job):
            self._child = child
            child.run(self.job, self.application_args, self.pinned)
        else:
            self._follow(child.connection)
            self._submit(context)

    def poll_until_complete(self, external_id: Any, context: Context) -> None:
        """Give the slot back until it is time to ask about the driver again, if the manager can be asked."""
        if not self.durable:
            super().poll_until_complete(external_id, context)
            return
        self.log.info("the driver %s runs on the cluster: asking about it again in %s", external_id, self.poll)
        self.defer(trigger=TimeDeltaTrigger(self.poll), method_name=self.ask_again.__name__)

    def ask_again(self, context: Context, event: Any = None) -> None:  # noqa: ARG002 - as Airflow resumes a task
        """Ask about the driver that this task submitted. Raises AirflowException if it failed: the retry submits a
        new driver, which finishes the run."""
        self._follow(Child(self.conn_id, self.log).connection)
        external_id = context["task_state_store"].get(self.external_id_key)
        status = self.get_job_status(external_id, context)
        if self.is_job_active(status):
            self.poll_until_complete(external_id, context)
        if not self.is_job_succeeded(status):
            raise AirflowException(f"the driver {external_id} ended as {status}: its own log says why")
        self.get_job_result(external_id, context)

    def get_job_result(self, external_id: Any, context: Context) -> None:  # noqa: ARG002 - of the provider
        """Forget a driver that succeeded, so that a cleared task submits a new one."""
        if (store := context.get("task_state_store")) is not None:
            store.delete(self.external_id_key)

    def on_kill(self) -> None:
        if self._child is None:
            super().on_kill()
        else:
            self._child.stop()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:  # noqa: ARG002
        """What Airflow's provider for OpenLineage sends when the task ends."""
        arguments = self.application_args
        return lineage_of(self.job, arguments[1:] if arguments[0] == self.job else arguments)

    def _follow(self, found: Connection | None) -> None:
        """Set whether the cluster's manager is asked about the driver. If so, a retry also follows the driver."""
        extra = {} if found is None else found.extra_dejson
        cluster = (self._deploy_mode or extra.get("deploy-mode")) == "cluster"
        self._track_driver_via_k8s_api = cluster and "k8s" in str(found and (found.host or found.conn_type))
        self._yarn_track_via_rm_api = cluster and bool(extra.get(_RESOURCE_MANAGER))
        self.durable = self._track_driver_via_k8s_api or self._yarn_track_via_rm_api

    def _submit(self, context: Context) -> None:
        # These import pyspark, so only when a task runs.
        from tidemark.application.command import APPLICATION
        from tidemark.spark.compat.sessions import locale_of_java
        from tidemark.spark.session.class_archive import java_options
        from tidemark.spark.session.jars import installed_jars, store_jars
        from tidemark.spark.session.session import COMPILING, class_path

        services = {each.service for each in pinned.load(self.application_args[0], self.pinned).context.buckets}
        on_driver = class_path()
        self.jars = ",".join(map(str, [*installed_jars(), *store_jars(services)]))
        self.driver_class_path = os.pathsep.join(map(str, on_driver))
        self.conf = {"spark.driver.defaultJavaOptions": f"{COMPILING} {java_options()}".strip(), **(self.conf or {})}
        here = str(Path(sys.executable).parent)
        self.env_vars = {
            "PATH": os.pathsep.join([here, os.environ.get("PATH", os.defpath)]),
            "PYSPARK_PYTHON": sys.executable,
            LOG_VARIABLE: "1",
            **locale_of_java(),
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
