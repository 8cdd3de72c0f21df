"""One Airflow DAG for each valid pipeline file; invalid ones are reported by tidemark_broken_pipelines.py."""

from __future__ import annotations

import sys
from pathlib import Path

from airflow.sdk import get_parsing_context

from tidemark.config.pipeline_files import dag_id

sys.path.append(str(Path(__file__).parent))  # DAG bundles add this folder themselves, other loaders do not

from tidemark_dags.files import sound
from tidemark_dags.pipelines import pipeline_dag

_asked_for = get_parsing_context().dag_id

for _file in sound():
    if _asked_for in (None, dag_id(_file.spec.name)):
        globals()[dag_id(_file.spec.name)] = pipeline_dag(_file)
