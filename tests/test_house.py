"""Names and sentences: strangers find their way (`.ci/house.py` measures)."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = runpy.run_path(str(ROOT / ".ci" / "house.py"))
MEASURES = {each.name: each for each in HOUSE["measures"]()}


@pytest.mark.parametrize("name", MEASURES)
def test_no_measure_is_over_its_limit(name):
    measure = MEASURES[name]
    assert measure.value <= measure.limit, "\n".join(measure.counted[:20])


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/glossary.md"])
def test_pages_for_newcomers_name_files_that_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = [each for each in re.findall(r"`([\w./*-]+)`", text) if "/" in each or each.endswith((".py", ".java"))]
    paths = [each for each in named if each.count("/") and not each.startswith("events/")]
    assert len(paths) > 20
    tops = (ROOT, ROOT / "jobs" / "tidemark")
    assert [each for each in paths if not any(list(top.glob(each)) for top in tops)] == []
