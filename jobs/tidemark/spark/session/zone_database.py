"""The version of the time zone database that Python's `zoneinfo` reads; calendar windows follow it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from zoneinfo import TZPATH

_VERSION_FILES = ("+VERSION", "tzdata.zi")
"""Files of a system's database whose first line is, or ends with, its version."""


def database() -> str:
    """The version, such as 2026a; `unknown` if the system's database does not say, `none` if there is none."""
    for folder in map(Path, TZPATH):
        if folder.is_dir():
            return _version_in(folder)
    try:
        return version("tzdata")
    except PackageNotFoundError:
        return "none"


def _version_in(folder: Path) -> str:
    for path in (folder / name for name in _VERSION_FILES):
        if path.is_file():
            with path.open(encoding="utf-8") as file:
                return file.readline().split()[-1]
    return "unknown"
