"""The DAGs of a DAG file, by their names. Each function reads the pipeline files once, when the file is parsed."""

from __future__ import annotations

import logging
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from tidemark.airflow.alerts.channels import ensure_notifiers
from tidemark.airflow.folders import beside_dags
from tidemark.airflow.operate.verbs import operate_dags
from tidemark.airflow.operations import backfill_dag, maintenance_dag, report_dag
from tidemark.airflow.pipelines import pipeline_dag
from tidemark.config import pipeline_files
from tidemark.config.pipeline_files import Files, PipelineFile, dag_id
from tidemark.errors import TidemarkError

_log = logging.getLogger(__name__)


def pipeline_dags() -> dict[str, DAG]:
    """Return one DAG for each valid pipeline file; only the DAG that Airflow asks for, if it is executing a task. The
    errors of other files go to the log; `refuse_broken_files` shows them in Airflow."""
    found, wanted = _files(), get_parsing_context().dag_id
    for error in found.broken.values():
        _log.error("no DAG was made of a pipeline file: %s", error)
    names = {dag_id(name): file for name, file in found.sound.items()}
    return {name: pipeline_dag(file) for name, file in names.items() if wanted in (None, name)}


def operation_dags() -> dict[str, DAG]:
    """Return the DAGs for all pipelines: `tidemark_backfill`, `tidemark_quality_report`, `tidemark_maintenance`, and
    `tidemark_operate_VERB` for each verb of an operator."""
    files = list(_files().sound.values())
    found = (backfill_dag(files), report_dag(files), maintenance_dag(files), *operate_dags(files))
    return {dag.dag_id: dag for dag in found}


def refuse_broken_files() -> None:
    """Raise TidemarkError with the errors of all invalid pipeline files. In its own DAG file it becomes an import
    error of that file, and the DAGs of other files stay."""
    if problems := _files().broken:
        raise TidemarkError("\n".join(problems.values()))


def _files() -> Files:
    return pipeline_files.read(pipeline_files.folder(beside_dags("pipelines")), _load)


def _load(path: Path) -> PipelineFile:
    """Load a file. Raises ConfigError also for notifiers that Airflow does not have."""
    file = PipelineFile.load(path)
    ensure_notifiers(path, file.scheduling.notify)
    return file
