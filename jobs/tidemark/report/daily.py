"""One page a pipeline and day: what became of rows, run by run, and how far partitions have come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

Record = Mapping[str, Any]
_FATES = ("rows", "on_time", "adjusted", "dropped", "quarantined")
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 2rem }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid #8884; text-align: left; white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums }
@media print { body { margin: 0; max-width: none } }
"""


def page(status: Record) -> str:
    """A whole HTML page of a pipeline's status, without anything from elsewhere; all its text is escaped."""
    runs = status["runs"]
    title = f"{status['pipeline']}: what became of rows, as of {status['as_of'] or 'no run yet'}"
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(_summary(runs))}</p>",
            "<h2>Runs, newest first</h2>",
            *_table(("run", "as of", *map(_words, _FATES)), map(_run, runs)),
            "<h2>Partitions</h2>",
            *_table(
                ("source", "partition", "watermark", "behind", "idle for"), map(_partition, status["partitions"])
            ),
            "</body></html>",
            "",
        ]
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _summary(runs: Sequence[Record]) -> str:
    totals = {fate: sum(run[fate] for run in runs) for fate in _FATES}
    if not totals["rows"]:
        return "No row came in these runs."
    told = ", ".join(f"{totals[fate]:,} {_words(fate)}" for fate in _FATES[1:])
    return f"{totals['rows']:,} rows came in {len(runs)} runs: {told}."


def _run(run: Record) -> list[object]:
    return [run["run_id"], run["as_of"], *(run[fate] for fate in _FATES)]


def _partition(entry: Record) -> list[object]:
    return [entry[key] for key in ("source", "partition", "watermark", "watermark_delay", "idle_for")]


def _table(heads: Iterable[str], rows: Iterable[list[object]]) -> list[str]:
    lines = ['<div class="wide"><table><thead><tr>', *(f"<th>{escape(head)}</th>" for head in heads)]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = (
            f'<td class="number">{value:,}</td>'
            if isinstance(value, int)
            else f"<td>{escape(str(value or '-'))}</td>"
            for value in row
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return [*lines, "</tbody></table></div>"]
