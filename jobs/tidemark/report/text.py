"""Command results as text for people: for a terminal of any width, with colours only as an extra.

Values from data are shown as text, never as markup, and terminal control characters are escaped.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tidemark.core.shell import command
from tidemark.core.times import parse_time
from tidemark.records.rows import BlockedRows, ExplainRecord, FoundRow, GroupsRecord, RowsRecord
from tidemark.records.status import StatusRecord
from tidemark.report.words import brief, moment_of

FATE_STYLES = {"on_time": "green", "adjusted": "yellow", "dropped": "red", "quarantined": "magenta"}
WIDE = 110
"""Fewest columns of a terminal where lists of rows also show batches, files and fractions of a second of arrivals."""
WIDE_STATUS = 130
"""Fewest columns of a terminal where lists of partitions also show their last and their estimated arrival."""

_MOST_REASONS = 5
_FULL: Mapping[str, Any] = {"no_wrap": True}
_NUMBER: Mapping[str, Any] = {"no_wrap": True, "justify": "right"}
_CUT: Mapping[str, Any] = {"min_width": 5}


def rows_view(result: RowsRecord, width: int, config: str = "CONFIG") -> RenderableType:
    """Show the result of `find_rows`: one line for each row, newest first, and the
    command that explains the first."""
    rows = result["rows"]
    total = result["total"]
    gone = result.get("gone", 0)
    if gone:
        lost = f"{gone:,} dead letters are not shown: their rows are no longer in events, see retention.events."
        return Group(rows_view({**result, "gone": 0}, width, config), Text(lost))
    if "blocked" in result:
        others: RowsRecord = {"rows": rows, "total": total, "truncated": result["truncated"]}
        return Group(rows_view(others, width, config), Text(unread(result)))
    if not total:
        return Text("No row matches.")
    if not rows:
        return Text(f"{total:,} rows match.")
    several = len({row["source"] for row in rows}) > 1
    wide = width >= WIDE
    columns = _row_columns(several=several, windowed="window_start" in rows[0], wide=wide)
    table = _table(columns, wide=wide)
    for row in rows:
        table.add_row(*_row_cells(row, several=several, wide=wide))
    shown = f"{total:,} rows match" if total != 1 else "1 row matches"
    more = f", the newest {len(rows):,} are shown" if result["truncated"] else ""
    first = rows[0]
    story = command("explain", config, first["source"], first["partition"], first["offset"])
    return Group(table, Text(f"{shown}{more}. The story of the first one:"), _command(story, width))


def _row_columns(*, several: bool, windowed: bool, wide: bool) -> list[tuple[str, Mapping[str, Any]]]:
    """Headings of the table of rows, with how each is shown."""
    cut = _FULL if wide else _CUT
    return [
        *([("source", _CUT)] * several),
        ("part.", _CUT),
        ("offset", _NUMBER),
        ("arrival (UTC)", _FULL),
        ("event is", cut),
        ("fate", _FULL),
        ("why", cut),
        ("moved", _NUMBER),
        *([("late for window (UTC)", _FULL)] * windowed),
        *([("batch", _NUMBER), ("file", _CUT)] * wide),
    ]


def unread(result: BlockedRows) -> str:
    """Say which batches were not looked at, since quality blocks their run; empty if there are none."""
    return f"Not looked at: {result['blocked']}." if "blocked" in result else ""


def groups_view(result: GroupsRecord) -> RenderableType:
    """Show the result of `count_rows`: one line for each group, the largest first."""
    return Group(_groups(result), *(Text(each) for each in (unread(result),) if each))


def _groups(result: GroupsRecord) -> RenderableType:
    if not result["total"]:
        return Text("No row matches.")
    table = _table([*((name, _CUT) for name in result["by"]), ("rows", _NUMBER)], wide=True)
    for each in result["groups"]:
        group: Mapping[str, object] = each
        names = ("none" if group[name] is None else str(group[name]).replace("_", " ") for name in result["by"])
        table.add_row(*map(_cell, names), _cell(f"{each['rows']:,}"))
    more = f"; the {len(result['groups']):,} largest groups are shown" if result["truncated"] else ""
    return Group(table, Text(f"{result['total']:,} {'rows match' if result['total'] != 1 else 'row matches'}{more}."))


def explanation_view(record: ExplainRecord) -> RenderableType:
    """Show the result of `Explanation.record`: one paragraph for each sentence, the result in the fate's colour."""
    style = FATE_STYLES.get(record["row"]["disposition"], "")
    lines: list[RenderableType] = []
    for number, sentence in enumerate(record["sentences"]):
        stands_out = sentence.startswith(("Result:", "It was quarantined"))
        text = Text(safe(sentence), style=f"bold {style}" if stands_out else "")
        lines.append(_indented(text) if number else text)
    return Group(*lines)


def status_view(record: StatusRecord, width: int) -> RenderableType:
    """Show the result of `status`: one line for each partition, the reasons that hold sources back, last runs, and
    the next command."""
    parts: list[RenderableType] = [*_standing(record, width)]
    if record["as_of"] is None:
        return Group(*parts, Text("No run is committed yet." if parts else "Nothing has run yet."))
    parts += [
        Text(f"As of {moment_of(record['as_of'])} (UTC), the time of the last run"),
        Text(),
    ]
    for each in record.get("abandoned", ()):
        parts += [Text(safe(f"Run {each['run_id']} is {each['status']}: {each['reason']}")), Text()]
    for damage in record.get("damaged", ()):
        sentence = f"The table {damage['table']} is damaged: {damage['why']}. `tidemark repair` mends it."
        parts += [Text(safe(sentence), style="bold"), Text()]
    for sentence in (*record.get("failed", ()), *record.get("names", ())):
        parts += [Text(safe(sentence), style="bold"), Text()]
    parts.append(_partitions(record, wide=width >= WIDE_STATUS))
    if record["truncated"]:
        parts.append(Text(f"Only {len(record['partitions']):,} partitions are shown."))
    parts += [Text(), *_sources(record), *_streams(record)]
    if record["runs"]:
        parts += [Text(), _runs(record["runs"], wide=width >= WIDE)]
    commands = [run["command"] for run in record["runs"] if run["command"]]
    if commands:
        parts += [Text(), Text("Which rows were dropped, and why:"), _command(commands[0], width)]
    if chain := record.get("chain"):
        parts += [Text(), Text(f"Head of the chain of batches: {chain}")]
    return Group(*parts)


def _standing(record: StatusRecord, width: int) -> Iterator[RenderableType]:
    """Yield the state of the uncommitted run: its cause, the failed checks, and the commands to continue with."""
    found = record.get("standing")
    if found is None or not found["sentence"]:
        return
    yield Text(safe(found["sentence"]), style="bold")
    yield from (_indented(Text(safe(each))) for each in found["failed"])
    yield from (_command(each, width) for each in found["commands"])
    yield Text()


def safe(value: object) -> str:
    """Return text without effect on a terminal: unprintable characters are escaped as in Python."""
    text = str(value)
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _table(columns: Iterable[tuple[str, Mapping[str, Any]]], *, wide: bool) -> Table:
    """Return a table whose `_CUT` columns are shortened first when it is too wide."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, int(wide), 0, 0))
    for title, options in columns:
        table.add_column(title, overflow="ellipsis", **options)
    return table


def _cell(value: object, style: str = "") -> Text:
    return Text(safe(value), style=style, no_wrap=True, overflow="ellipsis")


def _indented(view: RenderableType) -> RenderableType:
    return Padding(view, (0, 0, 0, 2))


def _command(line: str, width: int) -> RenderableType:
    """Return a command on its own line, without trailing blanks. A long one continues after a backslash, so that it
    can be copied; a quoted word stays whole."""
    whole = safe(line)
    if len(whole) <= width - 2:
        return Text(f"  {whole}", style="bold")
    lines = ["  tidemark"]
    for word in map(shlex.quote, shlex.split(whole)[1:]):
        if len(lines[-1]) + len(word) > width - 3:
            lines.append("   ")
        lines[-1] += f" {word}"
    return Text(" \\\n".join(lines), style="bold")


def _second(text: str | None) -> str:
    """Return a time without the fraction of its second."""
    return moment_of(text).partition(".")[0]


def _row_cells(row: FoundRow, *, several: bool, wide: bool) -> Iterator[Text]:
    style = FATE_STYLES.get(row["disposition"], "")
    if several:
        yield _cell(row["source"])
    yield _cell(row["partition"])
    yield _cell(row["offset"])
    yield _cell(moment_of(row["arrival_time"]) if wide else _second(row["arrival_time"]))
    yield _cell(_distance(row))
    yield _cell(row["disposition"].replace("_", " "), style)
    yield _cell(", ".join(row["reasons"]).replace("_", " "))
    moved = row["moved_micros"]
    yield _cell("" if not moved else f"{'+' if moved > 0 else ''}{brief(moved)}", style)
    if "window_start" in row:
        start = moment_of(row["window_start"])
        yield _cell(f"{start} to {moment_of(row['window_end'], start.partition(' ')[0])}")
    if wide:
        yield _cell(row["batch_id"])
        yield _cell(row["file"] or "")


def _distance(row: FoundRow) -> str:
    """Return in words how far the event time is before or after the arrival."""
    if row["event_time"] is None or row["arrival_time"] is None:
        return ""
    gap = parse_time(row["event_time"]) - parse_time(row["arrival_time"])
    return f"{brief(abs(gap))} {'after' if gap > 0 else 'before'}" if gap else "the same"


def _partitions(record: StatusRecord, *, wide: bool) -> Table:
    columns = [
        ("source", _CUT),
        ("part.", _CUT),
        ("watermark (UTC)", _FULL),
        ("watermark\ndelay", _NUMBER),
        ("idle for", _NUMBER),
    ]
    columns += [("rows", _NUMBER), *([("last arrival", _FULL), ("estimated arrival", _FULL)] * wide), ("", _FULL)]
    table = _table(columns, wide=wide)
    for entry in record["partitions"]:
        held = entry["holds_back"]
        mark = "complete" if entry["complete"] else _second(entry["watermark"])
        cells = [_cell(entry["source"]), _cell(entry["partition"]), _cell(mark, "yellow" if held else "")]
        cells += [_cell(_brief(each)) for each in (entry["watermark_delay_micros"], entry["idle_for_micros"])]
        cells.append(_cell(f"{entry['rows']:,}"))
        if wide:
            cells += [_cell(_second(each)) for each in (entry["last_arrival"], entry["estimated_arrival"])]
        table.add_row(*cells, _cell("holds back" if held else "", "yellow"))
    return table


def _brief(micros: int | None) -> str:
    return "" if micros is None else brief(micros)


def _sources(record: StatusRecord) -> Iterator[RenderableType]:
    why = {(entry["source"], entry["partition"]): entry["why"] for entry in record["partitions"]}
    for source in record["sources"]:
        yield Text(_source(source))
        held = source["held_back_by"]
        for partition in held[:_MOST_REASONS]:
            yield _indented(Text(f"Held back: {safe(why.get((source['source'], partition)) or partition)}."))
        if len(held) > _MOST_REASONS:
            yield _indented(Text(f"Held back by {len(held) - _MOST_REASONS:,} more partitions, marked above."))


def _streams(record: StatusRecord) -> Iterator[RenderableType]:
    """Yield one sentence for each published stream."""
    for stream in record.get("streams", []):
        if stream["published"]:
            written = f"{stream['rows']:,} rows written by the last run"
            late = f", {stream['dead_letters']:,} dead letters" if stream["dead_letters"] else ""
            progress = _source({**stream, "source": stream["stream"]}).replace("combined watermark", "watermark")
            yield Text(f"{progress.removesuffix('.')}; {written}{late}.")


def _source(source: Mapping[str, Any]) -> str:
    name, mark = safe(source["source"]), moment_of(source["watermark"])
    if source["complete"]:
        return f"{name} is complete; its last watermark was {mark or 'none'}."
    if not mark:
        return f"{name} has no combined watermark yet."
    return f"{name}: combined watermark {mark}, output delay {brief(source['output_delay_micros'])}."


def _runs(runs: Iterable[Mapping[str, Any]], *, wide: bool) -> Table:
    titles = ("rows", "on time", "adjusted", "dropped", "quarantined")
    table = _table([("run as of (UTC)", _FULL), *((title, _NUMBER) for title in titles), ("", _FULL)], wide=wide)
    for run in runs:
        cells = [_cell(_second(run["as_of"])), _cell(f"{run['rows']:,}")]
        for fate, style in FATE_STYLES.items():
            cells.append(_cell(f"{run[fate]:,}", style if run[fate] and fate != "on_time" else ""))
        table.add_row(*cells, _cell("" if run["status"] == "committed" else run["status"], "yellow"))
    return table
