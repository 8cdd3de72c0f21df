"""Output files of reports and exports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidemark.errors import UsageError


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Yield the path of a file beside `target`, renamed at the end, so that `target` appears whole or not at all. A
    pipe or device is written directly. Raises UsageError if there is no folder or no file can be made in it."""
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it, or choose another place")
    if target.exists() and not target.is_file():
        yield target
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.touch()
    except OSError as error:
        said = f"no file can be made in {target.parent}: {error.strerror}"
        raise UsageError(said, hint="choose another folder") from None
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
