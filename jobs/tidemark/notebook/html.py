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
    return _titled(result.title, more) + _table(names, rows)


def pipeline_html(pipeline: Pipeline) -> str:
    """The sources and streams of a pipeline, and its progress."""
    spec, status = pipeline.spec, pipeline.status()
    come = {source["source"]: source["watermark"] for source in status["sources"]}
    sources = [[name, source.format, source.landing, come.get(name)] for name, source in spec.sources.items()]
    streams = [[name, ", ".join(step.inputs), step.published] for name, step in spec.streams.items()]
    state = status["standing"]["sentence"] or f"{status['standing']['state']}, as of {status['as_of'] or 'never'}"
    return (
        _titled(f"Pipeline {spec.name}", f": {state}")
        + _table(["source", "format", "landing", "watermark"], sources)
        + (_table(["stream", "reads", "published"], streams) if streams else "")
    )


def page_html(path: str) -> str:
    """A page that was written, in its own frame, so that its styles stay inside."""
    page = escape(Path(path).read_text(encoding="utf-8"))
    return f'<iframe srcdoc="{page}" style="width:100%;height:900px;border:0" sandbox="allow-scripts"></iframe>'


def _titled(title: str, more: str) -> str:
    from tidemark.report.page.markup import element, paragraph  # only where HTML is made

    return paragraph(element("strong", title), more)


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    from tidemark.report.page.markup import element  # only where HTML is made

    head = element("tr", *(element("th", name.replace("_", " "), style=_CELL) for name in names))
    lines = (element("tr", *(element("td", _plain(value), style=_CELL) for value in row)) for row in rows)
    return element("table", element("thead", head), element("tbody", *lines))


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
