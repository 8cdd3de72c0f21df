"""Text of the record of `advise`: costs of each candidate, the recommendation, and settings to paste."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tidemark.core.shell import command
from tidemark.report.advice import behind, cost, share
from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.advice import AdvisedSource, AdviseRecord, CandidateRecord, ChosenTolerances, DelayedSource

MOST_PARTITIONS = 20


def advice_text(config: Path) -> Callable[[AdviseRecord], RenderableType]:
    """Text of advice on the sources of this configuration."""

    def text(record: AdviseRecord) -> RenderableType:
        parts = [part for source in record["sources"] for part in _source(record, source)]
        parts += [part for delayed in record["delays"] for part in _delays(delayed)]
        parts += [
            Text(f"{each['source']}: no tolerances to advise on: {each['why']}.") for each in record["not_applicable"]
        ]
        if record["sources"]:
            parts.append(Text(_next(record, config)))
        return Group(*_spaced(parts))

    return text


def _source(record: AdviseRecord, source: AdvisedSource) -> Iterator[RenderableType]:
    name = source["source"]
    cells = [cell for cell in record["grid"] if cell["source"] == name]
    rows = counted(source["rows"], "row")
    yield Text(f"{name}: {rows} up to batch {record['batch_id']:,}, judged with {len(cells)} pairs of tolerances.")
    yield from _counts(cells)
    yield _grid("Output behind the latest arrival", cells, lambda cell: behind(cell["delay_micros"]))
    yield Text("[ ] the present tolerances   * recommended")
    if len(cells[0]["partitions"]) > 1:
        yield _partitions(next(cell for cell in cells if cell["present"]))
    yield Text(_present(record["present"][name]))
    if source["duplicates"]:
        besides = counted(source["duplicates"], "duplicate")
        yield Text(
            f"Besides, {besides} are dropped, whatever the tolerances: limits on dropped rows count them, too."
        )
    yield Text(source["sentence"])
    best = record["recommended"][name]
    if best is not None and not any(cell["present"] and cell["recommended"] for cell in cells):
        yield Text("\n".join(f"    {line}" for line in best["yaml"].splitlines()))
    yield Text(source["confidence"])
    if not source["whole"]:
        yield Text("Rows and runs that retention has deleted are not counted; rows soon after them may differ.")


def _delays(delayed: DelayedSource) -> Iterator[RenderableType]:
    """Costs of each delay of a punctuated source, a line each."""
    yield Text(f"{delayed['source']}: {counted(delayed['rows'], 'row')}, with {len(delayed['delays'])} delays.")
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for heading in ("delay", "rows behind", "share", "output behind the latest arrival"):
        table.add_column(heading, justify="right")
    for each in delayed["delays"]:
        output = each["output_delay_micros"]
        mark = ("[{}]" if each["present"] else "{}").format(("*" if each["recommended"] else "") + each["delay"])
        cost = (f"{each['violations']:,}", share(each["violations"], delayed["rows"]))
        table.add_row(mark, *cost, "not known" if output is None else behind(output))
    yield table
    yield Text("[ ] the present delay   * recommended")
    yield Text(delayed["sentence"])


def _counts(cells: Sequence[CandidateRecord]) -> Iterator[Group]:
    """Grids of counts; only one grid if adjusting and dropping would affect equally many rows."""
    if [*map(_adjusted, cells)] == [*map(_dropped, cells)]:
        yield _grid("Rows adjusted or dropped, whichever is done to late and out-of-order rows", cells, _adjusted)
        return
    yield _grid("Rows adjusted, if late and out-of-order rows are adjusted", cells, _adjusted)
    yield _grid("Rows dropped, if late and out-of-order rows are dropped", cells, _dropped)


def _adjusted(cell: CandidateRecord) -> str:
    return share(cell["adjusted"], cell["rows"])


def _dropped(cell: CandidateRecord) -> str:
    return share(cell["dropped"], cell["rows"])


def _grid(title: str, cells: Sequence[CandidateRecord], text_of: Callable[[CandidateRecord], str]) -> Group:
    """A table with a line for each late tolerance and a column for each out-of-order tolerance."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
    table.add_column("late \\ out_of_order")
    for disorder in dict.fromkeys(cell["out_of_order"] for cell in cells):
        table.add_column(f"{disorder} ", justify="right")
    for late in dict.fromkeys(cell["late"] for cell in cells):
        table.add_row(late, *(_marked(cell, text_of(cell)) for cell in cells if cell["late"] == late))
    return Group(Text(title), table)


def _marked(cell: CandidateRecord, text: str) -> str:
    return f"[{text}]" if cell["present"] and not cell["recommended"] else _starred(cell, text)


def _starred(cell: CandidateRecord, text: str) -> str:
    if not cell["recommended"]:
        return f"{text} "
    return f"[*{text}]" if cell["present"] else f"*{text} "


def _partitions(cell: CandidateRecord) -> Table:
    """Costs of the present tolerances by partition, partitions with most adjusted or dropped rows first."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    table.add_column("partition, at present")
    for column in ("rows", "adjusted", "dropped"):
        table.add_column(column, justify="right")
    parts = sorted(cell["partitions"].items(), key=lambda part: (-part[1]["adjusted"] - part[1]["dropped"], part[0]))
    for name, fates in parts[:MOST_PARTITIONS]:
        own = fates["own"]
        table.add_row(name, *(f"{count:,}" for count in (fates["rows"], own["adjusted"], own["dropped"])))
    if len(parts) > MOST_PARTITIONS:
        table.add_row(f"{len(parts) - MOST_PARTITIONS:,} more", "", "", "")
    return table


def _present(cell: ChosenTolerances) -> str:
    own = cost(cell["rows"], cell["own"]["adjusted"], cell["own"]["dropped"], cell["delay_micros"])
    return f"At present (late {cell['late']}, out_of_order {cell['out_of_order']}): {own}."


def _next(record: AdviseRecord, config: Path) -> str:
    if not record["kept"]:
        return "A run holds the pipeline: this advice was not kept for the report."
    return f"Next: {command('report', config)} draws it."


def _spaced(parts: Sequence[RenderableType]) -> Iterator[RenderableType]:
    for number, part in enumerate(parts):
        if number:
            yield Text("")
        yield part
