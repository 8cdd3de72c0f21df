"""Finds the files of test cases of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tidemark.config.pipeline_files import CASES, has_cases
from tidemark.core.shell import command
from tidemark.errors import UsageError


def case_files(config: Path) -> list[Path]:
    """The files of cases beside a pipeline file, sorted by name.

    Files that belong to another pipeline file are left out: if rates.yml exists, rates.test.yml and
    rates.night.test.yml belong to it. Raises UsageError if no file is found.
    """
    folder = config.parent
    beside = sorted(path for path in folder.iterdir() if path.name.endswith((".yml", ".yaml")))
    stems = {path.name.rpartition(".")[0] for path in beside if not has_cases(path)} - {
        config.name.rpartition(".")[0]
    }
    found = [path for path in beside if has_cases(path) and not _is_of(path, stems)]
    if not found:
        own = config.name.rpartition(".")[0] + CASES[0]
        raise UsageError(
            f"there are no cases beside {config}",
            hint=f"write {folder / own}, or record it: {command('test', config, options=('--record',))}",
        )
    return found


def _is_of(path: Path, stems: Iterable[str]) -> bool:
    return any(path.name.startswith(f"{stem}.") for stem in stems)
