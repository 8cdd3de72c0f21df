"""The plugin that Airflow loads: pipelines in its navigation and on the pages of their DAGs and DAG runs."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

from tidemark.dashboard import MOUNTED

if TYPE_CHECKING:
    from fastapi import FastAPI

_log = logging.getLogger(__name__)
_PATH = MOUNTED.removeprefix("/")


def _view(name: str, destination: str, route: str, *segments: str) -> dict[str, str]:
    """Return a view; its address is relative to the page that Airflow serves, under any prefix."""
    icons = {"icon": f"{_PATH}/assets/icon.svg", "icon_dark_mode": f"{_PATH}/assets/icon-dark.svg"}
    href = "/".join([_PATH, *segments])
    return {"name": name, "destination": destination, "url_route": route, "href": href, **icons}


class TidemarkPlugin(AirflowPlugin):
    """The plugin. Every process of Airflow loads plugins, even each task; so only the process that serves pages
    imports the dashboard."""

    name = "tidemark"
    external_views: list[Any] = [  # noqa: RUF012 - as Airflow declares it
        _view("Pipelines", "nav", "tidemark", ""),
        _view("Pipeline", "dag", "tidemark-dag", "dags", "{DAG_ID}"),
        _view("Pipeline", "dag_run", "tidemark-run", "dags", "{DAG_ID}", "runs", "{RUN_ID}"),
    ]

    @cached_property
    def fastapi_root_middlewares(self) -> list[Any]:  # type: ignore[override] # Airflow only reads it
        """Middleware that answers the dashboard's address without a final slash."""
        from tidemark.dashboard.wire import Mounted

        return [{"name": "tidemark", "middleware": Mounted}]

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override] # Airflow only reads it
        """The dashboard, over the pipelines in $TIDEMARK_PIPELINES, by default in `pipelines` beside Airflow's folder
        of DAG files."""
        try:
            return [{"name": "tidemark", "url_prefix": MOUNTED, "app": _dashboard()}]
        except Exception:  # noqa: BLE001 - after any error the rest of Airflow must still start
            _log.exception("the dashboard could not be made")
            return []


def _dashboard() -> FastAPI:
    from tidemark.airflow.folders import beside_dags
    from tidemark.config import pipeline_files
    from tidemark.dashboard.airflow_host import AirflowHost
    from tidemark.dashboard.app import create_app
    from tidemark.dashboard.known import Pipelines

    return create_app(Pipelines(lambda: pipeline_files.folder(beside_dags("pipelines"))), AirflowHost())
