"""Airflow's side of tidemark: DAGs made from pipeline files, and the operator that starts commands with Spark.

A DAG file has two lines:

    from tidemark.airflow import pipeline_dags
    globals().update(pipeline_dags())

Nothing here imports pyspark while a DAG file is parsed.
"""

from tidemark.airflow.dags import operation_dags, pipeline_dags, refuse_broken_files
from tidemark.airflow.pipelines import pipeline_tasks

__all__ = ["operation_dags", "pipeline_dags", "pipeline_tasks", "refuse_broken_files"]
