"""Messages reach a real SMTP server and a webhook, escaped and without secrets; what fails is logged, and no more."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from airflow_home import AirflowHome
from dag_pipelines import write_pipeline
from receivers import Mailbox, Webhook, serving

HIDDEN = "a-long-password"
ODD = {"conn_type": "http", "host": "http://127.0.0.1:1/with space", "password": "secret-of-the-hook"}
STRANGE = {"conn_type": "ftp", "host": "127.0.0.1", "password": HIDDEN}
BY_CLASS = {
    "class": "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
    "to": "a@example.org,b@example.org",
    "smtp_conn_id": "ops",
    "subject": "{{ tidemark.subject }} of {{ run_id }}",
    "html_content": "<pre>{{ tidemark.text | e }}</pre>",
}
SEND = """
import asyncio, json, os
from datetime import UTC, datetime
for name, connection in {connections!r}.items():
    os.environ["AIRFLOW_CONN_" + name.upper()] = json.dumps(connection)
from tidemark.airflow.alerts import deadline
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException
from tidemark.airflow.alerts.notifier import Declined, FailureNotifier, QualityBlocks
from tidemark.airflow.approvals import QualityGate
from tidemark.commands.alerts.due import OwedOutput
from tidemark.report.alerts.message import MessagePart, RunMessage

message = RunMessage("subject <1>", "sentence", [MessagePart("Cause", ["<i>a.json</i> {{{{ run_id }}}} <!here>"])])
dag = DAG("tidemark_toll")
blocked = dict(dag=dag, run_id="r 1", exception=QualityBlocks("quality blocks it", message))
FailureNotifier("toll", {config!r}, {notify!r})(blocked)
for reason in ("task_failure", "timed_out"):
    FailureNotifier("toll", {config!r}, ["run"])(dict(dag=dag, run_id="r 1", reason=reason))
asked, run = [], dict(dag_run_id="r 1", data_interval_end=None, run_after="2026-01-02T00:00:00Z")
for owes in ([], [OwedOutput("hours", None, 0)]):
    deadline.owed = lambda context, as_of: asked.append(as_of) or owes
    asyncio.run(deadline.missed(context=dict(dag_run=run), config={config!r}))
asyncio.run(deadline.missed(context=dict(dag_run=run), config={broken!r}))
alert = deadline.deadline_alert({config!r}, deadline.timedelta(hours=1))
gate, decided = QualityGate(task_id="check_quality", config={config!r}), []
gate.approved = lambda context, reason: reason
ann = dict(responded_by_user=dict(id="1", name="ann"), responded_at=datetime.now(UTC))
answers = ["Release", "it is right"], ["Release", " "], ["Leave blocked", "a sensor"], ["Leave blocked", ""]
for answer, reason in answers:
    try:
        event = dict(chosen_options=[answer], params_input=dict(reason=reason)) | ann
        decided.append(gate.execute_complete(dict(), event))
    except AirflowFailException as error:
        decided.append([type(error).__name__, str(error)])
FailureNotifier("toll", {config!r}, ["chat"])(dict(dag=dag, run_id="r 1", exception=Declined("no")))
print(json.dumps([asked, alert.callback.path, alert.callback.kwargs, decided]))
"""


@dataclass
class Sent:
    """What one process has sent and printed."""

    mailbox: Mailbox
    chat: Webhook
    of_run: Webhook
    of_deadline: Webhook
    of_broken: Webhook
    printed: str
    config: str


@pytest.fixture(scope="module")
def sent(tmp_path_factory) -> Sent:
    """One process sends everything: to import Airflow takes most of the time."""
    home = AirflowHome(tmp_path_factory.mktemp("alerts"))
    late = {"notify": ["late"], "deadline": "90m"}
    config = str(write_pipeline(home.folder / "pipelines", airflow=late))
    file = write_pipeline(home.folder / "damaged", airflow={"notify": ["broken"], "deadline": "90m"}, nonsense=1)
    mailbox, refusing, chat, of_run, of_deadline = Mailbox(), Webhook(status=500), Webhook(), Webhook(), Webhook()
    of_broken = Webhook()
    connections = {"down": refusing.connection, "odd": ODD, "strange": STRANGE, "ops": mailbox.connection}
    connections |= {"chat": chat.connection, "run": of_run.connection, "late": of_deadline.connection}
    connections |= {"broken": of_broken.connection}
    notify = ["nowhere", "down", "odd", "strange", "ops", BY_CLASS, "chat"]
    with serving(mailbox, refusing, chat, of_run, of_deadline, of_broken):
        printed = home.said(SEND.format(connections=connections, config=config, broken=str(file), notify=notify))
    return Sent(mailbox, chat, of_run, of_deadline, of_broken, printed, config)


def test_a_message_goes_by_mail_and_to_a_webhook_escaped_in_each(sent):
    assert sent.mailbox.recipients[0] == ["ops@example.org"]
    mail = sent.mailbox.mail[0]
    assert (mail["Subject"], mail["From"]) == ("subject <1>", "tidemark@example.org")
    body = mail.get_body(("html",))
    assert body is not None
    assert "<li>&lt;i&gt;a.json&lt;/i&gt; {{ run_id }} &lt;!here&gt;</li>" in body.get_content()
    ((path, post),) = sent.chat.posts
    assert path == "/services/T0/B0/secret-of-the-hook"
    assert post["text"].startswith("subject &lt;1&gt;\nsentence")
    assert "&lt;i&gt;a.json&lt;/i&gt; {{ run_id }} &lt;!here&gt;" in post["text"]


def test_any_notifier_class_of_airflow_takes_its_arguments_as_templates(sent):
    assert sent.mailbox.recipients[1:] == [["a@example.org", "b@example.org"]]
    assert sent.mailbox.mail[1]["Subject"] == "subject <1> of r 1"


def test_what_fails_is_logged_without_secrets_and_the_next_is_tried(sent):
    for name in ("nowhere", "down", "odd", "strange"):
        assert f"no message was sent through {name}" in sent.printed
    assert "HTTP Error 500" in sent.printed
    assert "is of the type ftp" in sent.printed
    assert "secret-of-the-hook" not in sent.printed
    assert HIDDEN not in sent.printed


def test_the_run_s_own_call_counts_only_where_no_task_has_failed(sent):
    ((_, post),) = sent.of_run.posts
    assert "Run r 1 of pipeline toll failed." in post["text"]
    assert "the run took longer than airflow.timeout" in post["text"]
    assert "tidemark status" in post["text"]


def test_a_missed_deadline_gives_a_message_only_for_output_that_is_due(sent):
    asked, path, given, _ = json.loads(sent.printed.splitlines()[-1])
    assert asked == [1_767_312_000_000_000] * 2
    assert (path, given) == ("tidemark.airflow.alerts.deadline.missed", {"config": sent.config})
    ((_, post),) = sent.of_deadline.posts
    assert "Run r 1 of pipeline toll has not published what is due 1h 30m after it was queued" in post["text"]
    assert "stream hours: due up to 1970-01-01 00:00:00, published nothing yet" in post["text"]


def test_a_missed_deadline_gives_a_message_without_facts_if_the_file_is_broken_by_then(sent):
    ((_, post),) = sent.of_broken.posts
    assert "Run r 1 of pipeline toll has not ended 1h 30m after it was queued." in post["text"]
    assert "What is due is not known." in post["text"]
    assert "there is no such key 'nonsense'" in post["text"]


def test_a_release_takes_a_reason_and_the_name_and_a_run_that_is_left_blocked_is_red_with_both(sent):
    assert json.loads(sent.printed.splitlines()[-1])[3] == [
        "it is right (ann, in Airflow)",
        ["AirflowFailException", "'Release' takes a reason: clear this task to be asked again"],
        ["Declined", "Leave blocked, says ann: a sensor"],
        ["Declined", "Leave blocked, says ann: no reason was given"],
    ]
