"""The oracle reproduces the published examples and cases worked by hand, and obeys the laws for rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle import MIN_TIME, SECOND, UNKNOWN, Obj, Outcome, Policy, Row, Run, Source, Verdict, judge
from published import EXAMPLES, PUBLISHED, at, length
from strategies import (
    BASE,
    TICK,
    LawfulLog,
    Log,
    cuts,
    every_policy,
    lawful_logs,
    logs,
    recuts,
    sources,
    started,
    wide_lawful_logs,
    wide_logs,
)

JUDGED = [e for e in PUBLISHED if "expected" in e]


def micros(text: str | None) -> int | None:
    return None if text is None else at(text)


def source_of(policy: dict[str, Any]) -> Source:
    def setting(name: str, default: Policy | None) -> Policy | None:
        value = policy.get(name, default)
        if not isinstance(value, dict):
            return None if value == "off" else default
        return length(value["tolerance"]), value["action"]

    out_of_order = setting("out_of_order", (0, "adjust"))
    assert out_of_order is not None
    return Source(
        early=setting("early_arrival", (300 * SECOND, "drop")),
        late=setting("late_arrival", (5 * SECOND, "adjust")),
        out_of_order=out_of_order,
        over="over" in policy,
        single=True,
    )


def run_of(example: dict[str, Any], rows: list[dict[str, Any]], as_of: int) -> Run:
    over = example["policy"].get("over")
    made = tuple(
        Row(event=at(r["event_time"]), arrival=at(r["arrival_time"]), substream=r[over] if over else None)
        for r in rows
    )
    return Run(as_of, (Obj(f"at-{as_of}", as_of, made),) if made else ())


def verdicts_of(example: dict[str, Any]) -> tuple[Verdict, ...]:
    landed = max(at(r["arrival_time"]) for r in example["rows"])
    return judge(source_of(example["policy"]), [run_of(example, example["rows"], landed)]).verdicts


@pytest.mark.parametrize("example", JUDGED, ids=[e["name"] for e in JUDGED])
def test_a_published_example_is_judged_row_by_row_as_printed(example: dict[str, Any]) -> None:
    found = [
        {
            "disposition": v.disposition,
            "reasons": list(v.reasons),
            "system_timestamp": v.system_timestamp,
            "watermark_after": v.watermark_after,
        }
        for v in verdicts_of(example)
    ]
    wanted = [
        {
            **e,
            "system_timestamp": micros(e["system_timestamp"]),
            "watermark_after": micros(e["watermark_after"]),
        }
        for e in example["expected"]
    ]
    assert found == wanted


def test_the_published_order_is_by_system_timestamp_then_offset() -> None:
    example = EXAMPLES["asa-event-ordering-policies"]
    survivors = [v for v in verdicts_of(example) if v.system_timestamp is not None]
    ordered = sorted(survivors, key=lambda v: (v.system_timestamp, v.offset))
    assert [v.offset + 1 for v in ordered] == example["order"] == [1, 2, 5, 4, 3]


@pytest.mark.parametrize("name", ["atlas-watermark", "atlas-allowed-lateness"])
def test_the_atlas_watermark_is_the_greatest_event_time_and_no_row_is_moved(name: str) -> None:
    example = EXAMPLES[name]
    verdicts = verdicts_of(example)
    events = [at(r["event_time"]) for r in example["rows"]]
    assert [v.watermark_after for v in verdicts] == [max(events[: n + 1]) for n in range(len(events))]
    assert {v.disposition for v in verdicts} == {"on_time"}
    assert [v.system_timestamp for v in verdicts] == events
    if "watermark_after" in example:
        assert [v.watermark_after for v in verdicts] == [at(t) for t in example["watermark_after"]]


def test_an_idle_atlas_source_keeps_its_watermark_from_run_to_run() -> None:
    example = EXAMPLES["atlas-idle-timeout"]
    runs = [run_of(example, run["rows"], at(run["as_of"])) for run in example["runs"]]
    outcome = judge(source_of(example["policy"]), runs)
    expected, peak = [], MIN_TIME
    for run in example["runs"]:
        peak = max([peak, *(at(r["event_time"]) for r in run["rows"])])
        expected.append(peak)
    assert [end.combined for end in outcome.ends] == expected
    assert [end.states["0"].watermark for end in outcome.ends] == expected
    assert [end.states["0"].idle for end in outcome.ends] == [not run["rows"] for run in example["runs"]]
    assert {v.disposition for v in outcome.verdicts} == {"on_time"}


# -- worked by hand; seconds after BASE


def s(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def one_run(source: Source, *rows: Row, landed: float = 100) -> Outcome:
    return judge(source, [Run(s(landed), (Obj("o", s(landed), rows),))])


BOUND = Source(
    early=(5 * SECOND, "adjust"),
    late=(3 * SECOND, "adjust"),
    out_of_order=(2 * SECOND, "adjust"),
    single=True,
)


@pytest.mark.parametrize(
    ("event", "stamp", "reasons"),
    [
        pytest.param(s(55), s(55), (), id="at the early bound"),
        pytest.param(s(55) + TICK, s(55), ("early",), id="a tick past the early bound"),
        pytest.param(s(47), s(47), (), id="at the late bound"),
        pytest.param(s(47) - TICK, s(47), ("late",), id="a tick past the late bound"),
    ],
)
def test_a_row_exactly_at_a_bound_is_on_time(event: int, stamp: int, reasons: tuple[str, ...]) -> None:
    (verdict,) = one_run(BOUND, Row(event=event, arrival=s(50))).verdicts
    assert (verdict.system_timestamp, verdict.reasons) == (stamp, reasons)


def test_a_row_exactly_at_the_watermark_is_on_time() -> None:
    rows = [Row(event=e, arrival=s(50)) for e in (s(50), s(48), s(48) - TICK)]
    verdicts = one_run(BOUND, *rows).verdicts
    assert [v.watermark for v in verdicts] == [None, s(48), s(48)]
    assert [(v.system_timestamp, v.reasons) for v in verdicts[1:]] == [
        (s(48), ()),
        (s(48), ("out_of_order",)),
    ]


def test_out_of_order_is_at_most_late_unless_late_is_off_or_the_action_is_keep() -> None:
    row = Row(event=s(50), arrival=s(50))
    wide = replace(BOUND, out_of_order=(9 * SECOND, "adjust"))
    assert one_run(wide, row).verdicts[0].watermark_after == s(47)
    assert one_run(replace(wide, late=None), row).verdicts[0].watermark_after == s(41)
    assert one_run(replace(wide, out_of_order=(9 * SECOND, "keep")), row).verdicts[0].watermark_after == s(41)


def test_arrival_never_goes_back_and_quarantined_rows_with_a_readable_one_count() -> None:
    rows = [
        Row(event=s(1), arrival=None),
        Row(event=s(20), arrival=s(20)),
        Row(broken=True, arrival=s(30)),
        Row(event=s(10), arrival=s(10)),
        Row(event=s(100), arrival=s(104)),
        Row(event=s(100), arrival=s(106)),
    ]
    verdicts = one_run(replace(BOUND, clock_skew=5 * SECOND, early=None, late=None), *rows).verdicts
    assert [v.arrival for v in verdicts] == [None, s(20), s(30), s(30), s(100), s(100)]
    assert [v.reasons for v in verdicts] == [
        ("invalid_time",), (), ("invalid_row",), ("out_of_order",), (), ("invalid_time",),
    ]  # fmt: skip


def test_rows_without_a_partition_go_to_unknown_and_move_nothing() -> None:
    source = replace(BOUND, single=False)
    outcome = one_run(source, Row("a", s(50), s(50)), Row(None, s(60), s(60)), Row(UNKNOWN, s(61), s(61)))
    assert [(v.partition, v.offset, v.reasons) for v in outcome.verdicts[1:]] == [
        (UNKNOWN, 0, ("invalid_row",)),
        (UNKNOWN, 1, ("invalid_row",)),
    ]
    assert outcome.ends[0].states[UNKNOWN].watermark is None
    assert outcome.ends[0].combined == s(48)


def test_floors_follow_the_last_or_the_estimated_arrival() -> None:
    source = replace(BOUND, single=False, partitions=("a", "never"), landing_delay=4 * SECOND)
    first = Run(s(100), (Obj("o", s(99), (Row("a", s(95), s(99)),)),))
    outcome = judge(source, [first, Run(s(103)), Run(s(110)), Run(s(90))])
    a = [end.states["a"] for end in outcome.ends]
    never = [end.states["never"] for end in outcome.ends]
    assert [x.estimated_arrival for x in a] == [s(99), s(99), s(105), s(105)]
    assert [x.floor for x in a] == [x.watermark for x in a] == [s(96), s(96), s(102), s(102)]
    assert [x.estimated_arrival for x in never] == [s(91), s(94), s(101), s(101)]
    assert [end.combined for end in outcome.ends] == [s(88), s(91), s(98), s(98)]
    stuck = [
        sorted(p for p, kind in end.diagnostics if kind == "InputPartitionNotProgressing") for end in outcome.ends
    ]
    assert stuck == [[], [], ["a", "never"], ["a", "never"]]


def test_with_late_off_nothing_moves_and_a_second_run_without_a_row_is_reported() -> None:
    first = Run(s(100), (Obj("o", s(100), (Row(event=s(99), arrival=s(100)),)),))
    outcome = judge(replace(BOUND, late=None), [first, Run(s(200)), Run(s(201))])
    assert [end.states["0"].watermark for end in outcome.ends] == [s(97)] * 3
    assert [end.states["0"].floor for end in outcome.ends] == [None] * 3
    stuck = {("0", "InputPartitionNotProgressing"): 1}
    assert [end.diagnostics for end in outcome.ends] == [{}, {}, stuck]


def test_a_combined_step_sees_a_partition_with_substreams_at_its_floor() -> None:
    source = replace(BOUND, over=True, late=(5 * SECOND, "drop"))
    rows = [(s(60), "y"), (s(59), "y"), (s(58), None)]
    first = Run(s(60), (Obj("o", s(60), tuple(Row(event=e, arrival=s(60), substream=k) for e, k in rows)),))
    late = Run(s(61), (Obj("p", s(61), (Row(event=s(56), arrival=s(61), substream="z"),)),))
    outcome = judge(source, [first, late])
    assert [v.watermark for v in outcome.verdicts] == [None, s(58), None, s(55)]
    assert [end.combined for end in outcome.ends] == [s(55), s(56)]
    assert [end.states["0"].watermark for end in outcome.ends] == [s(55), s(56)]
    assert outcome.ends[0].substreams == {("0", "y"): (s(58), s(60)), ("0", None): (s(56), s(58))}
    assert outcome.ends[1].substreams == {("0", "y"): (s(58), s(60))}


def test_a_row_before_an_estimate_in_use_is_landed_too_late_and_adjusted_to_the_floor() -> None:
    late = Run(s(121), (Obj("p", s(121), (Row(event=s(108), arrival=s(109)), Row(event=s(118), arrival=s(120)))),))
    outcome = judge(
        BOUND, [Run(s(100), (Obj("o", s(100), (Row(event=s(100), arrival=s(100)),)),)), Run(s(120)), late]
    )
    moved, fine = outcome.verdicts[1:]
    assert (moved.watermark, moved.system_timestamp, moved.reasons) == (s(117), s(117), ("out_of_order",))
    assert fine.disposition == "on_time"
    assert outcome.ends[-1].diagnostics == {("0", "LandedTooLate"): 1, ("0", "OutOfOrderEvent"): 1}


def test_a_partition_that_starts_late_starts_at_the_combined_watermark() -> None:
    source = replace(BOUND, single=False, late=None, early=None)
    runs = [
        Run(s(100), (Obj("o", s(100), (Row("a", s(50), s(50)),)),)),
        Run(s(101), (Obj("p", s(101), (Row("b", s(40), s(50)), Row("b", s(48), s(50)))),)),
    ]
    outcome = judge(source, runs)
    assert [v.watermark for v in outcome.verdicts] == [None, s(48), s(48)]
    assert [v.system_timestamp for v in outcome.verdicts[1:]] == [s(48), s(48)]
    assert outcome.ends[1].states["b"].watermark == outcome.ends[1].combined == s(48)


def test_a_partition_without_a_watermark_holds_the_combined_one_back() -> None:
    source = replace(BOUND, single=False, late=None)
    outcome = one_run(source, Row("a", s(50), s(50)), Row("b", None, s(50)))
    assert outcome.ends[0].states["b"].watermark is None
    assert outcome.ends[0].combined is None


def test_without_event_time_estimated_arrivals_are_part_of_arrival() -> None:
    source = Source(timestamp_by=False, single=True)
    again = Run(s(112), (Obj("p", s(112), (Row(arrival=s(105)),)),))
    outcome = judge(source, [Run(s(100), (Obj("o", s(100), (Row(arrival=s(100)),)),)), Run(s(110)), again])
    verdict = outcome.verdicts[1]
    assert (verdict.arrival, verdict.event, verdict.system_timestamp) == (s(110), s(110), s(110))
    assert outcome.ends[-1].diagnostics == {("0", "LandedTooLate"): 1}


def test_a_closed_source_is_complete_and_takes_no_more_objects() -> None:
    obj = Obj("o", s(100), (Row(event=s(100), arrival=s(100)),))
    outcome = judge(BOUND, [Run(s(100), (obj,), close=True), Run(s(200), (replace(obj, uri="p"),))])
    assert len(outcome.verdicts) == 1
    assert [end.complete for end in outcome.ends] == [True, True]
    assert [end.states["0"].watermark for end in outcome.ends] == [s(98), s(98)]


def test_rows_that_arrive_before_start_minus_early_are_skipped_but_keep_their_offsets() -> None:
    source = replace(BOUND, start=s(50))
    outcome = one_run(source, Row(event=s(50), arrival=s(45) - TICK), Row(event=s(50), arrival=s(45)))
    assert [(v.offset, v.system_timestamp) for v in outcome.verdicts] == [(1, s(50))]
    assert outcome.ends[0].states["0"].next_offset == 2
    skipped = one_run(source, Row(event=s(40), arrival=s(40))).ends[0].states["0"]
    assert (skipped.last_arrival, skipped.last_seen, skipped.idle) == (s(40), s(100), False)
    unread = one_run(replace(source, early=None), Row(event=s(40), arrival=s(40)))
    assert len(unread.verdicts) == 1


# -- laws

LAW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def check_conservation(log: Log, outcome: Outcome) -> None:
    rows = Counter((run, o.uri) for run, r in enumerate(log.runs) for o in r.objects for _ in o.rows)
    closed = next((n for n, r in enumerate(log.runs) if r.close), len(log.runs))
    assert Counter((v.run, v.uri) for v in outcome.verdicts) == {k: n for k, n in rows.items() if k[0] <= closed}
    offsets: dict[str, list[int]] = {}
    for v in outcome.verdicts:
        offsets.setdefault(v.partition, []).append(v.offset)
        assert v.disposition in ("on_time", "adjusted", "dropped", "quarantined")
        assert (v.disposition == "on_time") == (not v.reasons)
        assert (v.system_timestamp is None) == (v.disposition in ("dropped", "quarantined"))
        assert v.disposition != "on_time" or v.system_timestamp == v.event
    assert all(found == list(range(len(found))) for found in offsets.values())
    last = outcome.ends[-1].states
    assert {p: s.next_offset for p, s in last.items() if s.next_offset} == {p: len(o) for p, o in offsets.items()}


def check_nothing_goes_back(outcome: Outcome) -> None:
    for before, after in pairwise(outcome.ends):
        assert before.combined is None or (after.combined is not None and after.combined >= before.combined)
        for name, state in before.states.items():
            later = after.states[name]
            for was, now in (
                (state.watermark, later.watermark),
                (state.floor, later.floor),
                (state.high, later.high),
            ):
                assert was is None or (now is not None and now >= was)
    marks: dict[tuple[str, str | None], int] = {}
    for v in outcome.verdicts:
        if v.watermark is not None:
            assert v.watermark >= marks.get((v.partition, v.substream), MIN_TIME)
        if v.watermark_after is not None:
            marks[v.partition, v.substream] = v.watermark_after


@LAW
@given(sources(intervals=True).flatmap(logs))
def test_every_row_has_exactly_one_fate_and_nothing_goes_back(log: Log) -> None:
    outcome = judge(log.source, log.runs)
    check_conservation(log, outcome)
    check_nothing_goes_back(outcome)


@settings(LAW, max_examples=15)
@given(wide_logs(partitions=20))
def test_the_same_holds_for_many_partitions_at_once(log: Log) -> None:
    outcome = judge(log.source, log.runs)
    check_conservation(log, outcome)
    check_nothing_goes_back(outcome)


@pytest.mark.parametrize("source", [p for _, p in every_policy()], ids=[name for name, _ in every_policy()])
@settings(LAW, max_examples=10)
@given(data=st.data())
def test_forgetting_substreams_at_or_below_the_floor_changes_nothing(source: Source, data: st.DataObject) -> None:
    log = data.draw(logs(replace(source, partitions=("0", "1"))))
    assert judge(log.source, log.runs, forget=True) == judge(log.source, log.runs, forget=False)


def fates(outcome: Outcome) -> dict[tuple[str, int], tuple[Any, ...]]:
    return {
        (v.partition, v.offset): (v.uri, v.position, v.disposition, v.reasons, v.system_timestamp)
        for v in outcome.verdicts
    }


@LAW
@given(st.data())
def test_law_1_fates_are_the_same_however_the_log_is_cut_into_runs(data: st.DataObject) -> None:
    log: LawfulLog = data.draw(lawful_logs(data.draw(sources(intervals=True))))
    one, other = data.draw(recuts(log.objects)), data.draw(recuts(log.objects))
    assert [len(o.rows) for r in one for o in r.objects] == [len(o.rows) for r in other for o in r.objects]
    assert fates(judge(log.source, one)) == fates(judge(log.source, other))


@settings(LAW, max_examples=10)
@given(st.data())
def test_law_1_holds_for_many_partitions_at_once(data: st.DataObject) -> None:
    log: LawfulLog = data.draw(wide_lawful_logs(partitions=20))
    one, other = data.draw(recuts(log.objects)), data.draw(recuts(log.objects))
    assert fates(judge(log.source, one)) == fates(judge(log.source, other))


def fates_from(start: int, outcome: Outcome) -> dict[tuple[str, int], tuple[Any, ...]]:
    stamps = {(v.partition, v.offset): v.system_timestamp for v in outcome.verdicts}
    return {k: fate for k, fate in fates(outcome).items() if (stamps[k] or MIN_TIME) >= start}


@LAW
@given(st.data())
def test_law_4_rows_from_the_start_on_are_as_in_a_run_from_the_beginning(data: st.DataObject) -> None:
    """Save rows that landed too late: a floor may have lifted one past the start, which its arrival is before."""
    source = data.draw(sources(law4=True, intervals=True))
    log: Log = data.draw(logs(source))
    begun = data.draw(started(source, [obj for run in log.runs for obj in run.objects]))
    assert begun.start is not None
    whole = judge(source, log.runs)
    wanted, found = fates_from(begun.start, whole), fates_from(begun.start, judge(begun, log.runs))
    runs = {(v.partition, v.offset): v.run for v in whole.verdicts}
    for key in wanted.keys() - found.keys():
        assert whole.ends[runs[key]].diagnostics[key[0], "LandedTooLate"] > 0
        del wanted[key]
    assert found == wanted


def test_law_4_needs_a_landing_delay_that_holds() -> None:
    source = Source(early=(2 * SECOND, "drop"), late=(2 * SECOND, "drop"), single=True)
    row = Row(event=s(20), arrival=s(22))
    runs = [Run(s(36)), Run(s(37), (Obj("o", s(37), (row,)),))]
    assert [v.system_timestamp for v in judge(source, runs).verdicts] == [s(29)]
    begun = judge(replace(source, start=s(25)), runs)
    assert begun.verdicts == ()
    assert begun.ends[1].states["0"].next_offset == 1


@LAW
@given(st.data())
def test_cuts_into_micro_batches_cover_the_run(data: st.DataObject) -> None:
    objects = data.draw(st.integers(0, 9))
    sizes = data.draw(cuts(objects))
    assert sum(sizes) == objects
    assert all(size > 0 for size in sizes)
