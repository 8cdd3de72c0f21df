"""Imports pyarrow's datasets without pandas. The first value that pyarrow makes looks for pandas, which takes a third
of a second in each command, and no table here becomes a pandas data frame. Callers that import pandas themselves get
it as usual."""

from __future__ import annotations

import sys
from collections.abc import Sequence


class _Absent:
    """Import finder that reports pandas as missing."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError(name)


def load() -> None:
    """Import pyarrow's datasets; meanwhile pandas is hidden unless it is already imported."""
    sys.meta_path.insert(0, _Absent)
    try:
        import pyarrow.dataset  # noqa: F401
    finally:
        sys.meta_path.remove(_Absent)
