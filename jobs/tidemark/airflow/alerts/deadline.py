"""The deadline of output: a message if output that is due is not published in time.

Airflow's `DeadlineAlert` counts from the time when a run is queued, and calls `missed` if the run has not succeeded
by then. Watermarks decide whether output is due (`tidemark.commands.alerts.due`); if none is, no message is sent. If
that cannot be decided, because the file or a table is damaged, a message says so. This runs in the triggerer: Airflow
3.3 does not let callbacks in an executor read connections from its database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.log import redact  # type: ignore[attr-defined] # its logs use it, too

from tidemark.airflow import aws
from tidemark.airflow.alerts.channels import send
from tidemark.airflow.alerts.notifier import named_run
from tidemark.commands.alerts.due import owed
from tidemark.commands.alerts.messages import NamedRun, overdue, unseen
from tidemark.commands.alerts.trouble import trouble
from tidemark.config.pipeline_files import asked_by, dag_id
from tidemark.core.times import SECOND, parse_time
from tidemark.report.alerts.message import RunMessage
from tidemark.report.words import duration

_log = logging.getLogger(__name__)


def deadline_alert(config: str, deadline: timedelta) -> DeadlineAlert:
    """Return the deadline of a pipeline's runs. The file is read again when the deadline is missed, so that Airflow's
    database stores none of its content."""
    callback = AsyncCallback(missed, kwargs={"config": config})
    return DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, deadline, callback)


async def missed(config: str, context: Mapping[str, Any]) -> None:
    """Send a message if the run of `context` lacks output that is due by its `as_of`."""
    await asyncio.to_thread(_missed, config, context)


def _missed(config: str, context: Mapping[str, Any]) -> None:
    run, (name, scheduling) = context["dag_run"], asked_by(Path(config))
    after = scheduling.deadline or timedelta(0)
    late = f"{duration(round(after.total_seconds() * SECOND))} after it was queued"
    named = named_run(name, run["dag_run_id"], dag_id(name))
    message = _message(config, named, parse_time(run["data_interval_end"] or run["run_after"]), late)
    if message is None:
        _log.info("run %s has not ended by its deadline, and owes nothing", run["dag_run_id"])
    else:
        send(message, scheduling.notify, context, _log)


def _message(config: str, run: NamedRun, as_of: int, late: str) -> RunMessage | None:
    """The message about a run; None if no output is due. It has no details if the pipeline cannot be read."""
    try:
        found = aws.load(config).context
        owes = owed(found, as_of)
        return overdue(run, late, owes, trouble(found, with_causes=True)) if owes else None
    except Exception as error:  # noqa: BLE001 # of any kind: the message is sent without it
        _log.exception("the pipeline could not be looked at")
        return unseen(run, late, str(redact(str(error))))
