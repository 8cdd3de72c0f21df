"""Examples of rows and windows that a backfill changed."""

from __future__ import annotations

from tidemark.commands.records import Record
from tidemark.config import PipelineSpec
from tidemark.report.changed import changed_rows, changed_windows
from tidemark.storage import Place, delta_table, is_table

DIFFERENCE = "difference"


def with_examples(difference: Record, folder: Place, spec: PipelineSpec) -> Record:
    """Add examples to a difference: some changed rows of each source (`examples`), and for each stream of windows
    some windows with both values (`windows`). The tables below `<folder>/difference` have all of them."""
    place = folder / DIFFERENCE
    rows = {
        name: told | {"examples": changed_rows(delta_table(place / "rows").to_pyarrow_dataset(), name)}
        for name, told in difference["rows"].items()
    }
    streams = {name: told | _windows(place, spec, name) for name, told in difference["streams"].items()}
    return difference | {"rows": rows, "streams": streams}


def _windows(place: Place, spec: PipelineSpec, name: str) -> Record:
    table = place / "streams" / name
    if not spec.streams[name].windowed or not is_table(table):
        return {}
    return {"windows": changed_windows(delta_table(table).to_pyarrow_dataset(), spec.streams[name].select)}
