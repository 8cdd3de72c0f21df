"""The known pipelines. A requested name is looked up here and never becomes a part of a path."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tidemark.commands.dashboard.pages import Pages
from tidemark.config import pipeline_files as files
from tidemark.config.pipeline_files import Files, PipelineFile
from tidemark.errors import TidemarkError

KEPT = 30.0
"""Seconds until a file is read again even if it has not changed: it may extend other
files, which may have changed."""

_Stat = tuple[int, int]


@dataclass(frozen=True)
class _Kept:
    stat: _Stat
    at: float
    found: PipelineFile | TidemarkError


@dataclass
class Pipelines:
    """The pipelines of a folder of files, read again when they change."""

    folder: Callable[[], Path]
    clock: Callable[[], float] = time.monotonic
    _kept: dict[Path, _Kept] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def files(self) -> Files:
        """Return all files of the folder; valid ones by the name of their pipeline."""
        with self._lock:
            return files.read(self.folder(), self._load)

    def pages(self, file: PipelineFile) -> Pages:
        """Open the tables of a pipeline as of now."""
        return Pages.open(file.spec)

    def _load(self, path: Path) -> PipelineFile:
        now = self.clock()
        try:
            found = path.stat()
        except OSError as error:
            raise TidemarkError(f"{path}: {error.strerror}") from error
        stat, kept = (found.st_mtime_ns, found.st_size), self._kept.get(path)
        if kept is None or kept.stat != stat or now - kept.at > KEPT:
            kept = self._kept[path] = _Kept(stat, now, _loaded(path))
        if isinstance(kept.found, TidemarkError):
            raise kept.found
        return kept.found


def _loaded(path: Path) -> PipelineFile | TidemarkError:
    try:
        return PipelineFile.load(path)
    except TidemarkError as error:
        return error
