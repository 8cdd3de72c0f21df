"""One DAG for each valid pipeline file; invalid ones are reported by tidemark_broken_pipelines.py."""

from tidemark.airflow import pipeline_dags

globals().update(pipeline_dags())
