"""Chromium for tests: Debian's, installed when it is absent and that may be done."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

REQUIRED = "TIDEMARK_BROWSER"
"""With the value `required` a missing browser fails the tests that need one; else they are skipped."""
PACKAGES = ("chromium",)
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
_LONGEST_INSTALL = 400


def chromium() -> str:
    """The path of Chromium; without one the test is skipped, or fails where a browser is required."""
    found = shutil.which("chromium") or _installed()
    if found is None:
        why = "Chromium was not found, and could not be installed: apt-get install chromium (Debian) needs root"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    return found


def _installed() -> str | None:
    """Install Debian's package, where apt-get is there and we are root; one process of tests at a time."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    with (Path(tempfile.gettempdir()) / "tidemark-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which("chromium") is None:
            for words in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
                environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
                command = ["apt-get", "-q", *words]
                subprocess.run(  # noqa: S603 - Debian's own
                    command, env=environ, check=False, capture_output=True, timeout=_LONGEST_INSTALL
                )
    return shutil.which("chromium")


@contextmanager
def browsing(executable: str) -> Iterator[Browser]:
    """A browser, in its sandbox where that can be: for root it can't."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, chromium_sandbox=os.geteuid() != 0)
        try:
            yield browser
        finally:
            browser.close()


def serious(page: Page) -> list[str]:
    """What axe finds wrong with a page, of those findings that keep people out."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    return [
        f"{each['id']}: {node['html']}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
