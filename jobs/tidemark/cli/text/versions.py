"""Texts of the records of commands on versions, and on damaged or wrong tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group

from tidemark.cli.output import Verbatim
from tidemark.cli.text.layout import table_of
from tidemark.core.policy import FATES
from tidemark.core.shell import command
from tidemark.report.changed import window_text
from tidemark.report.words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidemark.records.versions import (
        BackfillRecord,
        DifferenceRecord,
        ExcludeRecord,
        FateSides,
        PromoteRecord,
        RegisterRecord,
        RepairRecord,
        VersionsRecord,
    )

_WINDOWS = 3
"""Number of changed windows of a stream that are shown; its table has all of them."""


def backfill_text(config: Path) -> Callable[[BackfillRecord], RenderableType]:
    """Text of a backfill: the version that it built, and the differences."""

    def text(record: BackfillRecord) -> RenderableType:
        to = f"to {record['to']}" if record["to"] else f"to the last run (batch {record['through']})"
        how = "read from landing again" if record["from_landing"] else "judged again"
        made = (
            f"Version {record['version']} is built beside version {record['base']}: outputs from {record['from']} "
            f"{to}, {counted(record['input_rows'], 'row')} {how}."
        )
        if record["identical"]:
            return Group(made, "", "Nothing came out otherwise.", "", _next(config, record["version"]))
        found = record["difference"]
        where = f"Rows and outputs that differ are tables in {record['path']}/difference."
        parts = [_fates(found.get("fates")), *_changed(found), *_excluded(found), where]
        parts.append(_next(config, record["version"]))
        return Group(made, *(line for part in parts for line in ("", part)))

    return text


def versions_text(config: Path) -> Callable[[VersionsRecord], RenderableType]:
    """Text of the versions, as a table."""

    def text(record: VersionsRecord) -> RenderableType:
        if not record["versions"]:
            return f"No version is recorded yet: the first run makes one. Next: {command('run', config)}"
        labelled = ["label"] * any(each["label"] for each in record["versions"])
        table = table_of("version", "", "made", "from", "to", "base", "input", "settings", *labelled)
        for each in record["versions"]:
            to = each["to"] or ("the last run" if each["from"] else "")
            live, base = "live" if each["live"] else "", "" if each["base"] is None else str(each["base"])
            settings = (each["fingerprint"] or "")[:12]
            rows = "landing" if each["from_landing"] or not base else "events"
            cells = (str(each["version"]), live, each["created"], each["from"] or "", to, base, rows, settings)
            table.add_row(*cells, *(each["label"] or "" for _ in labelled))
        return table

    return text


def promote_text(config: Path) -> Callable[[PromoteRecord], RenderableType]:
    """Text of a promotion: the version is live, and the settings that the file should have."""

    def text(record: PromoteRecord) -> RenderableType:
        version, before = record["version"], record["before"]
        if version == before:
            return Group(f"Version {version} is live already: nothing was changed.", *record["names"])
        added = record["brought_up"]
        first = f", after {counted(len(added), 'batch', 'es')} that it lacked" if added else ""
        lines = [f"Version {version} is live{first}."]
        if record["edit"]:
            edit = f"Its settings were others: set each key in {config} to what it was, or the next run is refused."
            lines += ["", edit, *(f"  {line}" for line in record["edit"])]
        lines += ["", *record["names"]] if record["names"] else []
        return Group(*lines, "", f"To undo it: {command('promote', config, before)}")

    return text


def register_text(record: RegisterRecord) -> RenderableType:
    """Text of a registration: either only the statements for a person to run, or the views that follow."""
    if record["statements"]:
        return Verbatim("\n".join(f"{statement};" for statement in record["statements"]))
    follows = "There are no links here, so that no path follows `promote`."
    if record["published"]:
        follows = f"{record['published']}/TABLE follows `promote`."
    table = table_of("table", "view that follows `promote`")
    for each in record["tables"]:
        table.add_row(each["table"], each["name"])
    return Group(follows, *([Group("", table)] if record["tables"] else []), *record["names"])


def exclude_text(config: Path) -> Callable[[ExcludeRecord], RenderableType]:
    """Text of an exclusion: the object is recorded as wrong, and the command that takes its rows out."""

    def text(record: ExcludeRecord) -> RenderableType:
        where = ", ".join(f"batch {each['batch_id']} of source {each['source']}" for each in record["sources"])
        return Group(
            f"{record['uri']} is recorded as wrong ({record['reason']}); it was taken by {where}.",
            "Its rows are quarantined in the version that the next backfill builds. Next:",
            f"  {command('backfill', config, options=('--from', 'T0'))}    (T0: no later than the first of its rows)",
        )

    return text


def repair_text(config: Path) -> Callable[[RepairRecord], RenderableType]:
    """Text of a repair: tables that were damaged, rebuilt, and left."""

    def text(record: RepairRecord) -> RenderableType:
        if not record["damaged"] and not record["rewritten"]:
            return "Every file of every table is there and can be read: nothing was changed."
        lines: list[RenderableType] = [f"{name}: {why}" for name, why in record["damaged"].items()]
        for each in record["rewritten"]:
            files = counted(each["files"], "file")
            lines.append(f"{each['table']}: {files} that not all readers could read, written again as they were.")
        if record["repaired"]:
            table = table_of("rebuilt", "batches>", "rows>", "from")
            for made in record["repaired"]:
                table.add_row(made["table"], f"{len(made['batches']):,}", f"{made['rows']:,}", made["input"])
            lines += ["", table]
        if record["left"]:
            lines += ["", "Not rebuilt:", *(f"  {left['table']}: {left['why']}" for left in record["left"])]
        if record["kept"]:
            lines += ["", f"What could not be read is kept in {record['kept']}."]
        return Group(*lines, f"Next: {command('replay', config, options=('--all',))}")

    return text


def _fates(fates: FateSides | None) -> RenderableType:
    """Counts by fate, before and after, of the batches that were computed again."""
    table = table_of("source", "", *(f"{fate.replace('_', ' ')}>" for fate in FATES))
    for source, before in fates["before"].items() if fates else ():
        table.add_row(source, "before", *(f"{before.get(fate, 0):,}" for fate in FATES))
        after = fates["after"].get(source, {}) if fates else {}
        table.add_row("", "after", *(f"{after.get(fate, 0):,}" for fate in FATES))
    return table


def _changed(found: DifferenceRecord) -> list[str]:
    lines = []
    for source, rows in found["rows"].items():
        ways = ", ".join(f"{way} {count:,}" for way, count in rows["fates"].items())
        crossing = f"; {rows['crossing']:,} cross an end of the range" if rows["crossing"] else ""
        lines.append(f"{source}: {counted(rows['changed'], 'row')} otherwise ({ways}){crossing}.")
    for outputs, what in ((found["streams"], "row"), (found["dead_letters"], "dead letter")):
        for name, changes in outputs.items():
            lines.append(f"{name}: {counted(changes['gone'], what)} no more, {changes['new']:,} new.")
            lines += [f"  {window_text(each)}" for each in changes.get("windows", ())[:_WINDOWS]]
    return lines


def _next(config: Path, version: int) -> str:
    return f"Next: {command('promote', config, version)}"


def _excluded(found: DifferenceRecord) -> Iterator[str]:
    """Effects of the backfill on excluded objects."""
    for each in found.get("excluded", ()):
        text = f"{each['uri']} of source {each['source']}: {counted(each['rows'] - each['left'], 'row')} excluded"
        left = f"; {counted(each['left'], 'row')} stand, whose time is outside of the range" if each["left"] else ""
        yield f"{text}{left}."
