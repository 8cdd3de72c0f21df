"""DAGs for all pipelines: `tidemark_backfill`, `tidemark_quality_report` and `tidemark_maintenance`."""

from tidemark.airflow import operation_dags

globals().update(operation_dags())
