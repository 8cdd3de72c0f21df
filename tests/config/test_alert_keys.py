"""Keys of `airflow` that ask for messages: what they give, and what is wrong with them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tidemark.config.pipeline_files import scheduling_of
from tidemark.errors import ConfigError

PAGER = {"class": "airflow.providers.smtp.notifications.smtp.SmtpNotifier", "to": "a@example.org"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "toll.yml"
    path.touch()
    return path


def test_messages_go_to_connections_and_notifier_classes(file):
    found = scheduling_of(file, {"notify": ["ops", PAGER], "deadline": "1h30m", "timeout": "2h"})
    assert found.notify == ("ops", PAGER)
    assert (found.deadline, found.timeout) == (timedelta(minutes=90), timedelta(hours=2))
    quiet = scheduling_of(file, {})
    assert (quiet.notify, quiet.deadline, quiet.timeout) == ((), None, None)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"notify": "ops"}, "airflow.notify: 'ops': must be a list of connection ids"),
        ({"notify": [""]}, "airflow.notify: ['']: must have connection ids and mappings"),
        ({"notify": [{"to": "me"}]}, "must have the full name of a notifier's class as 'class'"),
        ({"notify": [{"class": "SmtpNotifier"}]}, "must have the full name of a notifier's class as 'class'"),
        ({"notify": ["ops"], "deadline": "0s"}, "airflow.deadline: '0s': must be longer than 0"),
        ({"timeout": "soon"}, "airflow.timeout: 'soon'"),
        ({"deadline": "1h"}, "airflow.deadline: needs airflow.notify: nobody would get its message"),
    ],
)
def test_what_cannot_be_sent_is_refused(file, given: dict[str, Any], wrong):
    with pytest.raises(ConfigError) as raised:
        scheduling_of(file, given)
    assert wrong in str(raised.value)
