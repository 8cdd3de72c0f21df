"""The pipeline files that the DAG files of this folder are made from."""

from __future__ import annotations

from pathlib import Path

from tidemark.config import pipeline_files
from tidemark.config.pipeline_files import PipelineFile

DEFAULT_FOLDER = Path(__file__).parents[2] / "pipelines"


def sound() -> list[PipelineFile]:
    """The pipeline files that hold, the first of each name."""
    return list(pipeline_files.read(pipeline_files.folder(DEFAULT_FOLDER)).sound.values())


def broken() -> list[str]:
    """What is wrong with pipeline files, file by file."""
    return list(pipeline_files.read(pipeline_files.folder(DEFAULT_FOLDER)).broken.values())
