"""The parts of a page about rows and watermarks: charts first, then the tables with every number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidemark.records.status import PartitionSummary
from tidemark.report.page.charts.fates import MOST_BARS, adjusted_and_dropped, over_time, shift_sizes
from tidemark.report.page.charts.lags import lag_picture
from tidemark.report.page.charts.runs import delay_picture, idle_picture, letters_picture
from tidemark.report.page.charts.shares import missed_picture, shares_picture
from tidemark.report.page.charts.vega import Picture
from tidemark.report.page.charts.watermark import watermark_picture
from tidemark.report.page.data.answers import Answers, SourceFates
from tidemark.report.page.data.dead_letters import DeadLetters
from tidemark.report.page.data.moves import Move, Sizes, drawn_together
from tidemark.report.page.fates import HEADS, fate_cells
from tidemark.report.page.markup import Amount, Cell, Html, figure, paragraph, section, table
from tidemark.report.page.summary import first_abnormal
from tidemark.report.words import duration, moment_of

MOST_SOURCES = 8
"""Most sources with charts, those with most rows first; all have tables."""
MOST_LINES = 200
"""Most lines of a table about partitions."""

SIZE_HEADS = ("median", "95 %", "99 %", "largest")


def sizes(found: Sizes | None) -> list[Cell]:
    """Return four cells of durations."""
    if found is None:
        return [None] * 4
    return [Amount(duration(size)) for size in (found.median, found.p95, found.p99, found.largest)]


def drawn(name: str, picture: Picture | None) -> list[Html]:
    """Return a figure if there is a picture."""
    return [] if picture is None else [figure(name, picture)]


def cut(lines: int) -> list[Html]:
    """Return a note if a table is cut."""
    more = lines - MOST_LINES
    return [paragraph(f"{more:,} more are not listed; `tidemark rows` finds their rows.", class_="quiet")] * (
        more > 0
    )


def pictured(answers: Answers) -> list[SourceFates]:
    """Return the sources that have charts."""
    chosen = sorted(answers.sources, key=lambda judged: -judged.fates.rows)[:MOST_SOURCES]
    return [judged for judged in answers.sources if judged in chosen and judged.fates.rows]


def fates(answers: Answers) -> Html:
    """Return the fates of rows, by arrival and by partition."""
    inner = [each for judged in pictured(answers) for each in _over_time(judged)]
    rows: list[list[Cell | Html]] = [
        [judged.source.name, partition, *fate_cells(counts)]
        for judged in answers.sources
        for partition, counts in judged.fates.by_partition.items()
    ]
    heads = ("source", "partition", *HEADS)
    inner += [table("fates-by-partition", heads, rows[:MOST_LINES]), *cut(len(rows)), *_gone(answers)]
    return section("fates", "Fates", *inner)


def _over_time(judged: SourceFates) -> Iterator[Html]:
    name = judged.source.name
    yield from drawn(f"over-time-{name}", over_time(name, judged.fates))
    yield from drawn(f"shares-{name}", shares_picture(name, judged.shares))


def _gone(answers: Answers) -> Iterator[Html]:
    for judged in answers.sources:
        gone = judged.accounted - judged.fates.rows
        if gone:
            text = f"{judged.source.name}: rows in the ledger: {judged.accounted:,}; the events table still has"
            yield paragraph(f"{text} {judged.fates.rows:,} of them.", class_="quiet")


def moves(answers: Answers) -> Html:
    """Return adjusted and dropped rows, with shift sizes."""
    inner: list[Html] = []
    for judged in pictured(answers):
        name = judged.source.name
        for number, together in enumerate(drawn_together(judged.moves, MOST_BARS)):
            kind = ("", "-partitions")[number]
            inner += drawn(f"moves{kind}-{name}", adjusted_and_dropped(name, together))
            inner += drawn(f"shifts{kind}-{name}", shift_sizes(name, together))
        inner += drawn(f"missed-{name}", missed_picture(name, judged.missed))
    rows = [_move(judged.source.name, move) for judged in answers.sources for move in _shown_moves(judged)]
    heads = ("source", "reason", "partition", "adjusted", "dropped", "quarantined", *SIZE_HEADS)
    if not rows:
        sentence = (
            "Every row was on time." if any(each.fates.rows for each in answers.sources) else "There is no row."
        )
        return section("moves", "Adjusted and dropped", paragraph(sentence))
    note = "Sizes are how far adjusted rows were moved. A row with two reasons counts for both, and once for all."
    inner += [paragraph(note, class_="quiet"), table("moves-table", heads, rows[:MOST_LINES]), *cut(len(rows))]
    inner += _missed(answers)
    return section("moves", "Adjusted and dropped", *inner)


def _missed(answers: Answers) -> Iterator[Html]:
    """Yield the table of how far dropped rows were beyond their limit, if any was dropped."""
    lines = [
        (judged.source.name, each.reason, each.rows, *sizes(each.sizes))
        for judged in answers.sources
        for each in judged.missed
    ]
    if lines:
        yield paragraph("By how much dropped rows missed the limit that dropped them:", class_="quiet")
        yield table("missed-table", ("source", "reason", "dropped", *SIZE_HEADS), lines)


def _shown_moves(judged: SourceFates) -> list[Move]:
    """Return the moves without repetitions: of the only partition; of all reasons if one reason has all rows."""
    single = len(judged.fates.by_partition) == 1
    shown = [move for move in judged.moves if move.partition is None or not single]
    of_one = {replace(move, reason=None) for move in shown if move.reason is not None}
    return [move for move in shown if move not in of_one]


def _move(source: str, move: Move) -> list[Cell]:
    reason = "all" if move.reason is None else str(move.reason)
    counts = (move.adjusted, move.dropped, move.quarantined)
    return [source, reason, "all" if move.partition is None else f"{move.partition}", *counts, *sizes(move.shifts)]


def watermarks(answers: Answers) -> Html:
    """Return the charts of rows and watermarks by arrival and time, except for the chart at the top of the page."""
    inner: list[Html] = []
    for judged in pictured(answers):
        name = judged.source.name
        if judged.stretch is not None and judged is not first_abnormal(answers):
            inner += drawn(f"watermark-{name}", watermark_picture(name, judged.stretch))
        if judged.stretch is None or not judged.stretch.whole:
            inner += drawn(f"lags-{name}", lag_picture(judged.source, judged.lags))
        if not judged.source.timed:
            inner.append(
                paragraph(f"{name} has no event time of its own: arrival is its event time.", class_="quiet")
            )
    return section("watermarks", "The watermark", *inner)


def progress(answers: Answers) -> Html:
    """Return watermark delays, idle partitions, and the reasons that hold sources back now."""
    status = answers.status
    inner = [*drawn("delay", delay_picture(answers.delays)), *drawn("idle", idle_picture(answers.idle, answers.ends))]
    if not answers.idle:
        inner.append(paragraph("No partition was idle in these runs."))
    partitions = status["partitions"]
    heads = (
        "source",
        "partition",
        "watermark",
        "watermark delay",
        "last arrival",
        "idle for",
        "complete",
        "held back because",
    )
    inner.append(paragraph(f"Where partitions stand as of {moment_of(status['as_of']) or 'no run yet'}:"))
    inner += [table("partitions", heads, map(_partition, partitions[:MOST_LINES])), *cut(len(partitions))]
    rows = [
        (s["source"], moment_of(s["watermark"]), s["output_delay"], s["watermark_delay"], _yes(s["complete"]))
        for s in status["sources"]
    ]
    of_sources = ("source", "combined watermark", "output delay", "watermark delay", "complete")
    inner.append(table("sources", of_sources, rows))
    return section("progress", "Progress and idle partitions", *inner)


def _partition(entry: PartitionSummary) -> list[Cell]:
    times = [
        moment_of(entry["watermark"]),
        entry["watermark_delay"],
        moment_of(entry["last_arrival"]),
        entry["idle_for"],
    ]
    return [entry["source"], entry["partition"], *times, _yes(entry["complete"]), entry["why"]]


def _yes(flag: object) -> str:
    return "yes" if flag else "no"


def late(answers: Answers) -> Html:
    """Return the rows that streams wrote, and the rows that came late for a window."""
    inner = [
        each for letters in answers.letters for each in drawn(f"late-{letters.stream}", letters_picture(letters))
    ]
    streams = list(_streams(answers))
    if not streams:
        return section("late", "Late for windows", paragraph("The pipeline has no streams in these runs."))
    if not any(letters.letters for letters in answers.letters):
        inner.append(paragraph("No row was late for a window."))
    else:
        heads = ("stream", "source", "partition", "late for a window", "rows", *SIZE_HEADS)
        rows = [line for letters in answers.letters for line in _late(letters)]
        inner.append(paragraph("Sizes are how far the watermark was past the end of the window.", class_="quiet"))
        inner += [table("late-table", heads, rows[:MOST_LINES]), *cut(len(rows))]
    inner.append(table("streams", ("stream", "rows written", "outside of windows", "late for a window"), streams))
    return section("late", "Late for windows", *inner)


def _streams(answers: Answers) -> Iterator[list[Cell]]:
    """Yield a line for each stream; an unpublished stream has no rows to count."""
    unpublished = {each["stream"] for each in answers.status.get("streams", []) if not each["published"]}
    for each in answers.runs.streams:
        rows = Amount("not published") if each["stream"] in unpublished else each["rows"]
        yield [each["stream"], rows, each["outside"], each["dead_letters"]]


def _late(letters: DeadLetters) -> Iterator[list[Cell]]:
    for part in letters.parts:
        yield [letters.stream, part.source, part.partition, part.letters, part.rows, *sizes(part.past)]
