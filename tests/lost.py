"""A pipeline all of whose tables have rows, in a file, so that tests can damage a copy without making it.

`python tests/lost.py` makes `tests/data/lost.tar.gz` with the code as it is.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

import plain_checks
import stored
from tidemark.pipeline import Pipeline

ARCHIVE = Path(__file__).parent / "data" / "lost.tar.gz"
CONFIG = stored.CONFIG.lstrip().replace("pipeline: stored\n", "pipeline: stored\nstart: 2026-01-01T00:00:16Z\n")
RUNS = 4
SPARK = (
    "events/readings",
    "events/kept",
    "events/gates",
    "streams/good",
    "streams/per_5s",
    "streams/passing",
    "dead_letters/per_5s",
    "before_start/per_5s",
    "substreams",
    "lifetimes/gates",
    "open_lifetimes/gates",
)
SMALL = ("objects", "watermarks", "diagnostics", "quality")


def place(folder: Path, table: str) -> Path:
    """The folder of a table."""
    root = folder / stored.LIVE
    return root.parent / table if table == "versions" else root / table


def unpacked(folder: Path) -> Path:
    """A copy of the pipeline, with the objects of one more run in landing."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    stored.land(folder, RUNS + 1)
    return folder


def main() -> None:
    """Make the file."""
    plain_checks.use(setattr)
    with tempfile.TemporaryDirectory() as name, tarfile.open(ARCHIVE, "w:gz") as archive:
        folder = Path(name)
        (folder / "pipeline.yml").write_text(CONFIG)
        for run in range(1, RUNS + 1):
            stored.land(folder, run)
            Pipeline.load(folder / "pipeline.yml", {}).run(stored.as_of(run), run_id=f"run-{run}")
        archive.add(folder, arcname=".")


if __name__ == "__main__":
    main()
