"""Data Docs: a page for each of the newest runs, beside the tables of a version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from tidemark.core.batch_result import BatchRecord
from tidemark.core.times import format_time
from tidemark.storage import Location, make, read_if_there, remove, write_bytes

FOLDER = "data_docs"
KEPT = 100
"""Number of newest runs that have a page."""
_LISTED = "runs.json"
_INDEX = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Data Docs</title><style>:root {{ color-scheme: light dark }} body {{ font: 1rem sans-serif; margin: 2rem }}
</style></head>
<body><h1>Data Docs</h1><p>Checks of the newest runs, newest first.</p>
<ul>
{}
</ul></body></html>
"""


def keep_page(root: Location, record: BatchRecord, page: str, held: bool) -> None:
    """Keep and list the page of the run that a batch ends, and remove the oldest pages beyond `KEPT`. `root` is the
    folder of a version; `held`: all checks held."""
    folder = root / FOLDER
    make(folder)
    known = json.loads(read_if_there(folder / _LISTED) or b"[]")
    own = {"batch_id": record.batch_id, "run_id": record.run_id, "as_of": format_time(record.as_of), "held": held}
    listed = [own, *(each for each in known if each["batch_id"] != record.batch_id)]
    write_bytes(folder / _name(record.batch_id), page.encode())
    write_bytes(folder / "index.html", _INDEX.format("\n".join(map(_line, listed[:KEPT]))).encode())
    write_bytes(folder / _LISTED, json.dumps(listed[:KEPT]).encode())
    for gone in listed[KEPT:]:
        remove(folder / _name(gone["batch_id"]))


def _line(run: Mapping[str, Any]) -> str:
    result = "all checks held" if run["held"] else "checks failed"
    name = escape(f"{run['run_id']}, as of {run['as_of']}")
    return f'<li><a href="{_name(run["batch_id"])}">{name}</a>: {result}</li>'


def _name(batch_id: int) -> str:
    return f"run-{batch_id}.html"
