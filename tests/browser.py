"""Chromium for tests: Debian's, installed when it is absent and that may be done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Browser, Page, sync_playwright

from debian import program

REQUIRED = "TIDEMARK_BROWSER"
"""With the value `required` a missing browser fails the tests that need one; else they are skipped."""
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")


def chromium() -> str:
    """The path of Chromium; without one the test is skipped, or fails where a browser is required."""
    return program("chromium", required=os.environ.get(REQUIRED) == "required")


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
