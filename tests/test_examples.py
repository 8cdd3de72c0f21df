"""Examples of random tests are the same whatever else was loaded before."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st


def examples() -> list[int]:
    found: list[int] = []

    @settings(derandomize=True, database=None, phases=[Phase.generate], max_examples=300)
    @given(st.integers(0, 10**9))
    def collect(number: int) -> None:
        found.append(number)

    collect()
    return found


def test_modules_that_are_loaded_change_no_example(tmp_path: Path, monkeypatch) -> None:
    before = examples()
    place = tmp_path / "loaded_later.py"
    place.write_text(f"NUMBERS = {[number * 7_654_321 for number in range(1, 100)]}\n")
    spec = importlib.util.spec_from_file_location("loaded_later", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "loaded_later", module)
    spec.loader.exec_module(module)
    assert examples() == before
