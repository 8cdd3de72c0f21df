"""The command that rebuilds damaged tables."""

from __future__ import annotations

from pathlib import Path

import click

from tidemark.cli.commands import as_json_option, config_argument, opened, tidemark
from tidemark.cli.output import Answer
from tidemark.errors import CheckFailed


@click.command()
@as_json_option
@config_argument
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def repair(config: Path, wait: bool) -> Answer:
    """Rebuild damaged tables of the live version, and prove each batch by its digest.

    Every file is read. Events are made again from landing, everything else from events; files that cannot be read are
    kept in the folder `damaged`. Exit status 1: something could not be rebuilt.
    """
    from tidemark.cli.version_texts import repair_text

    with opened(config) as pipeline:
        record = pipeline.repair(wait)
    return Answer(record, repair_text(config), CheckFailed.exit_code if record["left"] else 0)


def add() -> None:
    """Add it to `tidemark`."""
    tidemark.add_command(repair)
