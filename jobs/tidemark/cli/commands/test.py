"""The command `test`: runs test cases, or records one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidemark.cli import completion
from tidemark.cli.commands.options import as_json_option, config_argument
from tidemark.cli.commands.runs import opened, tidemark
from tidemark.cli.output import Answer
from tidemark.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from tidemark.records.cases import CasesRecord, RecordedCaseRecord

_OF_RUNS = ("case", "junit", "keep")
_OF_RECORDS = ("source", "since", "until", "run", "mask")


@click.command()
@as_json_option
@config_argument
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option("--case", metavar="TEXT", help="Only cases with this text in their name.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML there.")
@click.option("--keep", type=click.Path(path_type=Path), metavar="FOLDER", help="Keep landing and warehouse there.")
@click.option("--record", is_flag=True, help="Write a case from recorded rows to FILE instead.")
@click.option("--source", metavar="S", shell_complete=completion.sources, help="Record rows of this source only.")
@click.option("--since", metavar="T", help="Record rows that arrived at or after this time.")
@click.option("--until", metavar="T", help="Record rows that arrived before this time.")
@click.option("--run", metavar="ID", help="Record the rows of this run; default: of the last run.")
@click.option("--mask", multiple=True, metavar="COLUMN", help="Record pseudonyms of the values of this column.")
def test(
    config: Path, files: tuple[Path, ...], record: bool, **options: Any
) -> Answer[CasesRecord] | Answer[RecordedCaseRecord]:
    """Run test cases: rows given, fates and outputs expected.

    FILE defaults to *.test.yml beside CONFIG. All cases run in one Spark session, each with a landing and a warehouse
    of its own. Exit status 1: a case failed.
    """
    from tidemark.cli.text.cases import cases_text, recorded_text

    given = {name: value for name, value in options.items() if value not in (None, ())}
    for name in given:
        if name in (_OF_RUNS if record else _OF_RECORDS):
            raise UsageError(f"--{name} is for {'running' if record else 'recording'} cases", hint=_hint(record))
    with opened(config) as pipeline:
        if record:
            if len(files) > 1:
                raise UsageError("a case is recorded to one file", hint="give one FILE, or none")
            return Answer(pipeline.record_case(*files, **given), recorded_text(config))
        tested = pipeline.test(files, **given)
    return Answer(tested, cases_text, CheckFailed.exit_code if tested["failed"] else 0)


def _hint(record: bool) -> str:
    return "record first, then run without --record" if record else "add --record, or leave it out"


def add() -> None:
    """Add this command to `tidemark`, after `validate`."""
    tidemark.add_command(test)
