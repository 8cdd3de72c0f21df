"""Loads the pipeline of a DAG's version, and says so if its file has changed since.

Airflow keeps a version of a DAG for the runs that began under it. The settings of the pipeline file are a part of
that version, as a hash among the arguments of `discover`; an edited file makes another version.
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
    """Load the pipeline of a file as it is now. Logs a warning if its settings are not those of the hash `pinned`."""
    pipeline = aws.load(config)
    found = content_of(pipeline.spec)
    if pinned is not None and found != pinned:
        _log.warning(
            "%s has changed since this version of the DAG was made (settings %s, now %s): this task goes by the file "
            "as it is now; the next DAG run has a version of its own",
            config,
            pinned,
            found,
        )
    return pipeline
