"""Text for people about abnormal rows and their causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidemark.cli.output import text_width
from tidemark.errors import TidemarkError
from tidemark.report.text import safe, status_view
from tidemark.report.words import counted

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline
    from tidemark.records.causes import WhyRecord
    from tidemark.records.runs import RunRecord
    from tidemark.records.status import StatusRecord

QUIET = "Nothing is out of the ordinary."


def why_text(record: WhyRecord) -> str:
    """The causes, and the numbers of examined rows and of days compared with."""
    sentences = [each["sentence"] for each in record["causes"]] or [QUIET]
    looked = f"Looked at {counted(record['rows'], 'row')} of {record['scope']}"
    compared = f", compared with {counted(record['history'], 'day')} before." if record["history"] else "."
    return "\n".join(map(safe, [*sentences, looked + compared]))


def status_text(pipeline: Pipeline) -> Callable[[StatusRecord], RenderableType]:
    """Return the text of a status, with the first cause of abnormal rows in the last run, if there are any."""

    def text(record: StatusRecord) -> RenderableType:
        view = status_view(record, text_width())
        sentence = None if record["as_of"] is None or record["damaged"] else _first_cause(pipeline)
        return view if sentence is None else Group(view, Text(), Text(safe(sentence)))

    return text


def run_cause(pipeline: Pipeline, record: RunRecord) -> str | None:
    """The first cause of abnormal rows in a run. None if the run dropped and quarantined no row and failed no check,
    or only verified another run. Examines no more rows than a page of the dashboard."""
    lost = any(batch["dropped"] or batch["quarantined"] for batch in record["batches"])
    failed = any(not check["success"] for check in record["quality"])
    if "verified" in record or not (lost or failed):
        return None
    from tidemark.commands.dashboard.causes import causes_of_run  # only where a run has lost rows

    found = causes_of_run(pipeline.reader, record["run_id"])
    sentence = found.unseen or next((cause["sentence"] for cause in found.causes), None)
    return None if sentence is None else safe(sentence)


def _first_cause(pipeline: Pipeline) -> str | None:
    """The first cause as a sentence, or why there is none: a status is shown even if the events cannot be read."""
    from tidemark.commands.explain.why import UNSEEN  # only where there are runs

    try:
        causes = pipeline.why()["causes"]
    except (TidemarkError, *UNSEEN) as error:
        return f"The events could not be looked at: {error}"
    return causes[0]["sentence"] if causes else None
