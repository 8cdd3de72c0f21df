"""How a run is cut into micro-batches where nothing else is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemark.config import load_pipeline
from tidemark.core.batch import LandedObject
from tidemark.ledger.ledger import Ledger
from tidemark.runner.planner import AUTO_FILES, Planning

FILE = """
pipeline: cut
sources: {s: {landing: ./landing, format: json, schema: "n INT"}}
"""


def batches(tmp_path: Path, count: int, more: str = "", asked: int | None = None) -> list[int]:
    file = tmp_path / "cut.yml"
    file.write_text(FILE + more)
    objects = [LandedObject("s", f"{number:06d}", 10, 1, "t") for number in range(count)]
    planning = Planning(load_pipeline(file, {}).spec, Ledger(tmp_path / "w"), lambda *_: None)
    return [len(batch.objects) for batch in planning.cut(objects, 1, asked)]


def test_no_micro_batch_has_more_objects_than_memory_is_sure_to_hold(tmp_path):
    assert batches(tmp_path, 2 * AUTO_FILES + 1) == [AUTO_FILES, AUTO_FILES, 1]
    assert batches(tmp_path, AUTO_FILES + 1, "micro_batch: {max_bytes: 1GB}\n") == [AUTO_FILES, 1]


@pytest.mark.parametrize(
    ("more", "asked", "sizes"),
    [
        ("", 3, [3, 2]),
        ("micro_batch: {max_files: 20000}\n", None, [5]),
        ("micro_batch: {max_files: 4}\n", 2, [2, 2, 1]),
        ("micro_batch: {max_bytes: 25}\n", None, [2, 2, 1]),
    ],
)
def test_what_is_asked_for_counts(tmp_path, more, asked, sizes):
    assert batches(tmp_path, 5, more, asked) == sizes
