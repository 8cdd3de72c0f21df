"""Batch reprocessing of event data under streaming time rules.

`tidemark.Pipeline.load(path)` gives a pipeline whose methods are the commands of `tidemark`,
and return the same records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline

__version__ = "0.1.0"
__all__ = ["Pipeline", "__version__"]


def __getattr__(name: str) -> type[Pipeline]:
    """`Pipeline`, imported when it is first asked for: `tidemark --help` needs nothing of it."""
    if name != "Pipeline":
        raise AttributeError(f"module 'tidemark' has no attribute {name!r}")
    from tidemark.pipeline import Pipeline

    return Pipeline
