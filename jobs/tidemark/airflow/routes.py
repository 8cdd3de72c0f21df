"""Tasks of DAGs for all pipelines, each where its pipeline's Spark task runs.

Airflow knows the pool and the queue of a task before it starts. So there is a task for pipelines without
`airflow.spark` and one for each pipeline with it; a branch chooses among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from airflow.sdk import BaseOperator

from tidemark.config.pipeline_files import PipelineFile
from tidemark.config.scheduling.placement import Placement

Files = Sequence[PipelineFile]


def routes(task_id: str, files: Files) -> dict[str, str]:
    """Return the name of the task for each pipeline."""
    return {file.spec.name: _named(task_id, file) for file in files}


def routed(task_id: str, files: Files, make: Callable[[str, Placement], BaseOperator]) -> list[BaseOperator]:
    """Return a task for each route; `make` makes it from its name and placement."""
    placements: Mapping[str, Placement] = {_named(task_id, file): file.scheduling.spark for file in files}
    return [make(name, placement) for name, placement in (placements or {task_id: Placement()}).items()]


def _named(task_id: str, file: PipelineFile) -> str:
    return task_id if file.scheduling.spark == Placement() else f"{task_id}_{file.spec.name}"
