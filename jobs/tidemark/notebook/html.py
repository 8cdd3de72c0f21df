"""HTML of records and pipelines for notebooks: a sentence, then a table. All text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidemark.notebook.result import Result
    from tidemark.pipeline import Pipeline

SHOWN = 20
"""Rows of a table that are shown."""
_CELL = "text-align:left;vertical-align:top;font-variant-numeric:tabular-nums"


def table_of(result: Result[Any]) -> str:
    """The rows of a result, without columns that are empty in all of them."""
    found = result.arrow()
    total = result["total"] if result.rows_key == "rows" and "total" in result else found.num_rows
    names = [name for name in found.column_names if found[name].null_count < found.num_rows]
    rows = [[row[name] for name in names] for row in found.slice(0, SHOWN).to_pylist()]
    more = "" if total <= len(rows) else f", {len(rows):,} of {total:,} shown"
    return f"<p><strong>{_text(result.title)}</strong>{more}</p>{_table(names, rows)}"


def pipeline_html(pipeline: Pipeline) -> str:
    """What a pipeline is made of, and how far it has come."""
    spec, status = pipeline.spec, pipeline.status()
    come = {source["source"]: source["watermark"] for source in status["sources"]}
    sources = [[name, source.format, source.landing, come.get(name)] for name, source in spec.sources.items()]
    streams = [[name, ", ".join(step.inputs), step.published] for name, step in spec.streams.items()]
    state = status["standing"]["sentence"] or f"{status['standing']['state']}, as of {status['as_of'] or 'never'}"
    return (
        f"<p><strong>Pipeline {_text(spec.name)}</strong>: {_text(state)}</p>"
        + _table(["source", "format", "landing", "watermark"], sources)
        + (_table(["stream", "reads", "published"], streams) if streams else "")
    )


def page_html(path: str) -> str:
    """A page that was written, in a frame of its own: its styles stay in it."""
    page = escape(Path(path).read_text(encoding="utf-8"))
    return f'<iframe srcdoc="{page}" style="width:100%;height:900px;border:0" sandbox="allow-scripts"></iframe>'


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    head = "".join(f'<th style="{_CELL}">{_text(name.replace("_", " "))}</th>' for name in names)
    lines = ("".join(f'<td style="{_CELL}">{_text(_plain(value))}</td>' for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _text(value: object) -> str:
    from tidemark.report.text import safe  # only where HTML is made

    return escape(safe(str(value)))
