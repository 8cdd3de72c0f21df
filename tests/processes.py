"""Starts Python processes that have the project's code on their path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

JOBS = Path(__file__).parents[1] / "jobs"


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a process; its output and errors are pipes of text."""
    environment = os.environ | {"PYTHONPATH": str(JOBS)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([sys.executable, *arguments], env=environment, **pipes, **options)  # noqa: S603
