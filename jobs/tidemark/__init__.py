"""Batch reprocessing of event data under streaming time rules.

`tidemark.Pipeline.load(path)` gives a pipeline whose methods are the commands of `tidemark`,
and return their records. `tidemark.init(landing)` writes the configuration of a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidemark.commands.init import init
    from tidemark.pipeline import Pipeline

__version__ = "0.1.0"
__all__ = ["Pipeline", "__version__", "init"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 # a class or a function
    """Import `Pipeline` or `init` when it is first used: `tidemark --help` needs neither."""
    match name:
        case "Pipeline":
            from tidemark.pipeline import Pipeline

            return Pipeline
        case "init":
            from tidemark.commands.init import init

            return init
    raise AttributeError(f"module 'tidemark' has no attribute {name!r}")
