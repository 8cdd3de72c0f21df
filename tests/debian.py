"""Programs for tests that Python does not have: Debian's, installed when they are absent and that may be done."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_LONGEST_INSTALL = 400


def program(name: str, required: bool = False) -> str:
    """The path of the program of a package of this name; without it the test is skipped, or fails if it is
    required."""
    found = shutil.which(name) or _installed(name)
    if found is None:
        why = f"{name} was not found, and could not be installed: apt-get install {name} (Debian) needs root"
        if required:
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    return found


def _installed(name: str) -> str | None:
    """Install Debian's package, where apt-get is there and we are root; one process of tests at a time."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    with (Path(tempfile.gettempdir()) / "tidemark-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which(name) is None:
            for words in (["update"], ["install", "--yes", "--no-install-recommends", name]):
                environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
                command = ["apt-get", "-q", *words]
                subprocess.run(  # noqa: S603 - Debian's own
                    command, env=environ, check=False, capture_output=True, timeout=_LONGEST_INSTALL
                )
    return shutil.which(name)
