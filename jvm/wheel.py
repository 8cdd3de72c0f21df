"""Puts the jar of the Java module into distributions (a build hook of Hatch).

`make install` compiles the jar. A source distribution carries it beside the sources that it was compiled from, so
that building a wheel needs no compiler.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface):
    """Includes the jar in source distributions and in standard wheels. An editable installation compiles it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises FileNotFoundError if the jar is missing or older than its sources."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "jobs"))
        from tidemark.spark.session.compiler import PREBUILT, is_current

        found = next(filter(is_current, self._candidates()), None)
        if found is None:
            raise FileNotFoundError("the Java module's jar is missing or older than jvm/: run `make install` first")
        inside = PREBUILT.relative_to(root / "jobs" if self.target_name == "wheel" else root)
        build_data["force_include"][str(found)] = inside.as_posix()

    def _candidates(self) -> Iterator[Path]:
        """Where the jar may be: in a source distribution, in the folder of jars, in the clone's environment."""
        from tidemark.spark.session.compiler import JAR, PREBUILT
        from tidemark.spark.session.jars import jars_folder

        yield PREBUILT
        yield jars_folder(os.environ) / JAR
        yield Path(self.root) / ".venv" / "share" / "tidemark" / "jars" / JAR
