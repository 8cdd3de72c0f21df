"""The plugin as processes of Airflow load it, and what it makes of Airflow's own memory."""

from __future__ import annotations

import json

import pytest
from airflow_home import AirflowHome

LOADED = """
import json, sys
from airflow import plugins_manager
plugins, errors = plugins_manager._get_plugins()
before = "tidemark.dashboard.app" in sys.modules
views, _ = plugins_manager._get_ui_plugins()
{harm}
apps, before_all = plugins_manager.get_fastapi_plugins()
print(json.dumps(dict(errors=errors, plugins=[plugin.name for plugin in plugins], early=before,
    apps=[app["url_prefix"] for app in apps], first=[each["name"] for each in before_all],
    views=[[view["destination"], view["href"]] for view in views])))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> AirflowHome:
    return AirflowHome(tmp_path_factory.mktemp("airflow"))


def test_what_serves_pages_is_loaded_by_the_process_that_serves_them_alone(home):
    found = home.python(LOADED.format(harm=""))
    assert found["errors"] == {}
    assert "tidemark" in found["plugins"]
    assert not found["early"]
    assert found["apps"] == ["/tidemark"]
    assert "tidemark" in found["first"]
    assert found["views"] == [
        ["nav", "tidemark/"],
        ["dag", "tidemark/dags/{DAG_ID}"],
        ["dag_run", "tidemark/dags/{DAG_ID}/runs/{RUN_ID}"],
    ]


def test_airflow_comes_up_without_a_dashboard_that_cannot_be_made(home):
    assert home.python(LOADED.format(harm="sys.modules['tidemark.config.pipeline_files'] = None"))["apps"] == []


@pytest.mark.parametrize(
    ("told", "run"),
    [
        ({"need": "verify", "answered_by": "r1"}, "r1"),
        (json.dumps({"need": "verify", "answered_by": "r1"}), "r1"),
        ({"need": "run", "answered_by": "r1"}, None),
        ({"need": "verify", "answered_by": 3}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_what_a_dag_run_verified_is_what_its_first_task_told(told, run):
    from tidemark.dashboard.airflow_host import verified_run

    assert verified_run(told) == run
