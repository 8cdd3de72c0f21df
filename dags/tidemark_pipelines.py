"""One Airflow DAG for each pipeline file that holds; what does not is told by the file beside this one."""

from __future__ import annotations

import sys
from pathlib import Path

from airflow.sdk import get_parsing_context

from tidemark.config.pipeline_files import dag_id

sys.path.append(str(Path(__file__).parent))  # bundles have it there already, other readers of DAG files don't

from tidemark_dags.files import sound
from tidemark_dags.pipelines import pipeline_dag

_asked_for = get_parsing_context().dag_id

for _file in sound():
    if _asked_for in (None, dag_id(_file.spec.name)):
        globals()[dag_id(_file.spec.name)] = pipeline_dag(_file)
