"""The commands `repair`, `verify` and `abandon`, for damaged tables and for runs that cannot be finished."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.cli.commands.options import as_json_option, config_argument
from tidemark.cli.commands.runs import opened, tidemark
from tidemark.cli.output import Answer
from tidemark.errors import CheckFailed

if TYPE_CHECKING:
    from tidemark.records.runs import AbandonRecord
    from tidemark.records.verify import VerifyRecord
    from tidemark.records.versions import RepairRecord


@click.command()
@as_json_option
@config_argument
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def repair(config: Path, wait: bool) -> Answer[RepairRecord]:
    """Rebuild damaged tables of the live version, and prove each batch by its digest.

    Every file is read. Events are made again from landing, everything else from events; files that cannot be read are
    kept in the folder `damaged`. Exit status 1: something could not be rebuilt.
    """
    from tidemark.cli.text.versions import repair_text

    with opened(config) as pipeline:
        record = pipeline.repair(wait)
    return Answer(record, repair_text(config), CheckFailed.exit_code if record["left"] else 0)


@click.command()
@as_json_option
@config_argument
@click.option("--all", "everything", is_flag=True, help="Judge every row again; default: a sample of each source.")
@click.option("--head", metavar="SHA", help="A head of the chain noted before; the chain must still have it.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Write what an auditor needs there.")
@click.option("--wait", is_flag=True, help="Wait for a run of this pipeline to end; default: exit 3.")
def verify(config: Path, **options: Any) -> Answer[VerifyRecord]:
    """Check chain, files, digests and laws of the live version.

    The check shares no code with what wrote the tables, and starts no JVM. Every file is read. A bundle has verify.py
    in it: `python verify.py FILE` checks it without tidemark. Exit status: 1 if anything is not as recorded.
    """
    from tidemark.cli.text.verify import verify_text

    with opened(config) as pipeline:
        record = pipeline.verify(**options)
    return Answer(record, verify_text(config), 0 if record["sound"] else CheckFailed.exit_code)


@click.command()
@as_json_option
@config_argument
@click.argument("run")
@click.option("--reason", required=True, metavar="TEXT", help="Why it cannot be finished; recorded with its batches.")
@click.option("--published", is_flag=True, help="Withdraw what it has published to streams, too; default: refuse.")
def abandon(config: Path, run: str, reason: str, published: bool) -> Answer[AbandonRecord]:
    """Abandon a planned run that cannot be finished.

    Its rows, which were never committed, are deleted; its objects are free for the next run. A run that has published
    to streams is refused without --published: readers that do not end at the last committed batch may have seen these
    rows.
    """
    with opened(config) as pipeline:
        return Answer(pipeline.abandon(run, reason, published=published), abandon_text)


def abandon_text(record: AbandonRecord) -> str:
    """Text for people: the run is abandoned."""
    from tidemark.report.words import counted

    batches = record["batches"]
    numbers = f"batch {batches[0]}" if len(batches) == 1 else f"batches {batches[0]} to {batches[-1]}"
    return (
        f"Run {record['run_id']} is abandoned ({numbers}): nothing of it is in any table.\n"
        f"The next run takes its {counted(record['objects'], 'object')} anew."
    )


def add() -> None:
    """Add these commands to `tidemark`."""
    tidemark.add_command(repair)
    tidemark.add_command(verify)
    tidemark.add_command(abandon)
