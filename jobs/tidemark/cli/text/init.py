"""Text of the records of `init`: findings, proposals, differences, and next steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tidemark.core.shell import command
from tidemark.proposal.guesses import touched
from tidemark.report.words import brief, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.proposal import (
        CheckedSource,
        CheckRecord,
        DriftSummary,
        GuessSummary,
        InitRecord,
        SourceProposal,
    )
    from tidemark.records.runs import RowsByFate


def init_text(record: InitRecord) -> RenderableType:
    """A table of the sources, points to look at, and the next commands."""
    proposal = record["proposal"]
    sources = proposal["sources"]
    rows = sum(source["sampled"]["rows"] for source in sources.values())
    objects = sum(len(source["sampled"]["objects"]) for source in sources.values())
    summary = (
        f"Looked at {counted(rows, 'row')} in {objects:,} of {counted(proposal['objects'], 'object')},"
        f" and wrote {record['path']}: {counted(len(sources), 'source')}, each key with a remark."
    )
    notes = [f"  - {note}" for note in (*proposal["notes"], *_warnings(record))]
    parts: list[RenderableType] = [Text(summary), Text(""), _sources(sources)]
    if notes:
        parts += [Text(""), Text("\n".join(["Look at this:", *notes]))]
    guesses = ["Guessed, the most expensive first:", *map(_guess, proposal["guesses"])]
    parts += [Text(""), Text("\n".join(guesses))]
    return Group(*parts, Text(""), _next(str(record["path"])))


def _sources(sources: Mapping[str, SourceProposal]) -> Table:
    heads = ("source", "format", "objects", "event time", "arrival", "partition", "late", "out of order", "adjusted")
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in ("objects", "adjusted") else "left")
    for name, source in sources.items():
        settings, partition = source["settings"], source["partition"]
        table.add_row(
            name,
            settings["format"],
            f"{source['objects']:,}",
            settings.get("timestamp_by", "the arrival"),
            settings.get("arrival_time", "the landing"),
            "one" if partition is None else partition["column"] or partition["path"],
            *_tolerances(source),
        )
    return table


def _tolerances(source: SourceProposal) -> Iterator[str]:
    measured = source["measured"]
    if measured is None:
        yield from ("-", "-", "-")
        return
    fates = measured["fates"]
    judged = fates["on_time"] + fates["adjusted"] + fates["dropped"]
    yield "off" if measured["late_arrival"] is None else brief(measured["late_arrival"])
    yield brief(measured["out_of_order"])
    yield f"{100 * fates['adjusted'] / max(judged, 1):.1f} %"


def _guess(guess: GuessSummary) -> str:
    effect = touched(guess["rows"], guess["effect"])
    return f"  - {guess['source']}.{guess['key']}: {guess['message']} ({effect})."


def _warnings(record: InitRecord) -> Iterator[str]:
    for warning in record["warnings"]:
        yield f"{warning['key']}: {warning['message']}."


def _next(path: str) -> Table:
    table = Table.grid(padding=(0, 3))
    table.add_row("Next:", f"read {path}", "what is proposed, and why")
    table.add_row("", command("validate", path), "after you have changed it")
    table.add_row("", command("run", path, options=("--dry-run",)), "what a run would take")
    return table


def check_text(record: CheckRecord) -> RenderableType:
    """A table of the sources under their settings, and the differences."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for index, head in enumerate(("source", "objects", "rows", "on time", "adjusted", "dropped", "quarantined")):
        table.add_column(head, justify="right" if index else "left")
    for name, source in record["sources"].items():
        fates = source["fates"]
        expected = ["-"] * 4 if fates is None else [f"{count:,}" for count in _counts(fates)]
        table.add_row(name, f"{source['objects']:,}", f"{source['sampled']['rows']:,}", *expected)
    lines = [line for name, source in record["sources"].items() for line in _differences(name, source)]
    summary = "differs from what lands now:" if record["drifted"] else "fits what lands now."
    text = "\n".join([f"{record['path']} {summary}", *lines])
    return Group(Text("The newest rows of each source, as its settings judge them:"), table, Text(""), Text(text))


def _counts(fates: RowsByFate) -> tuple[int, ...]:
    return fates["on_time"], fates["adjusted"], fates["dropped"], fates["quarantined"]


def _differences(name: str, source: CheckedSource) -> Iterator[str]:
    if not source["objects"]:
        yield f"  - {name}: nothing has landed yet."
    yield from (f"  - {name}, {_difference(each)}." for each in source["drifts"])
    yield from (f"  - {name}, not compared: {each}." for each in source["unseen"])


def _difference(drift: DriftSummary) -> str:
    cost = f" ({100 * drift['share']:.1f} % of the rows)" if drift["rows"] else ""
    fate = "" if drift["effect"] in ("unread", "none") else f", {drift['effect']}"
    proposed = "" if drift["proposed"] is None else f"; would fit: {drift['proposed']}"
    return f"{drift['key']}: {drift['message']}{fate}{cost}{proposed}"
