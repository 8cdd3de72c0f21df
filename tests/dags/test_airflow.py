"""A real Airflow runs pipelines: on schedule, again, after a kill; tables are what one run gives."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from airflow_home import AirflowHome, running
from dag_pipelines import land_day, land_late_hours, write_pipeline
from openlineage_schema import openlineage_problems
from otlp_receiver import Receiver
from postgres import address, postgres
from receivers import Mailbox, Webhook, serving

from servers import server
from short_lived import SHORT_LIVED
from tidemark.core.quality import RELEASED
from tidemark.pipeline import Pipeline

pytestmark = pytest.mark.spark
DONE = {"discover": "success", "process": "success", "check_quality": "success", "publish": "success"}
VERIFIED = DONE | {"publish": "skipped"}
DAY = timedelta(days=1)
NOTHING = {"discover": "success", "process": "skipped", "check_quality": "skipped", "publish": "skipped"}


@pytest.fixture(scope="module")
def metrics() -> Iterator[Receiver]:
    with serving(receiver := Receiver()):
        yield receiver


@pytest.fixture(scope="module")
def home(tmp_path_factory, metrics) -> Iterator[AirflowHome]:
    """An Airflow that writes OpenLineage's events into a file, and sends metrics."""
    folder = tmp_path_factory.mktemp("airflow")
    settings = {
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": str(folder / "lineage.jsonl"), "append": True}
        ),
        "AIRFLOW__METRICS__OTEL_ON": "True",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{metrics.server_port}/v1/metrics",
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
    }
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    land_day(folder / "landing", today - timedelta(days=2))
    asked = {"start_date": today.isoformat(), "retries": 1, "retry_delay": "1s"}
    write_pipeline(folder / "pipelines", schedule="0 0 * * *", airflow=asked)
    with postgres() as server, running(folder, address(server, "airflow"), settings=settings) as home:
        yield home


def pipeline_of(home: AirflowHome, name: str = "toll") -> Pipeline:
    return Pipeline.load(home.folder / "pipelines" / f"{name}.yml")


def tables(pipeline: Pipeline) -> dict[str, list[tuple]]:
    """Rows without the batch that wrote them."""
    hours = pipeline.table("streams/hours").to_table().to_pylist()
    return {"events": events(pipeline), "hours": sorted((row["_window_start"], row["n"]) for row in hours)}


def events(pipeline: Pipeline) -> list[tuple]:
    kept = ("_partition", "_offset", "_event_time", "_system_timestamp", "_disposition")
    rows = pipeline.table("events/readings").to_table().to_pylist()
    return sorted([tuple(row[key] for key in kept) for row in rows], key=str)


def first_run(home: AirflowHome, dag: str) -> str:
    """The run that the scheduler makes when a DAG is switched on."""
    home.switch_on(dag)
    runs = home.until(lambda: home.get(f"/api/v2/dags/{dag}/dagRuns")["dag_runs"])
    return str(runs[0]["dag_run_id"])


@pytest.fixture(scope="module")
def scheduled(home) -> str:
    run = first_run(home, "tidemark_toll")
    assert home.run_ended("tidemark_toll", run)["state"] == "success", home.log("tidemark_toll", run, "process")
    return run


def test_a_scheduled_run_takes_what_has_landed_and_tells_consumers(home, scheduled):
    assert home.get("/api/v2/importErrors")["import_errors"] == []
    assert home.states("tidemark_toll", scheduled) == DONE
    found = pipeline_of(home).summary(scheduled)
    assert sum(batch["rows"] for batch in found["batches"]) == 20
    (event,) = events_of(home, "tidemark_toll")
    assert event["extra"]["rows"] == 20
    assert "micro-batches judged: 1 of 1" in home.log("tidemark_toll", scheduled, "process")
    links = home.get(f"/api/v2/dags/tidemark_toll/dagRuns/{scheduled}/taskInstances/process/links")["extra_links"]
    assert scheduled in html.unescape(home.page(links["Pipeline run"].removeprefix(home.url)))
    assert event["extra"]["run_id"] == scheduled
    assert event["extra"]["watermarks"]["readings"]["watermark"] == found["watermarks"]["readings"]["watermark"]
    hours = events_of(home, "tidemark_toll.hours")
    complete = datetime.fromisoformat(found["streams"]["hours"]["watermark"])
    assert max(event["partition_key"] for event in hours) == f"{complete - timedelta(hours=1):%Y-%m-%dT%H:00:00}"
    assert len({event["partition_key"] for event in hours}) == len(hours) == complete.hour
    assert (hours[0]["uri"], hours[0]["extra"]["again"]) == (
        (home.folder / "warehouse/toll/published/streams/hours").as_uri(),
        [],
    )


def events_of(home: AirflowHome, asset: str) -> list[dict[str, Any]]:
    found = home.get("/api/v2/assets/events?limit=100")["asset_events"]
    return [event for event in found if event["name"] == asset]


def test_openlineage_gets_what_a_run_read_and_wrote(home, scheduled):
    events = [json.loads(line) for line in (home.folder / "lineage.jsonl").read_text().splitlines()]
    assert events
    assert [openlineage_problems(event) for event in events] == [[]] * len(events)
    (event,) = [
        each
        for each in events
        if each["job"]["name"] == "tidemark_toll.process"
        and each["eventType"] == "COMPLETE"
        and each["run"]["facets"]["airflow"]["dagRun"]["run_id"] == scheduled
    ]
    (landing,) = event["inputs"]
    assert (landing["namespace"], landing["name"]) == ("file", str(home.folder / "landing"))
    assert landing["inputFacets"]["inputStatistics"]["rowCount"] == 20
    outputs = {each["name"]: each for each in event["outputs"]}
    place = {name: pipeline_of(home).path(name)["path"] for name in ("events/readings", "streams/hours")}
    assert outputs.keys() == set(place.values())
    made = outputs[place["events/readings"]]["facets"]["columnLineage"]["fields"]["_event_time"]["inputFields"]
    assert [(each["name"], each["field"]) for each in made] == [(str(home.folder / "landing"), "passed")]
    fields = outputs[place["streams/hours"]]["facets"]["schema"]["fields"]
    assert "n" in {field["name"] for field in fields}
    (batch,) = pipeline_of(home).summary(scheduled)["batches"]
    fates = {fate: batch[fate] for fate in ("on_time", "adjusted", "dropped", "quarantined")}
    assert event["run"]["facets"]["tidemark"]["fates"] == {"readings": fates}


def test_metrics_say_how_late_the_output_is_and_what_became_of_rows(home, scheduled, metrics):
    (batch,) = pipeline_of(home).summary(scheduled)["batches"]
    name = "airflow.tidemark"

    def sent() -> bool:
        found = {fate: metrics.value(f"{name}.rows", pipeline="toll", fate=fate) for fate in ("on_time", "dropped")}
        return found == {"on_time": batch["on_time"], "dropped": batch["dropped"]}

    home.until(sent)
    assert metrics.value(f"{name}.blocked", pipeline="toll") == 0
    assert metrics.value(f"{name}.share", pipeline="toll", fate="dropped") == batch["dropped"] / 20
    (source,) = pipeline_of(home).status()["sources"]
    assert metrics.value(f"{name}.watermark_delay", pipeline="toll", source="readings") == pytest.approx(
        source["watermark_delay_micros"] / 1e6
    )


def cleared(home: AirflowHome, dag: str, run: str, **which: Any) -> dict[str, str]:
    """The states of a run's tasks after it was cleared and has ended again."""
    home.post(
        f"/api/v2/dags/{dag}/clearTaskInstances",
        {"dry_run": False, "dag_run_id": run, "only_failed": False, "reset_dag_runs": True} | which,
    )
    home.run_ended(dag, run)
    return home.states(dag, run)


def test_a_cleared_run_verifies_what_it_did(home, scheduled):
    before = tables(pipeline_of(home))
    assert cleared(home, "tidemark_toll", scheduled) == VERIFIED
    assert "has answered for it" in home.log("tidemark_toll", scheduled, "discover", 2)
    assert tables(pipeline_of(home)) == before
    assert pipeline_of(home).ledger.last().committed_through == 1
    shown = home.page("/tidemark/pipelines/toll/runs")
    assert ">success</a>" in shown
    assert ">no difference, " in shown


@pytest.mark.long
def test_a_task_says_that_the_file_has_changed_since_its_run_began(home, scheduled):
    file = home.folder / "pipelines" / "toll.yml"
    file.write_text(file.read_text() + "retention: {versions: 3}\n")
    attempt = home.tasks("tidemark_toll", scheduled)["check_quality"]["try_number"] + 1
    cleared(home, "tidemark_toll", scheduled, task_ids=["check_quality"])
    said = home.log("tidemark_toll", scheduled, "check_quality", attempt)
    assert "toll.yml has changed since this DAG run began" in said


@pytest.mark.usefixtures("scheduled")
def test_a_run_without_anything_to_do_starts_no_spark(home):
    shutil.rmtree(home.folder / "empty", ignore_errors=True)
    write_pipeline(home.folder / "pipelines", "quiet", warehouse="../quiet", streams={})
    source = home.folder / "pipelines" / "quiet.yml"
    source.write_text(source.read_text().replace("../landing", "../empty"))
    (home.folder / "empty").mkdir()
    run = triggered(home, "tidemark_quiet")
    assert home.run_ended("tidemark_quiet", run)["state"] == "success"
    assert home.states("tidemark_quiet", run) == NOTHING


def triggered(home: AirflowHome, dag: str, **conf: Any) -> str:
    home.switch_on(dag)
    return str(home.post(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"])


@pytest.fixture(scope="module")
def receivers(home) -> Iterator[tuple[Mailbox, Webhook]]:
    """Where the connections `ops` (mail) and `chat` (a webhook) send messages."""
    mailbox, webhook = Mailbox(), Webhook()
    with serving(mailbox, webhook):
        home.connect(ops=mailbox.connection, chat=webhook.connection)
        yield mailbox, webhook


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_run_that_quality_blocks_fails_at_its_check_until_it_is_released(home, receivers):
    limits = {"max_watermark_delay": "1s", "max_dropped": "2%", "on_failure": "block"}
    asked = {"notify": ["nowhere", "ops", "chat"]}
    keys = {"warehouse": "../strict", "quality": limits, "airflow": asked}
    land_late_hours(home.folder / "late", datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - DAY)
    file = write_pipeline(home.folder / "pipelines", "strict", **keys)
    file.write_text(file.read_text().replace("../landing", "../late"))
    run = triggered(home, "tidemark_strict")
    assert home.run_ended("tidemark_strict", run)["state"] == "failed"
    hold_one_message(home, receivers, file, run)
    assert home.states("tidemark_strict", run) == DONE | {"check_quality": "failed", "publish": "upstream_failed"}
    assert home.tasks("tidemark_strict", run)["check_quality"]["try_number"] == 1
    assert f"tidemark release {file} {run} --reason" in home.log("tidemark_strict", run, "check_quality")
    later = triggered(home, "tidemark_strict")
    assert home.run_ended("tidemark_strict", later)["state"] == "failed"
    assert f"quality blocks run {run}" in home.log("tidemark_strict", later, "discover")
    home.read_again()
    home.until(partial(home.offers, "tidemark_operate_release", "strict"))
    released = operated(home, "release", pipeline="strict", reason="an old day")
    assert released["state"] == "success", home.log("tidemark_operate_release", released["dag_run_id"], "release")
    reasons = pipeline_of(home, "strict").table("quality").to_table().column("message").to_pylist()
    assert any("an old day (by admin, in Airflow)" in str(reason) for reason in reasons)
    assert cleared(home, "tidemark_strict", run) == DONE, "as a whole: what was released is verified, and emitted"
    (event,) = events_of(home, "tidemark_strict")
    assert (event["extra"]["runs"], event["extra"]["rows"]) == ([run], 300)
    assert cleared(home, "tidemark_strict", run) == VERIFIED


def hold_one_message(home: AirflowHome, receivers: tuple[Mailbox, Webhook], file: Path, run: str) -> None:
    """One message about a blocked run, by mail and to the webhook; the connection that is not there is in the log."""
    mailbox, webhook = receivers
    home.until(lambda: webhook.posts)
    ((_, post),), (mail,) = webhook.posts, mailbox.mail
    assert mail["Subject"] == f"tidemark: strict: quality blocks run {run}"
    body = mail.get_body(("html",))
    assert body is not None
    page = f"{home.url}/dags/tidemark_strict/runs/{quote(run, safe='')}/plugin/tidemark-run"
    for form in (post["text"], body.get_content()):
        assert "dropped rows of the run: 20 % of at most 2 %" in form
        assert "watermark delay of readings: " in form
        assert "All 60 dropped rows are b" in form
        assert "10:00-12:00 of " in form
        assert "late_arrival 3h would have kept 60" in form
        assert "readings.json; " in form
        assert f"tidemark release {file} {run} --reason" in form
        assert page in form
    said = home.log("tidemark_strict", run, "check_quality")
    assert "no message was sent through nowhere" in said
    assert "dropped rows of the run: 20 % of at most 2 %" in said


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_run_that_waits_too_long_gives_a_message_at_its_deadline_and_one_as_it_times_out(home, receivers):
    """No task of it starts, since its pool has no slots."""
    _, webhook = receivers
    known = len(webhook.posts)
    home.serve("triggerer")
    home.post("/api/v2/pools", {"name": "full", "slots": 0})
    asked = {"notify": ["chat"], "deadline": "3s", "timeout": "60s", "pool": "full"}
    write_pipeline(home.folder / "pipelines", "waits", warehouse="../waits", airflow=asked)
    run = triggered(home, "tidemark_waits")
    assert home.run_ended("tidemark_waits", run)["state"] == "failed"
    home.until(lambda: len(webhook.posts) >= known + 2)
    late, ended = (post["text"] for _, post in webhook.posts[known:])
    assert f"Run {run} of pipeline waits has not published what is due 3s after it was queued" in late
    assert "stream hours: due up to" in late
    assert "the run took longer than airflow.timeout" in ended


def question(home: AirflowHome, dag: str, run: str, task: str) -> str:
    """What a waiting task asks, once it does and its worker is gone: Airflow takes the end of a worker for that of
    the task if somebody answers before."""
    home.until(lambda: home.states(dag, run).get(task) == "awaiting_input")
    attempt = home.tasks(dag, run)[task]["try_number"]
    gone = f"dag_id={dag}, task_id={task}, run_id={re.escape(run)}, .* state=awaiting_input, .* try_number={attempt},"
    home.until(lambda: re.search(gone, (home.folder / "scheduler.log").read_text()))
    found = home.get(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/-1/hitlDetails")
    return f"{found['subject']}\n{found['body']}"


def answered(home: AirflowHome, dag: str, run: str, task: str, answer: str, reason: str) -> str:
    """The state of the run after the answer to a waiting task."""
    body = {"chosen_options": [answer], "params_input": {"reason": reason}}
    home.patch(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/-1/hitlDetails", body)
    return str(home.run_ended(dag, run)["state"])


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_blocked_run_waits_for_a_person_who_leaves_it_blocked_or_releases_it(home, receivers):
    _, webhook = receivers
    known = len(webhook.posts)
    limits, asked = {"max_dropped": "2%", "on_failure": "block"}, {"notify": ["chat"], "approval": True}
    write_pipeline(home.folder / "pipelines", "asks", warehouse="../asks", quality=limits, airflow=asked)
    run, at = triggered(home, "tidemark_asks"), ("tidemark_asks", "check_quality")
    assert "dropped rows of the run: 35 % of at most 2 %" in question(home, at[0], run, at[1])
    later = triggered(home, "tidemark_asks")
    assert home.get(f"/api/v2/dags/tidemark_asks/dagRuns/{later}")["state"] == "queued"
    assert answered(home, at[0], run, at[1], "Leave blocked", "a sensor is broken") == "failed"
    left = {"check_quality": "failed", "release": "upstream_failed", "publish": "upstream_failed"}
    assert home.states("tidemark_asks", run) == DONE | left
    assert "Leave blocked, says admin: a sensor is broken" in home.log("tidemark_asks", run, "check_quality")
    assert home.run_ended("tidemark_asks", later)["state"] == "failed"
    assert f"quality blocks run {run}" in home.log("tidemark_asks", later, "discover")
    home.until(lambda: len(webhook.posts) == known + 2)
    waits, refused = (post["text"] for _, post in webhook.posts[known:])
    assert f"run {run} waits for a decision" in waits
    assert f"Run {later} of pipeline asks failed at discover." in refused
    again = {"dry_run": False, "dag_run_id": run, "only_failed": True, "reset_dag_runs": True}
    home.post("/api/v2/dags/tidemark_asks/clearTaskInstances", again)
    question(home, at[0], run, at[1])
    assert answered(home, at[0], run, at[1], "Release", "an old day") == "success"
    assert home.states("tidemark_asks", run) == DONE | {"release": "success"}
    checks = pipeline_of(home, "asks").table("quality").to_table().to_pylist()
    assert [each["message"] for each in checks if each["expectation"] == RELEASED] == [
        "an old day (admin, in Airflow)"
    ]


def operated(home: AirflowHome, verb: str, **asked: Any) -> dict[str, Any]:
    """The DAG run of an operator's verb, once it has ended."""
    dag = f"tidemark_operate_{verb}"
    return home.run_ended(dag, triggered(home, dag, **asked))


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_an_operator_verifies_by_a_form_and_gets_a_table_and_a_record(home):
    run = operated(home, "verify", pipeline="toll", all=True)
    at = ("tidemark_operate_verify", run["dag_run_id"])
    assert run["state"] == "success", home.log(*at, "verify")
    assert "Sound: 1 batch" in home.log(*at, "verify")
    record = home.get(f"/api/v2/dags/{at[0]}/dagRuns/{at[1]}/taskInstances/verify/xcomEntries/return_value")["value"]
    assert (record["sound"], record["judged"]) == (True, 20)


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_verb_that_fails_says_why_without_a_traceback(home):
    run = operated(home, "exclude", pipeline="toll", uri="--no.json", reason="test data")
    said = home.log("tidemark_operate_exclude", run["dag_run_id"], "exclude")
    assert run["state"] == "failed"
    assert "--no.json" in said
    assert "Traceback" not in said
    with pytest.raises(AssertionError, match="reason"):
        operated(home, "release", pipeline="toll")
    none = operated(home, "release", pipeline="toll", reason="why")
    said = home.log("tidemark_operate_release", none["dag_run_id"], "choose")
    assert (none["state"], "no run is in the way" in said, "Traceback" in said) == ("failed", True, False)


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_fresh_pipeline_with_a_first_day_takes_its_history_interval_by_interval(home):
    """The order that works: the first day is in the file before the DAG is switched on for the first time."""
    begin = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    asked = {"warehouse": "../history", "streams": {}, "airflow": {"start_date": begin.isoformat()}}
    write_pipeline(home.folder / "pipelines", "history", schedule="0 0 * * *", **asked)
    home.switch_on("tidemark_history")

    def ended() -> Any:
        runs = home.get("/api/v2/dags/tidemark_history/dagRuns?order_by=run_after")["dag_runs"]
        return runs if len(runs) == 2 and {run["state"] for run in runs} == {"success"} else None

    runs = [run["dag_run_id"] for run in home.until(ended)]
    assert [home.states("tidemark_history", run) for run in runs] == [DONE, NOTHING]
    assert len(events(pipeline_of(home, "history"))) == 20


def test_the_report_dag_writes_a_page_for_each_pipeline(home, scheduled):
    ended = home.run_ended("tidemark_quality_report", triggered(home, "tidemark_quality_report"))
    assert ended["state"] == "success"
    page = home.folder / "reports" / "toll" / f"{ended['run_after'][:10]}.html"
    assert scheduled.replace("+", "&#43;") in page.read_text() or scheduled in page.read_text()
    assert "with 20 rows" in page.read_text()


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_the_backfill_dag_builds_a_version_and_promotes_it_where_that_was_asked_for(home):
    asked = {"pipeline": "toll", "from": (datetime.now(UTC) - timedelta(days=3)).isoformat()}
    asked |= {"promote": "when approved"}
    run = triggered(home, "tidemark_backfill", **asked, settings=["sources.readings.late_arrival.tolerance=10m"])
    assert "rows otherwise (" in question(home, "tidemark_backfill", run, "decide")
    assert answered(home, "tidemark_backfill", run, "decide", "Do not promote", "too strict") == "failed"
    assert home.states("tidemark_backfill", run)["promote"] == "upstream_failed"
    assert "Do not promote, says admin: too strict" in home.log("tidemark_backfill", run, "decide")
    before = pipeline_of(home).versions()["live"]
    run = triggered(home, "tidemark_backfill", **asked)
    question(home, "tidemark_backfill", run, "decide")
    assert answered(home, "tidemark_backfill", run, "decide", "Promote", "it is identical") == "success"
    assert "came out identical" in home.log("tidemark_backfill", run, "report")
    versions = pipeline_of(home).versions()
    assert versions["live"] == versions["versions"][-1]["version"] > before
    newest_first = home.get("/tidemark/pipelines/toll/versions?format=json")["versions"]
    assert [each["by"] for each in newest_first[:2]] == ["admin; approved by admin", "admin; declined by admin"]


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
@pytest.mark.parametrize("dag", ["tidemark_toll", "tidemark_backfill", "tidemark_quality_report"])
def test_each_dag_runs_without_a_scheduler(home, dag):
    """`airflow dags test` is `dag.test()`; maintenance has a test of its own."""
    before = tables(pipeline_of(home))
    asked = {"pipeline": "toll", "from": (datetime.now(UTC) - timedelta(days=3)).isoformat()}
    conf = ["--conf", json.dumps(asked)] if dag == "tidemark_backfill" else []
    assert "state=success" in home.tested(dag, *conf)
    assert tables(pipeline_of(home)) == before


@pytest.mark.long
def test_the_task_process_runs_in_the_session_of_a_server(home):
    write_pipeline(home.folder / "pipelines", "warm", warehouse="../kept-session")
    asked = {"conn_type": "spark", "host": "local[2]", "extra": {"tidemark_warm": True}}
    with server(environ=SHORT_LIVED) as kept:
        kept.serve()
        settings = {"TIDEMARK_SOCKET": str(kept.path), "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(asked)}
        assert "state=success" in home.tested("tidemark_warm", **settings)
        below = psutil.Process(kept.process.pid).children(recursive=True)
        assert any("java" in each.name() for each in below), "the server's JVM did not judge the rows"
    assert len(events(pipeline_of(home, "warm"))) == 20


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_the_maintenance_dag_tells_what_it_would_do_and_does_it(home):
    before = tables(pipeline_of(home))
    for dry in ("true", "false"):
        said = home.tested("tidemark_maintenance", "--conf", f'{{"dry_run": {dry}}}')
        assert "state=success" in said
    assert tables(pipeline_of(home)) == before


@pytest.mark.long
@pytest.mark.usefixtures("scheduled")
def test_a_run_whose_process_is_killed_is_repaired_by_its_retry(home):
    write_pipeline(home.folder / "pipelines", "killed", warehouse="../killed", airflow={"retry_delay": "1s"})
    run = triggered(home, "tidemark_killed")
    home.until((home.folder / "killed" / "killed" / "v1" / "batches").is_dir)
    process = home.until(partial(submitted, home.folder / "pipelines" / "killed.yml"))
    os.kill(process, signal.SIGKILL)
    assert home.run_ended("tidemark_killed", run)["state"] == "success"
    assert home.tasks("tidemark_killed", run)["process"]["try_number"] == 2
    assert len(tables(pipeline_of(home, "killed"))["events"]) == 20


def submitted(config: Path) -> int | None:
    """The JVM of the run of a pipeline file."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if str(config).encode() in words and b"org.apache.spark.deploy.SparkSubmit" in words:
                return int(entry.name)
    return None
