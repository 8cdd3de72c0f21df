"""A folder to write pipeline files in."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.pipeline_files import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
