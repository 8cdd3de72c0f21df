"""Where rows were lost and by how much: shares by partition, distances from the limit, files; each from the rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from page_warehouse import SETTINGS, T0, Page, Warehouse, rows, two_runs, warehouse

from oracle import Obj, Run, Source, Verdict
from tidemark.core.policy import Fate, Policy
from tidemark.core.times import HOUR, MINUTE
from tidemark.report.page.build import build
from tidemark.report.page.charts.shares import missed_picture, shares_picture
from tidemark.report.page.charts.vega import NARROW, WIDE
from tidemark.report.page.data.answers import Answers, SourceFates
from tidemark.report.page.data.lost.files import MOST_FILES
from tidemark.report.page.data.lost.missed import BOUNDS, missed_of
from tidemark.report.page.data.lost.shares import MOST_PARTITIONS
from tidemark.report.words import duration

EARLY, LATE = 5 * MINUTE, 10 * MINUTE
LATE_MOVED = replace(SETTINGS, out_of_order=(2 * MINUTE, "drop"))
"""Late rows are moved to the limit, and dropped if that is behind the watermark."""
LATE_DROPPED = replace(LATE_MOVED, late=(LATE, "drop"))
LASTING = replace(SETTINGS, interval=True)
"""Rows that last for four minutes, and are moved by every step but the first."""


def lossy(place: Path, source: Source = LATE_MOVED, *names: str) -> Warehouse:
    runs = two_runs(*names)
    if source.interval:
        runs = [replace(run, objects=tuple(map(lasting, run.objects))) for run in runs]
    return warehouse(place, source, runs)


def lasting(obj: Obj) -> Obj:
    rows = [replace(row, end=None if row.event is None else row.event + 4 * MINUTE) for row in obj.rows]
    return replace(obj, rows=tuple(rows))


def judged_of(made: Warehouse) -> SourceFates:
    (judged,) = Answers.of(made.tables).sources
    return judged


def distance(verdict: Verdict) -> int:
    """How far a dropped row was beyond the limit of the step that dropped it (time rules: judging a row)."""
    assert verdict.event is not None
    assert verdict.arrival is not None
    reason = verdict.reasons[-1]
    if reason == "late":
        return verdict.arrival - LATE - verdict.event
    if reason == "early":
        return verdict.event - verdict.arrival - EARLY
    moved = max(verdict.event, verdict.arrival - LATE)
    if reason == "empty":
        assert verdict.end_time is not None
        return max(moved, verdict.watermark or moved) - verdict.end_time
    assert verdict.watermark is not None
    return verdict.watermark - moved


REASONS = {
    "late moved": (LATE_MOVED, {"early", "out_of_order"}),
    "late dropped": (LATE_DROPPED, {"early", "late", "out_of_order"}),
    "lasting": (LASTING, {"early", "empty"}),
}


@pytest.mark.parametrize("name", REASONS)
def test_each_dropped_row_is_in_the_class_of_its_distance_from_the_limit(tmp_path: Path, name: str) -> None:
    source, reasons = REASONS[name]
    made = lossy(tmp_path, source)
    wanted = defaultdict(list)
    for verdict in made.outcome.verdicts:
        if verdict.disposition == "dropped":
            wanted[verdict.reasons[-1]].append(distance(verdict))
    assert set(wanted) == reasons
    found = {each.reason: each for each in judged_of(made).missed}
    assert set(found) == set(wanted)
    for reason, sizes in wanted.items():
        classes = Counter(next((n for n, bound in enumerate(BOUNDS) if size <= bound), len(BOUNDS)) for size in sizes)
        assert dict(enumerate(found[reason].classes)) == {n: classes[n] for n in range(len(BOUNDS) + 1)}
        assert (found[reason].rows, found[reason].sizes.largest) == (len(sizes), max(sizes))
        assert found[reason].sizes.median == sorted(sizes)[(len(sizes) - 1) // 2]


def test_several_policies_or_punctuations_have_no_one_limit_to_miss(tmp_path: Path) -> None:
    made = lossy(tmp_path)
    source, scope = made.tables.sources[0], made.tables.scope
    assert missed_of(source, scope)
    assert missed_of(replace(source, others=(Policy.of_arrival(),)), scope) == ()
    assert missed_of(replace(source, punctuated=True), scope) == ()


def test_shares_are_those_of_the_rows_of_each_partition_and_step(tmp_path: Path) -> None:
    made = lossy(tmp_path, LATE_MOVED, *"abcdefghijklmno")
    shares = judged_of(made).shares
    assert shares is not None
    assert shares.fate is Fate.DROPPED
    assert (len(shares.partitions), shares.others) == (MOST_PARTITIONS, 15 - MOST_PARTITIONS)
    assert shares.partitions[0] == "a", "the one with most dropped rows"
    wanted = defaultdict(lambda: [0, 0])
    for verdict in made.outcome.verdicts:
        if verdict.arrival is not None and verdict.partition in shares.partitions:
            cell = wanted[verdict.partition, verdict.arrival // shares.step * shares.step]
            cell[0] += verdict.disposition == "dropped"
            cell[1] += 1
    assert shares.cells == {key: tuple(cell) for key, cell in wanted.items() if cell[0]}
    picture = shares_picture("readings", shares)
    assert picture is not None
    assert picture.svg(WIDE, "x").count("<title>") == len(shares.cells)
    assert picture.caption.endswith(" 3 more partitions with such rows are in the table.")


def test_without_dropped_rows_shares_are_of_adjusted_ones_and_one_partition_has_none(tmp_path: Path) -> None:
    kept = replace(SETTINGS, early=(EARLY, "adjust"))
    shares = judged_of(lossy(tmp_path / "two", kept)).shares
    assert shares is not None
    assert shares.fate is Fate.ADJUSTED
    assert judged_of(lossy(tmp_path / "one", kept, "0")).shares is None


def test_files_are_counted_and_those_that_lost_most_come_first(tmp_path: Path) -> None:
    objects = [Obj(f"{n:02}.json", T0 + (n + 1) * HOUR, rows(10, "0", 10 * n)) for n in range(MOST_FILES + 5)]
    runs = [Run(obj.modified, (obj,)) for obj in objects]
    made = warehouse(tmp_path, LATE_MOVED, runs)
    page = Page.of(build(made.tables))
    lines = page.lines("files-readings")
    assert len(lines) == MOST_FILES
    counts = defaultdict(Counter)
    for verdict in made.outcome.verdicts:
        counts[verdict.uri][verdict.disposition] += 1
    hit = {name: each for name, each in counts.items() if each.total() > each["on_time"]}
    order = sorted(
        hit, key=lambda name: (-hit[name]["dropped"] - hit[name]["quarantined"], -hit[name]["adjusted"], name)
    )
    assert [line["file"] for line in lines] == order[:MOST_FILES]
    for line in lines:
        mine = counts[line["file"]]
        assert int(line["rows"]) == mine.total()
        assert {fate: int(line[fate.replace("_", " ")]) for fate in Fate} == {fate: mine[fate] for fate in Fate}
    said = f"readings: {len(counts)} files, {len(hit)} with rows that were not on time; the {MOST_FILES} with most:"
    assert said in page.sentences


def test_the_page_shows_how_far_rows_missed(tmp_path: Path) -> None:
    made = lossy(tmp_path)
    page, missed = Page.of(build(made.tables)), judged_of(made).missed
    assert [[line["reason"], line["dropped"], line["largest"]] for line in page.lines("missed-table")] == [
        [each.reason, str(each.rows), duration(each.sizes.largest)] for each in missed
    ]
    assert {"missed-readings", "shares-readings"} <= page.captions.keys()
    picture = missed_picture("readings", missed)
    assert picture is not None
    wide, narrow = picture.svg(WIDE, "x"), picture.svg(NARROW, "x")
    for each in missed:
        assert f"{each.rows} of {each.rows} up to here</title>" in wide
    assert narrow.count("<path") <= wide.count("<path")
