"""The pipeline files that this folder's DAG files are made from."""

from __future__ import annotations

from pathlib import Path

from tidemark.config import pipeline_files
from tidemark.config.pipeline_files import PipelineFile

DEFAULT_FOLDER = Path(__file__).parents[2] / "pipelines"


def sound() -> list[PipelineFile]:
    """Return the valid pipeline files, the first of each name."""
    return list(pipeline_files.read(pipeline_files.folder(DEFAULT_FOLDER)).sound.values())


def broken() -> list[str]:
    """Return the errors of invalid pipeline files, file by file."""
    return list(pipeline_files.read(pipeline_files.folder(DEFAULT_FOLDER)).broken.values())
