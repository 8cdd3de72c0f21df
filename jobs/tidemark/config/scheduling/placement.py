"""Where a pipeline's Spark task runs: the key `airflow.spark`, with the Spark settings that a pipeline may ask for.

Settings that results or readers rely on are tidemark's own. A secret has no place here: Airflow keeps the settings in
its database and shows them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tidemark.config.scheduling.values import KeyProblem, count, delay, text
from tidemark.errors import UsageError

CONNECTION = "spark_default"
CONF_VARIABLE = "TIDEMARK_SPARK_CONF"
"""Variable with the Spark settings of a command, as a JSON object, where no spark-submit hands them over."""
DEPLOY_MODES = ("client", "cluster")

HARMLESS = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.shuffle.partitions",
)
"""Settings of Spark SQL on which no result depends, by the beginning of their names."""
_OWN = {
    "spark.sql.": "results may depend on it, so tidemark sets it or leaves it at Spark's default",
    "spark.databricks.delta.": "tables depend on it",
    "spark.delta.": "tables depend on it",
    "spark.tidemark.": "tidemark sets it",
    "spark.python.sql.": "tidemark sets it",
    "spark.hadoop.fs.file.": "tidemark sets it",
    "spark.hadoop.fs.AbstractFileSystem.": "tidemark sets it",
    "spark.hadoop.fs.s3": "the AWS variables of the environment, or the connection aws_default, say it",
    "spark.hadoop.fs.azure.": "the AZURE variables of the environment say it",
    "spark.hadoop.fs.gs.": "GOOGLE_APPLICATION_CREDENTIALS of the environment says it",
    "spark.jars": "tidemark hands over its own jars",
    "spark.driver.extraClassPath": "tidemark hands over its own jars",
    "spark.driver.defaultJavaOptions": "tidemark sets it; spark.driver.extraJavaOptions adds to it",
    "spark.submit.": "spark.deploy_mode, beside conf, says where the driver runs",
    "spark.master": "the connection says it: name one as spark.conn_id, beside conf",
    "spark.remote": "tidemark needs a session of its own, not Spark Connect",
    "spark.api.mode": "tidemark needs a session of its own, not Spark Connect",
    "spark.app.name": "it is the name of the DAG",
    "spark.ui.": "tidemark switches Spark's own pages off",
    "spark.log.level": "set TIDEMARK_DEBUG=1 instead",
}
"""Settings that a pipeline may not choose, by the beginning of their names, and why."""
_SECRET = re.compile(r"(?i)secret|passw|token|credential|access[._-]?key")
_NO_SECRET = re.compile(
    r"spark\.kubernetes\.(driver|executor)\.(secrets|secretKeyRef)\.|spark\.kubernetes\.authenticate\..*File$"
)
"""Settings that only name a secret of Kubernetes, or a file."""


@dataclass(frozen=True)
class Placement:
    """The key `airflow.spark`: connection, Spark settings, and the place of the Spark task in Airflow. With `poll`, a
    task whose driver runs on the cluster gives its slot back and looks after it that often."""

    conn_id: str = CONNECTION
    conf: Mapping[str, str] = field(default_factory=dict)
    deploy_mode: str | None = None
    poll: timedelta = timedelta(minutes=1)
    pool: str | None = None
    pool_slots: int | None = None
    queue: str | None = None
    priority_weight: int | None = None

    @property
    def in_airflow(self) -> dict[str, Any]:
        """Arguments that every operator of Airflow takes; only those that were given."""
        names = ("pool", "pool_slots", "queue", "priority_weight")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def placement(value: object) -> Placement:
    """Read the key `airflow.spark`. Raises KeyProblem for a key below it."""
    if not isinstance(value, Mapping):
        raise TypeError(f"must be a mapping with keys of {', '.join(_READERS)}")
    found = {}
    for key, given in value.items():
        if key not in _READERS:
            raise KeyProblem(str(key), f"is not known: there are {', '.join(_READERS)}")
        try:
            found[key] = _READERS[key](given)
        except KeyProblem as error:
            raise KeyProblem(f"{key}.{error.key}", error.message) from error
        except (TypeError, ValueError) as error:
            raise KeyProblem(key, f"{given!r}: {error}") from error
    return Placement(**found)


def conf(value: object) -> dict[str, str]:
    """Read Spark settings. Raises KeyProblem for one that is not Spark's, that tidemark sets itself, or that is a
    secret by its name."""
    if not isinstance(value, Mapping):
        raise TypeError("must be a mapping of Spark settings")
    for name in value:
        if reason := refused(str(name)):
            raise KeyProblem(str(name), reason)
    return {str(name): _setting(str(name), each) for name, each in value.items()}


def refused(name: str) -> str | None:
    """Return the reason why a pipeline may not choose a Spark setting; None if it may."""
    if not name.startswith("spark."):
        return "is no setting of Spark: their names begin with `spark.`"
    if _SECRET.search(name) and not _NO_SECRET.match(name):
        return (
            "looks like a secret, and Airflow keeps and shows what is here: give it to Spark as a variable of "
            "the environment, a role, or in the file spark-defaults.conf"
        )
    if name.startswith(HARMLESS):
        return None
    return next((f"may not be set: {why}" for begin, why in _OWN.items() if name.startswith(begin)), None)


def conf_of_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the Spark settings of CONF_VARIABLE. Raises UsageError for one that `conf` refuses."""
    try:
        return conf(json.loads(environ.get(CONF_VARIABLE) or "{}"))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the variable {CONF_VARIABLE}: {error}", hint="give a JSON object of texts") from error


def _setting(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float) or not str(value):
        raise KeyProblem(name, f"{value!r}: must be a text, a number, true or false")
    return str(value)


def _deploy_mode(value: object) -> str:
    if value not in DEPLOY_MODES:
        raise ValueError(f"must be {' or '.join(DEPLOY_MODES)}")
    return str(value)


def _slots(value: object) -> int:
    found = count(value)
    if not found:
        raise ValueError("must be at least 1")
    return found


_READERS: dict[str, Callable[[object], Any]] = {
    "conn_id": text,
    "conf": conf,
    "deploy_mode": _deploy_mode,
    "poll": delay,
    "pool": text,
    "pool_slots": _slots,
    "queue": text,
    "priority_weight": count,
}
