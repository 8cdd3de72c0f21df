"""The commands for schedulers, which `tidemark --help` does not list: `process` and `maintain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidemark.cli.commands.options import as_json_option, config_argument, warm_option
from tidemark.cli.commands.runs import opened, tidemark
from tidemark.cli.output import Answer
from tidemark.errors import Blocked

if TYPE_CHECKING:
    from tidemark.records.runs import BlockedRecord, MaintainRecord, MaintenancePlan, RunRecord


@click.command(hidden=True)
@as_json_option
@config_argument
@warm_option
@click.option("--as-of", required=True, metavar="T", help="End of the interval that the run answers for.")
@click.option("--run-id", required=True, metavar="ID", help="The scheduler's name of the run.")
def process(config: Path, as_of: str, run_id: str) -> Answer[RunRecord] | Answer[BlockedRecord]:
    """Do the work of a scheduled run: take what landed, or verify the run that covered it. A blocked run is no
    failure here: the scheduler checks for blocks in its next step."""
    from tidemark.cli.text.runs import run_text
    from tidemark.commands.schedule import answer

    with opened(config) as pipeline:
        try:
            return Answer(answer(pipeline.context, as_of, run_id), run_text(config, pipeline))
        except Blocked as error:
            blocked: BlockedRecord = {"run_id": run_id, "blocked": error.message}
            return Answer(blocked, lambda record: record["blocked"])


@click.command(hidden=True)
@as_json_option
@config_argument
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def maintain(config: Path, dry_run: bool) -> Answer[MaintainRecord | MaintenancePlan]:
    """Compact small files, and delete those that no table has needed for a week."""
    from tidemark.cli.text.runs import maintain_text
    from tidemark.commands.maintain import maintain as maintained

    with opened(config) as pipeline:
        return Answer(maintained(pipeline.context, dry_run), maintain_text)


def add() -> None:
    """Add these commands to `tidemark`."""
    tidemark.add_command(process)
    tidemark.add_command(maintain)
