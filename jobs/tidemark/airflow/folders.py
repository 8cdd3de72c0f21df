"""Folders that Airflow's own settings give."""

from __future__ import annotations

from pathlib import Path

from airflow.configuration import conf


def beside_dags(name: str) -> Path:
    """Return the folder of this name beside Airflow's folder of DAG files."""
    return Path(conf.get_mandatory_value("core", "dags_folder")).parent / name
