"""Loads the pipeline of a DAG run, and warns if its file has changed since the run began.

The settings of a pipeline file are a part of its DAG's version, as a hash among the arguments of `discover`: an
edited file makes another version. But unless DAG files come from a versioned bundle, Airflow executes each task with
the present files. So `discover` records the hash, and later tasks compare.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tidemark.airflow import aws
from tidemark.config.pipeline_files import content_of

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline

_log = logging.getLogger(__name__)


def load(config: str, pinned: str | None) -> Pipeline:
    """Load the pipeline of a file as it is now. Logs a warning if the hash of its settings is not `pinned`."""
    pipeline = aws.load(config)
    if pinned and (found := content_of(pipeline.spec)) != pinned:
        _log.warning(
            "%s has changed since this DAG run began (settings %s, now %s): this task goes by the file as it is now",
            config,
            pinned,
            found,
        )
    return pipeline
