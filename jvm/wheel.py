"""Puts the jar of the Java module into a wheel, as `make install` has compiled it (a build hook of Hatch)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface):
    """Includes the jar in standard wheels. An editable installation compiles it from the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises FileNotFoundError if the jar is missing or older than its sources."""
        if version != "standard":
            return
        sys.path.insert(0, str(Path(self.root) / "jobs"))
        from tidemark.spark.session.compiler import JAR, PREBUILT, is_current
        from tidemark.spark.session.jars import jars_folder

        jar = jars_folder() / JAR
        if not is_current(jar):
            raise FileNotFoundError(f"{jar} is missing or older than jvm/: run `make install` first")
        package = PREBUILT.relative_to(Path(self.root) / "jobs").as_posix()
        build_data["force_include"][str(jar)] = package
