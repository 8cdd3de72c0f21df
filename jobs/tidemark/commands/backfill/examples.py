"""Examples of rows and windows that a backfill changed."""

from __future__ import annotations

from tidemark.config import PipelineSpec
from tidemark.records.versions import DifferenceRecord, OutputDifference, RowsDifference
from tidemark.report.changed import changed_rows, changed_windows
from tidemark.storage import Location, dataset_of, is_table

DIFFERENCE = "difference"


def with_examples(difference: DifferenceRecord, folder: Location, spec: PipelineSpec) -> DifferenceRecord:
    """Add examples to a difference: some changed rows of each source (`examples`), and some windows of each stream of
    windows with both values (`windows`). The tables below `<folder>/difference` have all rows and windows."""
    location = folder / DIFFERENCE
    rows: dict[str, RowsDifference] = {
        name: {**found, "examples": changed_rows(dataset_of(location / "rows"), name)}
        for name, found in difference["rows"].items()
    }
    streams = {name: _with_windows(found, location, spec, name) for name, found in difference["streams"].items()}
    return {**difference, "rows": rows, "streams": streams}


def _with_windows(found: OutputDifference, location: Location, spec: PipelineSpec, name: str) -> OutputDifference:
    table = location / "streams" / name
    if not spec.streams[name].windowed or not is_table(table):
        return found
    return {**found, "windows": changed_windows(dataset_of(table), spec.streams[name].select)}
