"""Rows of a live version that a backfill made are explained by what judged them, whatever the file says by then:
sentences are held against the oracle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from samples import at, drawn
from test_backfill_any import Case, cases, settings_of

import oracle_versions
from oracle import MIN_TIME, SECOND, Obj, Row, Run, Source, Verdict, _Oracle, judge
from product import Product, declared
from strategies import Log
from tidemark.core.times import parse_duration, parse_time
from tidemark.errors import UsageError
from tidemark.pipeline import Pipeline
from tidemark.report.words import moment

pytestmark = pytest.mark.usefixtures("quick")
TODAY = {"early_arrival": "off", "late_arrival": {"tolerance": "77s", "action": "drop"}}


@dataclass(frozen=True)
class Told:
    """A row with what judged it: the policies then, and all rows that were judged so with it (`apart`: nothing
    records their combined watermarks; `one_policy`: no other policies moved its watermark)."""

    verdict: Verdict
    source: Source
    among: tuple[Verdict, ...] = field(repr=False)
    apart: bool = False
    one_policy: bool = True


def gone_on(old: Source, new: Source, runs: tuple[Run, ...], first: int, *, highs: bool) -> tuple[Verdict, ...]:
    """The verdicts of runs that were judged by other policies from a run on, going on from what was there. `highs`:
    the highest time of a key before counts under the new policies, too; else the watermark that it left, alone."""
    one, found = _Oracle(old, True), []
    for number, run in enumerate(runs):
        if number == first:
            one.early, one.late, one.out_of_order = new.early, new.late, new.out_of_order
            for key in (key for partition in one.known.values() if not highs for key in partition.keys.values()):
                key.high = MIN_TIME
        found += list(one._run(number, run))
        one._record()
    return tuple(found)


def agreed(one: tuple[Verdict, ...], other: tuple[Verdict, ...]) -> Iterator[Verdict]:
    """The verdicts that two readings of the rules share, up to the first of a key in which they differ."""
    apart: set[tuple[str, object]] = set()
    for left, right in zip(one, other, strict=True):
        key = (left.partition, left.substream)
        if left != right:
            apart.add(key)
        if key not in apart:
            yield left


def stories(case: Case, end: int | None) -> Iterator[Told]:
    """Each row of the live version after the last run."""
    old, new = case.log.source, case.changed
    runs = case.log.runs
    before, anew = judge(old, runs[:-1]), judge(new, runs[:-1])
    later = judge(new, runs).verdicts
    if end is not None:
        readings = [gone_on(old, new, runs, len(runs) - 1, highs=highs) for highs in (True, False)]
        later = tuple(agreed(readings[0], readings[1]))
    merged = oracle_versions.rows(before, anew, case.begin, end)
    for number, row in enumerate(merged.verdicts):
        was = before.verdicts[number]
        times = (row.system_timestamp, was.system_timestamp)
        mine = any(oracle_versions.in_range(time, case.begin, end) for time in times)
        yield Told(row, new if mine else old, (anew if mine else before).verdicts, mine and end is not None)
    last = [row for row in later if row.run == len(runs) - 1]
    yield from (Told(row, new, later, one_policy=end is None) for row in last)


def built(folder: Path, case: Case) -> tuple[Product, int | None]:
    """The pipeline with the version of the backfill live, a run after it, and a file that says something else."""
    product = Product(folder, {"a": case.log.source})
    product.feed("a", [replace(run, close=False) for run in case.log.runs[:-1]])
    end = case.end
    try:
        found = product.pipeline().backfill(case.begin, end, settings_of(case.changed))
    except UsageError:
        end = None
        found = product.pipeline().backfill(case.begin, end, settings_of(case.changed))
    product.pipeline().promote(found["version"])
    product.write(a=declared(case.changed))
    product.feed("a", [replace(case.log.runs[-1], close=False)])
    product.write(a=TODAY)
    return product, end


def hold(pipeline: Pipeline, told: Told) -> int:
    """Hold a row's story; how many sentences and figures were looked at."""
    row, source = told.verdict, told.source
    found = pipeline.explain("a", row.partition, row.offset)
    assert found["row"]["disposition"] == row.disposition
    if row.disposition == "quarantined":
        return 0
    text = " ".join(found["sentences"])
    for step in found["steps"]:
        held = getattr(source, step["step"])
        wanted = (None, None) if held is None else held
        assert (step["tolerance_micros"], step["action"]) == wanted, (told, step)
        if step["outcome"] in ("passed", "adjusted", "dropped") and step["step"] != "out_of_order":
            assert hold_arithmetic(step), (told, step)
        acted = step["step"] in row.reasons
        assert (step["outcome"] in ("adjusted", "dropped")) == acted, (told, step)
    allowed = re.findall(r"(early|late)_arrival allows ([^:]+?) (?:before|after) it:", text)
    for name, duration in allowed:
        assert parse_duration(duration.replace(" ", "")) == getattr(source, name)[0], (told, text)
    hold_origin(told, found, text)
    return len(found["steps"]) + 1


def hold_arithmetic(step: dict[str, Any]) -> bool:
    """Whether what a sentence says of a comparison follows from its own figures."""
    gap = parse_time(step["time"]) - parse_time(step["reference"])
    beyond = gap if step["step"] == "early" else -gap
    return (beyond > step["tolerance_micros"]) == (step["outcome"] != "passed")


def hold_origin(told: Told, found: dict[str, Any], text: str) -> None:
    row, origin = told.verdict, found["set_by"]
    compared = row.watermark is not None and "duplicate" not in row.reasons
    assert (origin is not None) == compared, (told, origin)
    if not compared:
        return
    assert parse_time(origin["watermark"]) == row.watermark
    key = (row.partition, row.substream)
    before = [
        each
        for each in told.among
        if (each.partition, each.substream) == key and each.disposition != "quarantined" and each.offset < row.offset
    ]
    raised = [each.offset for each in before if each.watermark_after == row.watermark != each.watermark]
    if origin["kind"] == "unknown":
        assert told.apart, (told, origin)
        return
    assert origin.get("offset") == (raised[0] if raised else None), (told, origin, raised)
    if raised:
        setter = next(each for each in before if each.offset == raised[0])
        trail, order = told.source.late, told.source.out_of_order
        length = min(order[0], trail[0]) if trail is not None and order[1] != "keep" else order[0]
        name = "late_arrival" if length < order[0] else "out_of_order"
        if told.one_policy and "The watermark in force" in text:
            assert f": its time {clock(setter.system_timestamp)} less {name} {seconds(length)}" in plain(text), (
                told,
                text,
            )


def plain(text: str) -> str:
    """A story without dates, and without what it says of times that were adjusted."""
    return re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2} ", "", text).replace("its time, adjusted, ", "its time ")


def clock(micros: int | None) -> str:
    return moment(micros).partition(" ")[2]


def seconds(micros: int) -> str:
    return f"{micros // SECOND}s"


def hold_case(folder: Path, case: Case, most: int, seed: int) -> tuple[int, int]:
    product, end = built(folder, case)
    rows = list(stories(case, end))
    chosen = Random(seed).sample(rows, min(most, len(rows)))  # noqa: S311 - the same rows each time
    pipeline = product.pipeline()
    page = Path(pipeline.report(folder / "report.html")["path"]).read_text(encoding="utf-8")
    assert "1m 17s" not in page, "the tolerance of today's file judged no row"
    return len(chosen), sum(hold(pipeline, told) for told in chosen)


@pytest.mark.parametrize(
    "bounded", [True, pytest.param(False, marks=pytest.mark.long)], ids=["of a range", "to the last run"]
)
def test_rows_are_explained_by_the_settings_that_judged_them_whatever_the_file_says(tmp_path, bounded):
    case = next(case for case in drawn(cases(), 12) if (case.end is not None) == bounded)
    rows, _ = hold_case(tmp_path, case, 40, 7)
    assert rows > 10


def test_a_watermark_is_traced_to_a_row_whose_time_other_tolerances_made(tmp_path):
    """A bounded version of smaller tolerances goes on from the watermark that an early row, adjusted, had set: under
    the tolerances of now its time would be another, and no row would have set it."""
    old = Source(early=(5 * SECOND, "adjust"), late=(400 * SECOND, "adjust"), partitions=("p0", "p1"))
    case = Case(
        Log(
            old,
            (
                Run(at(10), (Obj("a", at(8), (Row("p0", at(61), at(1)), Row("p0", at(2), at(2)))),)),
                Run(at(100), (Obj("b", at(90), (Row("p1", at(4), at(4)), Row("p1", at(60), at(60)))),)),
                Run(at(120), (Obj("c", at(110), (Row("p0", at(3), at(3)),)),)),
            ),
        ),
        replace(old, early=(2 * SECOND, "adjust")),
        at(4),
        at(5),
    )
    product, end = built(tmp_path, case)
    assert end is not None, "the version is bounded"
    found = product.pipeline().explain("a", "p0", 2)
    assert (found["row"]["batch_id"], found["row"]["reasons"]) == (3, ["out_of_order"])
    assert (found["set_by"]["offset"], parse_time(found["set_by"]["watermark"])) == (0, at(6))
