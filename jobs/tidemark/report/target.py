"""Files that reports and exports are written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidemark.errors import UsageError


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Where to write what is to appear at `target` whole or not at all: beside it, renamed when that is done. A pipe
    or device is written as it is. Raises UsageError where there is no folder."""
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it, or choose another place")
    if target.exists() and not target.is_file():
        yield target
        return
    place = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield place
        place.replace(target)
    finally:
        place.unlink(missing_ok=True)
