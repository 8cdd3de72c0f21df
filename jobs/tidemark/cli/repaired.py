"""The commands that lead out of what a fault left: damaged tables, a run that cannot be finished."""

from __future__ import annotations

from pathlib import Path

import click

from tidemark.cli.commands import as_json_option, config_argument, opened, tidemark
from tidemark.cli.output import Answer
from tidemark.errors import CheckFailed
from tidemark.summaries import Record


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


@click.command()
@as_json_option
@config_argument
@click.argument("run")
@click.option("--reason", required=True, metavar="TEXT", help="Why it cannot be finished; recorded with its batches.")
def abandon(config: Path, run: str, reason: str) -> Answer:
    """Set a planned run aside that cannot be finished.

    What it had appended, and never committed, is deleted; its objects are free for the next run. Not possible once it
    has published to streams.
    """
    with opened(config) as pipeline:
        return Answer(pipeline.abandon(run, reason), abandon_text)


def abandon_text(record: Record) -> str:
    """That a run is set aside, for people."""
    batches = record["batches"]
    told = f"batch {batches[0]}" if len(batches) == 1 else f"batches {batches[0]} to {batches[-1]}"
    return (
        f"Run {record['run_id']} is abandoned ({told}): nothing of it is in any table.\n"
        f"The next run takes its {record['objects']:,} objects anew."
    )


def add() -> None:
    """Add them to `tidemark`."""
    tidemark.add_command(repair)
    tidemark.add_command(abandon)
