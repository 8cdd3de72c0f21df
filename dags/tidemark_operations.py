"""Airflow DAGs for all pipelines: `tidemark_backfill`, `tidemark_quality_report` and `tidemark_maintenance`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # DAG bundles add this folder themselves, other loaders do not

from tidemark_dags.files import sound
from tidemark_dags.operations import backfill_dag, maintenance_dag, report_dag

_files = sound()
backfill, quality_report, maintenance = backfill_dag(_files), report_dag(_files), maintenance_dag(_files)
