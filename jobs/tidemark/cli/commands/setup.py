"""The commands that set a machine up: `setup` puts the jars in place that jobs need, `completion` prints what a shell
needs to complete commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tidemark.cli.commands.options import as_json_option
from tidemark.cli.commands.runs import as_json, tidemark
from tidemark.cli.completion import SHELLS, script
from tidemark.cli.output import Answer

if TYPE_CHECKING:
    from tidemark.records.rows import CompletionRecord, PathRecord


@click.command()
@click.option("--s3", is_flag=True, help="Also install the jars for s3:// locations, about 690 MB.")
@click.option("--azure", is_flag=True, help="Also install the jars for abfss:// locations, about 1 MB.")
@click.option("--gcs", is_flag=True, help="Also install the jar for gs:// locations, about 40 MB.")
@as_json_option
def setup(**services: bool) -> Answer[PathRecord]:
    """Install the jars of Delta and tidemark, once after pip install.

    Delta's jars (13 MB) are downloaded from where Spark's own settings point, and verified by their SHA-256 sums.
    Jars that are there already are left alone. TIDEMARK_JARS names another folder than the one of this Python.
    """
    from tidemark.core.services import SERVICES
    from tidemark.spark.session.jars import set_up

    return Answer(
        {"path": str(set_up([service for service in SERVICES if services[service]]))},
        lambda record: f"{record['path']} has the jars that jobs need.",
    )


@click.command()
@as_json_option
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> Answer[CompletionRecord]:
    """Print the script with which SHELL completes commands.

    SHELL is bash, zsh or fish; its start-up file evaluates the script. The Tab key then completes commands, options
    and their values, pipeline files, and the sources, streams, tables and versions of a pipeline.
    """
    record: CompletionRecord = {"shell": shell, "script": script(tidemark, shell)}
    if not as_json():
        click.echo(record["script"], nl=False)
    return Answer(record)


def add() -> None:
    """Add these commands to `tidemark`."""
    tidemark.add_command(setup)
    tidemark.add_command(completion)
