"""DAGs for all pipelines: backfills, a daily report, maintenance, and a form for each verb of an operator."""

from tidemark.airflow import operation_dags

globals().update(operation_dags())
