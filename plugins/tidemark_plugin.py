"""The plugin that Airflow loads: pipelines in its navigation and on the pages of their DAGs and DAG runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from tidemark import files
from tidemark_dashboard.airflow_host import AirflowHost
from tidemark_dashboard.app import create_app
from tidemark_dashboard.known import Pipelines
from tidemark_dashboard.links import MOUNTED

DEFAULT_FOLDER = Path(__file__).parents[1] / "pipelines"
_PATH = MOUNTED.removeprefix("/")
_ICONS = {"icon": f"{_PATH}/assets/icon.svg", "icon_dark_mode": f"{_PATH}/assets/icon-dark.svg"}


class TidemarkPlugin(AirflowPlugin):
    """Addresses are relative to the page that Airflow serves, wherever that is."""

    name = "tidemark"
    fastapi_apps: ClassVar[list[Any]] = [
        {
            "name": "tidemark",
            "url_prefix": MOUNTED,
            "app": create_app(Pipelines(lambda: files.folder(DEFAULT_FOLDER)), AirflowHost()),
        }
    ]
    external_views: ClassVar[list[Any]] = [
        {"name": "Pipelines", "destination": "nav", "url_route": "tidemark", "href": f"{_PATH}/", **_ICONS},
        {
            "name": "Pipeline",
            "destination": "dag",
            "url_route": "tidemark-dag",
            "href": f"{_PATH}/dags/{{DAG_ID}}",
            **_ICONS,
        },
        {
            "name": "Pipeline",
            "destination": "dag_run",
            "url_route": "tidemark-run",
            "href": f"{_PATH}/dags/{{DAG_ID}}/runs/{{RUN_ID}}",
            **_ICONS,
        },
    ]
