"""The oracle of punctuated sources does cases worked by hand, and obeys the laws."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings

import oracle
from oracle import SECOND, Obj, Run
from oracle_punctuation import COMPLETE, Outcome, Row, Source, judge, published, windows
from strategies import BASE, TICK
from strategies_punctuation import NAMES, logs, sources

LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
POINT = Source(single=True, count=1)
EDGE = Source("adjust", "edge", rows=True, single=True)


def s(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def point(seconds: float, kind: str | None = None) -> Row:
    return Row(event=s(seconds), arrival=s(90), kind=kind)


def start(seconds: float, key: str = "a") -> Row:
    return Row(event=s(seconds), arrival=s(90), substream=key, kind="start")


def end(seconds: float, until: float, key: str = "a") -> Row:
    return Row(event=s(seconds), arrival=s(90), substream=key, kind="end", end=s(until))


def outcome(source: Source, *runs: tuple[Row, ...], close: bool = False) -> Outcome:
    last = len(runs) - 1
    made = [Run(s(100 + n), (Obj(f"{n}", s(100 + n), rows),), close and n == last) for n, rows in enumerate(runs)]
    found = judge({"s": (source, made)})["s"]
    assert isinstance(found, Outcome)
    return found


def marks(found: Outcome) -> list[float | None]:
    return [None if v.after is None else (v.after - BASE) / SECOND for v in found.verdicts]


def fates(found: Outcome) -> list[tuple[str, float | None]]:
    times = [None if v.system_timestamp is None else (v.system_timestamp - BASE) / SECOND for v in found.verdicts]
    return [(" ".join((v.disposition, *v.reasons)), time) for v, time in zip(found.verdicts, times, strict=True)]


def test_a_punctuation_follows_each_nth_row_and_never_goes_back() -> None:
    found = outcome(replace(POINT, count=2), (point(3), point(5), point(4), point(6), point(9), point(2)))
    assert marks(found) == [None, 5, 5, 6, 6, 6]
    assert fates(found)[2] == ("dropped violation", None)


def test_rows_that_violate_count_and_their_punctuation_is_not_issued() -> None:
    found = outcome(replace(POINT, count=3), (point(1), point(1), point(9), point(2), point(2), point(1), point(9)))
    assert marks(found) == [None, None, 9, 9, 9, 9, 9]
    assert found.ends[0].states["0"].counted == 7


def test_a_period_gives_a_punctuation_once_it_is_entered_less_the_delay() -> None:
    source = replace(POINT, count=None, period=5 * SECOND, delay=2 * SECOND)
    found = outcome(source, (point(1), point(4), point(7), point(6), point(14)))
    assert marks(found) == [-1, -1, 5, 5, 12]


def test_a_negative_delay_of_a_tick_commits_a_point_at_once() -> None:
    found = outcome(replace(POINT, delay=-TICK), (point(1), point(2)))
    assert [len(rows) for rows in published(found)] == [2]


def test_a_row_at_the_punctuation_does_not_violate() -> None:
    assert fates(outcome(POINT, (point(5), point(5), point(4))))[1:] == [("on_time", 5), ("dropped violation", None)]


def test_a_punctuation_of_the_producer_counts_for_no_every_and_is_on_time_even_behind() -> None:
    found = outcome(replace(POINT, count=2, rows=True), (point(8, "cti"), point(9), point(3, "cti"), point(10)))
    assert fates(found)[2] == ("on_time", 3)
    assert marks(found) == [8, 8, 8, 10]
    assert [len(rows) for rows in published(found)] == [1]


@pytest.mark.parametrize(
    ("violations", "wanted"),
    [("drop", ("dropped violation", None)), ("adjust", ("adjusted violation", 5))],
)
def test_an_interval_that_reaches_beyond_the_punctuation_is_moved_to_it(violations: str, wanted: object) -> None:
    source = Source(violations, "interval", rows=True, single=True)
    rows = (point(5, "cti"), Row(event=s(2), arrival=s(90), end=s(6)), Row(event=s(2), arrival=s(90), end=s(5)))
    assert fates(outcome(source, rows))[1:] == [wanted, ("dropped violation", None)]


def test_an_end_edge_closes_the_oldest_open_start_edge() -> None:
    found = outcome(EDGE, (start(1), start(1), start(1, "b"), end(1, 4)), (end(1, 6), end(1, 7)))
    assert [v.pair for v in found.verdicts] == [None, None, None, 0, 1, None]
    assert fates(found)[-1] == ("dropped unmatched", None)
    assert found.ends[-1].states["0"].open_lifetimes == 1


def test_a_dropped_end_edge_leaves_its_lifetime_open_and_a_later_one_closes_it() -> None:
    found = outcome(EDGE, (start(1), point(5, "cti"), end(1, 4), end(1, 5)))
    assert fates(found)[2:] == [("dropped violation", None), ("on_time", 1)]
    assert found.ends[0].diagnostics["0", "EdgeLeftOpen"] == 1
    assert [len(rows) for rows in published(found)] == [1]


def test_a_lifetime_that_is_empty_after_adjusting_enters_no_stream() -> None:
    found = outcome(EDGE, (point(5, "cti"), start(1), end(1, 5)), (point(9, "cti"),))
    assert fates(found)[1:3] == [("adjusted violation", 5), ("on_time", 5)]
    assert [len(rows) for rows in published(found)] == [0, 0]


def test_an_open_lifetime_is_in_every_window_up_to_the_last_finite_time_of_a_complete_stream() -> None:
    found = outcome(replace(EDGE, final=True), (start(1), point(7, "cti")), (), close=True)
    closed = [sorted((w[0] - BASE) // SECOND for w in run.closed) for run in windows(found, 4 * SECOND, 4 * SECOND)]
    assert closed == [[0], [4]]
    assert [len(rows) for rows in published(found)] == [0, 1]


def test_closing_completes_a_source_only_with_final() -> None:
    found = outcome(POINT, (point(5),), close=True)
    assert (found.ends[-1].complete, found.ends[-1].combined) == (False, s(5))
    assert outcome(replace(POINT, final=True), (point(5),), close=True).ends[-1].complete


def test_an_importer_sees_what_had_arrived_and_at_a_runs_end_all() -> None:
    followed = oracle.Source(early=None, late=None, out_of_order=(0, "adjust"), single=True)
    rows = tuple(oracle.Row(event=s(n), arrival=s(n)) for n in (10, 20, 30))
    mine = tuple(Row(event=s(1), arrival=s(n)) for n in (5, 10, 25))
    source = Source(single=True, import_from="f")
    runs = [Run(s(50), (Obj("o", s(50), rows),)), Run(s(60), close=True), Run(s(70))]
    own = [
        Run(s(50), (Obj("o", s(50), mine),)),
        Run(s(60)),
        Run(s(70), (Obj("p", s(70), (Row(event=s(99), arrival=s(70)),)),)),
    ]
    found = judge({"s": (source, own), "f": (followed, runs)})["s"]
    assert [v.watermark and (v.watermark - BASE) / SECOND for v in found.verdicts[:3]] == [None, 10, 20]
    assert found.ends[0].combined == s(30)
    assert found.ends[1].complete
    assert found.verdicts[3].reasons == ("violation",)
    assert found.verdicts[3].after == COMPLETE  # type: ignore[union-attr]


@LAW
@given(sources(partitions=NAMES).flatmap(lambda source: logs({"s": source})))
def test_every_row_has_one_fate_and_no_punctuation_goes_back(given_: dict) -> None:
    found = judge(given_)["s"]
    assert isinstance(found, Outcome)
    rows = sum(len(obj.rows) for run in given_["s"][1] for obj in run.objects)
    assert sum(Counter(v.disposition for v in found.verdicts).values()) == rows
    known: dict[str, float] = {}
    for verdict in found.verdicts:
        if verdict.after is not None:
            assert verdict.after >= known.get(verdict.partition, verdict.after)
            known[verdict.partition] = verdict.after


@LAW
@given(sources(partitions=NAMES).flatmap(lambda source: logs({"s": source})))
def test_law_1_fates_are_the_same_however_the_log_is_cut_into_runs(given_: dict) -> None:
    source, runs = given_["s"]
    objects = [obj for run in runs for obj in oracle.in_log_order(run.objects)]
    ordered = [
        replace(obj, uri=f"{n:04}", modified=max(o.modified for o in objects)) for n, obj in enumerate(objects)
    ]
    assume(ordered)
    source = replace(source, arrival_column=True)
    whole = judge({"s": (source, [Run(ordered[0].modified, tuple(ordered))])})["s"]
    each = judge({"s": (source, [Run(obj.modified, (obj,)) for obj in ordered])})["s"]

    def told(found: object) -> list[object]:
        return [replace(v, run=0) for v in found.verdicts]  # type: ignore[attr-defined]

    assert told(whole) == told(each)


@LAW
@given(sources(partitions=NAMES).flatmap(lambda source: logs({"s": source})))
def test_each_row_is_published_once_and_when_complete_all_are(given_: dict) -> None:
    source, runs = given_["s"]
    opened = [replace(run, close=False) for run in runs]
    closing = Run(runs[-1].as_of + SECOND, close=True)
    found = judge({"s": (replace(source, final=True), [*opened, closing])})["s"]
    assert isinstance(found, Outcome)
    items = [item for run in published(found) for item in run]
    assert len({(item.partition, item.offset) for item in items}) == len(items)
    living = [
        v for v in found.verdicts if v.mark in ("point", "interval", "start") and v.system_timestamp is not None
    ]
    empty = [v for v in found.verdicts if v.pair is not None and v.end == v.system_timestamp]
    assert len(items) == len(living) - len(empty)
