"""The command `test`: runs the cases of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ruamel.yaml import YAML

from tidemark.arguments import file_path, known_names, texts
from tidemark.commands.cases.case import Case
from tidemark.commands.cases.files import case_files
from tidemark.commands.cases.junit import junit
from tidemark.commands.cases.landing import as_file, placed
from tidemark.commands.cases.read import read_cases
from tidemark.commands.cases.run import checked_case, one_session
from tidemark.commands.cases.verbs import CaseOptions
from tidemark.context import RunContext
from tidemark.errors import UsageError
from tidemark.records.cases import CaseRecord, CasesRecord

PREFIX = "tidemark-test-"


def test_cases(context: RunContext, files: Sequence[Path | str], options: CaseOptions) -> CasesRecord:
    """Run the cases of files (default: the files beside the pipeline file), all in one Spark session.

    Raises ConfigError with every mistake of all files before anything runs.
    """
    known_names("test", options, ["files", *CaseOptions.__annotations__])
    wanted = options.get("case")
    named = [file_path("files", each) for each in ([files] if isinstance(files, str | Path) else files)]
    cases = read_cases(named or case_files(context.spec.path), context.spec, context.environ)
    chosen = [case for case in cases if not wanted or texts("case", wanted)[0].lower() in case.name.lower()]
    if not chosen:
        raise UsageError(
            f"no case has {wanted!r} in its name", hint=f"cases: {'; '.join(case.name for case in cases)}"
        )
    keep = None if options.get("keep") is None else file_path("keep", options.get("keep"))
    records = [*_checked(context, chosen, keep)]
    target = None if options.get("junit") is None else file_path("junit", options.get("junit"))
    failed = sum(not record["passed"] for record in records)
    record: CasesRecord = {
        "cases": records,
        "passed": len(records) - failed,
        "failed": failed,
        "kept": None if keep is None else str(keep),
        "junit": None if target is None else str(target),
    }
    if target is not None:
        target.write_text(junit(record, context.spec.name), encoding="utf-8")
    return record


def _checked(context: RunContext, cases: Sequence[Case], keep: Path | None) -> Iterator[CaseRecord]:
    with one_session():
        for number, case in enumerate(cases):
            context.progress("cases", number, len(cases))
            with _folder(case, number, keep) as folder:
                yield checked_case(case, folder, context.environ)
    context.progress("cases", len(cases), len(cases))


@contextmanager
def _folder(case: Case, number: int, keep: Path | None) -> Iterator[Path]:
    """The folder of a case: temporary, or kept below `keep` with a pipeline file for other commands."""
    if keep is None:
        with TemporaryDirectory(prefix=PREFIX) as made:
            yield Path(made)
        return
    words = re.sub(r"[^a-z0-9]+", "-", case.name.lower()).strip("-")[:60]
    folder = keep.absolute() / f"{number + 1:03}-{words}"
    if folder.exists():
        raise UsageError(f"{folder} is there already", hint="give --keep an empty folder, or a new one")
    folder.mkdir(parents=True)
    with (folder / "pipeline.yml").open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(as_file(placed(case.spec, folder)), file)
    yield folder
