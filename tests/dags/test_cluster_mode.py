"""A task whose driver runs on the cluster: it gives its slot back, and asks a stand-in for YARN about the driver."""

from __future__ import annotations

import pytest
from airflow_home import AirflowHome
from dag_pipelines import write_pipeline

SCRIPT = """
import http.server, json, os, threading
from datetime import timedelta
from airflow.sdk.exceptions import AirflowException, TaskDeferred
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from tidemark.airflow.submit import TidemarkSubmitOperator
from tidemark.config.scheduling.placement import Placement

answers, submitted, store = {answers!r}, [], {{}}

class Manager(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        state, final = answers.pop(0)
        body = json.dumps({{"app": {{"state": state, "finalStatus": final, "diagnostics": ""}}}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Manager)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = "http://127.0.0.1:%d" % server.server_port
extra = {{"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": address}}
os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = json.dumps(dict(conn_type="spark", host="yarn", extra=extra))

def submit(hook, application):
    submitted.append(hook._conf.get("spark.executor.memory"))
    hook._yarn_application_id = "application_1_%04d" % len(submitted)

class Store:
    get = staticmethod(store.get)
    set = staticmethod(store.__setitem__)
    delete = staticmethod(lambda key: store.pop(key, None))

SparkSubmitHook.submit = submit
place = Placement(conf={{"spark.executor.memory": "4g"}}, poll=timedelta(minutes=2))
context, said = dict(task_state_store=Store()), []
for call in {calls!r}:
    given = dict(job="process", application_args=[{config!r}], placement=place)
    operator = TidemarkSubmitOperator(task_id="process", **given)
    try:
        getattr(operator, call)(context)
        said.append("done")
    except TaskDeferred as deferred:
        said.append([deferred.method_name, type(deferred.trigger).__name__])
    except AirflowException as error:
        said.append(str(error))
print(json.dumps([said, submitted, store]))
"""
AGAIN = ["ask_again", "TimeDeltaTrigger"]


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> AirflowHome:
    return AirflowHome(tmp_path_factory.mktemp("airflow"))


def said(home: AirflowHome, calls: list[str], answers: list[tuple[str, str]]):
    config = str(write_pipeline(home.folder / "pipelines"))
    return home.python(SCRIPT.format(calls=calls, answers=answers, config=config))


def test_a_task_defers_until_its_driver_has_ended(home):
    answers = [("RUNNING", "UNDEFINED"), ("FINISHED", "SUCCEEDED")]
    found = said(home, ["execute", "ask_again", "ask_again"], answers)
    assert found == [[AGAIN, AGAIN, "done"], ["4g"], {}]  # a cleared task submits another driver


def test_a_retry_follows_a_driver_that_runs_and_submits_another_one_if_it_failed(home):
    answers = [("RUNNING", "UNDEFINED"), ("FINISHED", "FAILED"), ("FINISHED", "FAILED")]
    ended, submitted, stored = said(home, ["execute", "execute", "ask_again", "execute"], answers)
    failed = "the driver application_1_0001 ended as FAILED: its own log says why"
    assert ended == [AGAIN, AGAIN, failed, AGAIN]
    assert len(submitted) == 2
    assert stored == {"spark_job_id": "application_1_0002"}
