"""pyarrow's datasets without pandas: the first value that pyarrow makes looks for it, which takes a third of a second
in each command, and no table here becomes a data frame of pandas. Who does import pandas gets it as ever."""

from __future__ import annotations

import sys
from collections.abc import Sequence


class _Absent:
    """Finds no pandas."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError(name)


def load() -> None:
    """Import pyarrow's datasets; while that lasts, pandas is not found by who has not imported it yet."""
    sys.meta_path.insert(0, _Absent)
    try:
        import pyarrow.dataset  # noqa: F401
    finally:
        sys.meta_path.remove(_Absent)
