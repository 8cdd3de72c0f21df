"""The verbs of a pipeline for test cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from tidemark.commands.filters import Moment

if TYPE_CHECKING:
    from tidemark.context import RunContext
    from tidemark.records.cases import CasesRecord, RecordedCaseRecord


class HasContext(Protocol):
    """A pipeline."""

    context: RunContext


class CaseOptions(TypedDict, total=False):
    """Options of `test`. `case` is a part of the names of the cases to run; `junit` a file to write; `keep` a folder
    in which landing and warehouse of each case stay."""

    case: str | None
    junit: Path | str | None
    keep: Path | str | None


class RecordOptions(TypedDict, total=False):
    """Options of `record_case`: the rows, by source, time of arrival and run (default: the last run), and the columns
    to `mask` by pseudonyms."""

    source: str | None
    since: Moment
    until: Moment
    run: str | None
    mask: Sequence[str]


def test(
    pipeline: HasContext,
    files: Sequence[Path | str] = (),  # noqa: PT028 # no test function
    **options: Unpack[CaseOptions],
) -> CasesRecord:
    """Run the test cases of files (default: files beside the pipeline file) in one Spark session, and compare. Raises
    ConfigError with every mistake of all files before anything runs."""
    from tidemark.commands.cases.command import test_cases  # only where cases are run

    return test_cases(pipeline.context, files, options)


def record_case(
    pipeline: HasContext, target: Path | str | None = None, **options: Unpack[RecordOptions]
) -> RecordedCaseRecord:
    """Write a test case from recorded rows, with the results of running it as expected rows. Raises UsageError if the
    file exists, or if there are no such rows or too many."""
    from tidemark.commands.cases.record import record

    return record(pipeline.context, target, options)
