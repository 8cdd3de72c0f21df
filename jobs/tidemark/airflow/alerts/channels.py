"""Sends a message through the recipients in `airflow.notify`: connections, and notifier classes with their arguments.

    smtp, email                  mail by Airflow's SMTP notifier, to the addresses `to` of the connection's extra
    http, https, slackwebhook    a POST of {"text": ...}, as Slack, Mattermost and others read it

Arguments are templates, as Airflow's notifiers take them; `tidemark.subject`, `.text`, `.html` and `.chat` are the
forms of the message. A failure is logged, and the next recipient is tried.
"""

from __future__ import annotations

import inspect
import json
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import InvalidURL
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow.sdk import BaseNotifier, Connection

from tidemark.config.scheduling.notify import NOTIFIER_CLASS, Recipient
from tidemark.errors import ConfigError, Problem
from tidemark.report.alerts.message import RunMessage

_MAIL, _WEBHOOK = ("smtp", "email"), ("http", "https", "slackwebhook")
_LONGEST_WAIT = 5.0
"""Seconds that a webhook may take: Airflow ends what a failed task still does after `task_success_overtime` (20)."""


class WebhookNotifier(BaseNotifier):
    """Posts a text as JSON to the address of a connection. The connection's password, if it has one, is the last part
    of the path, as in Slack's addresses; no error shows it."""

    template_fields = ("text",)

    def __init__(self, conn_id: str, text: str, **options: Any) -> None:
        super().__init__(**options)
        self.conn_id, self.text = conn_id, text

    def notify(self, context: Any) -> None:  # noqa: ARG002 - the notifier's signature
        address = address_of(Connection.get(self.conn_id))
        try:
            body, kind = json.dumps({"text": self.text}).encode(), {"Content-Type": "application/json"}
            request = urllib.request.Request(address, body, kind)
            with urllib.request.urlopen(request, timeout=_LONGEST_WAIT):
                self.log.info("sent a message through %s", self.conn_id)
        except (ValueError, InvalidURL):
            raise ValueError(f"the connection {self.conn_id} has an address that no request can have") from None


def address_of(found: Connection) -> str:
    """Return the address of a webhook's connection. Raises ValueError if it has no host, or a scheme other than http
    and https."""
    host = found.host or ""
    scheme, mark, rest = host.partition("://")
    if not mark:
        scheme, rest = found.schema or "https", host
    if not rest or scheme not in ("http", "https"):
        raise ValueError(f"the connection {found.conn_id} needs a host, as http://... or https://...")
    server, slash, path = rest.partition("/")
    port = f":{found.port}" if found.port else ""
    secret = f"/{found.password.lstrip('/')}" if found.password else ""
    return (
        f"{scheme}://{server}{port}{slash}{path.rstrip('/')}{secret}"
        if path
        else f"{scheme}://{server}{port}{secret}"
    )


def send(message: RunMessage, notify: Sequence[Recipient], context: Mapping[str, Any], log: Any) -> None:
    """Send a message through each recipient; never raises, so that no run depends on messages."""
    for each in notify:
        named = each if isinstance(each, str) else each[NOTIFIER_CLASS]
        try:
            _notifier(each)({**context, "tidemark": message.fields()})
        except Exception:  # of any kind: a notifier may be of anybody's making
            log.exception("no message was sent through %s", named)


def ensure_notifiers(file: Path, notify: Sequence[Recipient]) -> None:
    """Raise ConfigError for classes that do not exist, are no notifiers, or do not take these arguments."""
    problems = []
    for each in notify:
        if not isinstance(each, str):
            try:
                inspect.signature(_class(each[NOTIFIER_CLASS])).bind(**_arguments(each))
            except (ImportError, AttributeError, TypeError) as error:
                problems.append(Problem(str(file), f"airflow.notify: {each[NOTIFIER_CLASS]}", str(error)))
    if problems:
        raise ConfigError(problems)


def _notifier(asked: Recipient) -> BaseNotifier:
    if not isinstance(asked, str):
        return _class(asked[NOTIFIER_CLASS])(**_arguments(asked))
    found = Connection.get(asked)
    if found.conn_type in _WEBHOOK:
        return WebhookNotifier(asked, "{{ tidemark.chat }}")
    if found.conn_type in _MAIL:
        return _mail(asked, found.extra_dejson)
    known = ", ".join((*_MAIL, *_WEBHOOK))
    raise ValueError(f"the connection {asked} is of the type {found.conn_type}; messages go to: {known}")


def _mail(conn_id: str, extra: Mapping[str, Any]) -> BaseNotifier:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier

    if not extra.get("to"):
        raise ValueError(f'the extra of the connection {conn_id} needs "to": the addresses that mail goes to')
    subject, content = "{{ tidemark.subject }}", "{{ tidemark.html }}"
    return SmtpNotifier(to=extra["to"], smtp_conn_id=conn_id, subject=subject, html_content=content)


def _class(name: str) -> type[BaseNotifier]:
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, BaseNotifier)):
        raise TypeError("is no notifier class of Airflow")
    return found


def _arguments(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in asked.items() if key != NOTIFIER_CLASS}
