"""The command `why`: what is abnormal, and its cause."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidemark.cli.commands.options import as_json_option, config_argument
from tidemark.cli.commands.runs import opened, tidemark
from tidemark.cli.output import Answer

if TYPE_CHECKING:
    from tidemark.records.causes import WhyRecord


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
    from tidemark.cli.text.why import why_text

    with opened(config) as pipeline:
        return Answer(pipeline.why(since, until, run), why_text)


def add() -> None:
    """Add this command to `tidemark`."""
    tidemark.add_command(why)
