"""The commands on versions: build, list and promote them, and exclude objects from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.cli import completion
from tidemark.cli.commands.options import as_json_option, config_argument
from tidemark.cli.commands.runs import opened, tidemark
from tidemark.cli.output import Answer

if TYPE_CHECKING:
    from tidemark.records.versions import (
        BackfillRecord,
        ExcludeRecord,
        PromoteRecord,
        RegisterRecord,
        VersionsRecord,
    )


@click.command()
@as_json_option
@config_argument
@click.option("--from", "from_", required=True, metavar="T0", help="The first output time that is made anew.")
@click.option("--to", metavar="T1", help="The first that is not; default: all up to the last run.")
@click.option(
    "--set",
    "settings_",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting for the new version, such as sources.readings.late_arrival.tolerance=10m; may be repeated.",
)
@click.option("--from-landing", is_flag=True, help="Read landing again, as it is now, instead of the events tables.")
@click.option("--label", help="A name of the version, which `versions` lists.")
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def backfill(config: Path, **options: Any) -> Answer[BackfillRecord]:
    """Build a version beside the live one and show what differs.

    Outputs from T0 to T1 are made anew from the events tables, under the settings of CONFIG. Readers do not see the
    version until it is promoted.
    """
    from tidemark.cli.text.versions import backfill_text

    with opened(config) as pipeline:
        return Answer(pipeline.backfill(**options), backfill_text(config))


@click.command()
@as_json_option
@config_argument
def versions(config: Path) -> Answer[VersionsRecord]:
    """List the versions, and which is live."""
    from tidemark.cli.text.versions import versions_text

    with opened(config) as pipeline:
        return Answer(pipeline.versions().record, versions_text(config))


@click.command()
@as_json_option
@config_argument
@click.argument("version", type=click.IntRange(1), shell_complete=completion.versions)
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def promote(config: Path, version: int, wait: bool) -> Answer[PromoteRecord]:
    """Let readers see another version, in one commit.

    It first gets the runs that were made since it was built. To undo this, promote the earlier version.
    """
    from tidemark.cli.text.versions import promote_text

    with opened(config) as pipeline:
        return Answer(pipeline.promote(version, wait), promote_text(config))


@click.command()
@as_json_option
@config_argument
@click.option("--catalog", metavar="NAME", help="Also make views, in a catalog of Spark such as spark_catalog.")
@click.option("--schema", metavar="NAME", help="The schema of the views; default: named like the pipeline.")
@click.option("--sql", is_flag=True, help="Only print the statements, for a person to run (Unity Catalog, Hive).")
@click.option("--forget", is_flag=True, help="Let the views in this schema follow no more; they stay as they are.")
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def register(config: Path, **options: Any) -> Answer[RegisterRecord]:
    """Give tables names that follow `promote`: paths, and views in a catalog.

    In a folder, `published` beside the versions leads to the live one. A view has its table's rows up to the last
    committed batch. Promotions let names read another version; runs add views of new tables. With --sql, run the
    statements again when `promote` says so.
    """
    from tidemark.cli.text.versions import register_text

    with opened(config) as pipeline:
        return Answer(pipeline.register(**options), register_text)


@click.command()
@as_json_option
@config_argument
@click.argument("uri")
@click.option(
    "--reason", required=True, metavar="TEXT", help="What is wrong with it; recorded, and shown by `explain`."
)
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def exclude(config: Path, uri: str, reason: str, wait: bool) -> Answer[ExcludeRecord]:
    """Record that an object is wrong: the next backfill quarantines its rows.

    URI is relative to the landing of its source, as the events have it in `_file`. Nothing changes for readers until
    a backfill has built a version without it, and that is promoted.
    """
    from tidemark.cli.text.versions import exclude_text

    with opened(config) as pipeline:
        return Answer(pipeline.exclude(uri, reason, wait), exclude_text(config))


def add() -> None:
    """Add these commands to `tidemark`."""
    for command in (backfill, versions, promote, register, exclude):
        tidemark.add_command(command)
