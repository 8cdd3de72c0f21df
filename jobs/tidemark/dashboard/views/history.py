"""Charts of the newest batches: fates, watermark delay, idle partitions."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.commands.dashboard.history import BatchHistory
from tidemark.core.policy import Fate
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, quiet
from tidemark.report.page.charts.fates import OF_RUNS, over_time
from tidemark.report.page.charts.runs import delay_picture, idle_picture
from tidemark.report.page.fates import HEADS, fate_cells
from tidemark.report.page.markup import Cell, Html, figure, paragraph, section, table
from tidemark.report.words import counted, iso

_MOST_SOURCES = 4
"""Most sources with charts, those with most rows first; the table has all."""


def history(name: str, found: BatchHistory, links: Links) -> Page:
    """Return the page of charts."""
    title = f"{name}: over time"
    if found.batches <= 0:
        return Page(title, (paragraph("No run has committed anything yet."),))
    text = (
        f"The newest {counted(found.batches, 'batch', 'es')}, as the ledger counts them. Each batch is listed with "
    )
    inner = (paragraph(text, link("the runs", links.pipeline(name, "runs")), "."), _fates(found), _progress(found))
    return Page(title, inner, data=_data(found))


def _data(found: BatchHistory) -> dict[str, object]:
    fates = [{"as_of": iso(row["at"]), **{key: row[key] for key in ("source", *Fate)}} for row in found.counted]
    delays = [
        {
            "source": each.source,
            "as_of": iso(each.as_of),
            "watermark_delay_micros": each.largest,
            "output_delay_micros": each.combined,
        }
        for each in found.delays
    ]
    return {"batches": found.batches, "fates": fates, "delays": delays}


def _fates(found: BatchHistory) -> Html:
    heads = ("source", *HEADS)
    counts_of = {
        source: {fate: sum(n for (_, each), n in fates.bars.items() if each is fate) for fate in Fate}
        for source, fates in found.fates.items()
    }
    lines: list[list[Cell | Html]] = [[source, *fate_cells(counts)] for source, counts in counts_of.items()]
    return section("fates", "Fates", *_pictures(found), table("fates-by-source", heads, lines))


def _pictures(found: BatchHistory) -> Iterator[Html]:
    most = sorted(found.fates, key=lambda source: -sum(found.fates[source].bars.values()))[:_MOST_SOURCES]
    for source in most:
        fates = found.fates[source]
        picture = over_time(source, fates, OF_RUNS) if fates.bars and fates.first != fates.last else None
        if picture is not None:
            yield figure(f"fates-{source}", picture)
    if len(found.fates) > len(most):
        yield quiet(f"{len(found.fates) - len(most):,} more sources are in the table.")


def _progress(found: BatchHistory) -> Html:
    drawn = [
        figure(kind, picture)
        for kind, picture in (
            ("delay", delay_picture(found.delays)),
            ("idle", idle_picture(found.idle, found.ends)),
        )
        if picture is not None
    ]
    if len(found.ends) < 2:
        drawn.append(paragraph("There are pictures of progress, and of fates over time, from the second run on."))
    elif not found.idle:
        drawn.append(paragraph("No partition was idle in these runs."))
    return section("progress", "Watermark delay and idle partitions", *drawn)
