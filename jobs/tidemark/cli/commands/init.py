"""The command `init`: proposes a configuration, or checks one against what lands now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidemark.cli import completion
from tidemark.cli.commands.options import as_json_option
from tidemark.cli.output import Answer
from tidemark.errors import UsageError

if TYPE_CHECKING:
    from tidemark.records.proposal import CheckRecord, InitRecord


@click.command()
@as_json_option
@click.argument("landing", required=False, shell_complete=completion.folders)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Default: <name of the folder>.yml here."
)
@click.option(
    "--check",
    "config",
    type=click.Path(path_type=Path),
    metavar="CONFIG",
    shell_complete=completion.pipeline_files,
    help="Compare this file with what lands now, instead; exit status 1 if they differ.",
)
def init(landing: str | None, out: Path | None, config: Path | None) -> Answer[InitRecord] | Answer[CheckRecord]:
    """Propose a configuration for the files in the folder LANDING.

    Looks at a sample, and writes a file with a remark on each proposed key.
    """
    from tidemark.cli.text.init import check_text, init_text
    from tidemark.commands.init import check
    from tidemark.commands.init import init as propose

    if config is not None and landing is None and out is None:
        record = check(config)
        return Answer(record, check_text, 1 if record["drifted"] else 0)
    if landing is None or config is not None:
        raise UsageError("give a folder LANDING, or --check CONFIG alone", hint="see `tidemark init --help`")
    return Answer(propose(landing, out), init_text)
