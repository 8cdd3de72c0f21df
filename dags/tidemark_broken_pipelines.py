"""Reports invalid pipeline files as an import error of this DAG file; the other files' DAGs stay."""

from tidemark.airflow import refuse_broken_files

refuse_broken_files()
