"""The command `why`: what is abnormal, and its cause."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidemark.cli.commands.runs import as_json_option, config_argument, opened, tidemark
from tidemark.cli.output import Answer

if TYPE_CHECKING:
    from tidemark.records.causes import WhyRecord

QUIET = "Nothing is out of the ordinary."


@click.command()
@as_json_option
@config_argument
@click.option("--since", metavar="T", help="Rows that arrived at or after this time; default: those of the last run.")
@click.option("--until", metavar="T", help="Rows that arrived before this time.")
@click.option("--run", metavar="ID", help="The rows of this run.")
def why(config: Path, since: str | None, until: str | None, run: str | None) -> Answer[WhyRecord]:
    """Say what is abnormal, where, since when, and what would have kept the rows.

    Rows are compared with those of the 14 days before them. Each cause is one sentence, the heaviest first.
    """
    with opened(config) as pipeline:
        return Answer(pipeline.why(since, until, run), why_text)


def why_text(record: WhyRecord) -> str:
    """Text for people: the causes, and what they were compared with."""
    from tidemark.report.text import safe
    from tidemark.report.words import counted

    sentences = [each["sentence"] for each in record["causes"]] or [QUIET]
    compared = f"Looked at {counted(record['rows'], 'row')} of {record['scope']}"
    compared += f", compared with {counted(record['history'], 'day')} before." if record["history"] else "."
    return "\n".join(map(safe, [*sentences, compared]))


def add() -> None:
    """Add this command to `tidemark`, before `advise`."""
    tidemark.add_command(why)
