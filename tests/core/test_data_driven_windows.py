"""Sessions, snapshots and sliding windows: values and rules, the oracle worked by hand, and its laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle import SECOND, Obj, Row, Run, Source
from oracle_measured import Measured, sessions, snapshots
from oracle_streams import COMPLETE, Step, StepRun, Window, flow, held
from strategies import BASE, LawfulLog, Log, lawful_logs, logs, recuts, sources
from tidemark.core.stream_output import Due
from tidemark.core.streams import StepRules, StreamState, advance_streams, longest_lives, opening_states, reach
from tidemark.core.times import MAX_TIME
from tidemark.core.watermarks import Combined
from tidemark.core.windows import Passed, SessionWindows, SnapshotWindows, needed
from tidemark.runner.session_progress import Looking

LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
KEPT = Source(early=None, late=None, out_of_order=(0, "keep"), single=True)
KINDS = {
    "sessions": Measured(session=(3 * SECOND, 8 * SECOND)),
    "sessions of groups": Measured(session=(2 * SECOND, 5 * SECOND), group_by=("k",)),
    "sessions with lateness": Measured(session=(2 * SECOND, 60 * SECOND), allowed_lateness=2 * SECOND),
    "sessions of any length": Measured(session=(3 * SECOND, None), group_by=("k",), allowed_lateness=SECOND),
    "idle sessions of any length": Measured(session=(3 * SECOND, None), idle_timeout=3 * SECOND),
    "sliding": Measured(size=4 * SECOND),
    "sliding of groups with lateness": Measured(size=3 * SECOND, group_by=("k",), allowed_lateness=SECOND),
    "snapshots": Measured(),
    "idle sessions": Measured(session=(3 * SECOND, 8 * SECOND), group_by=("k",), idle_timeout=3 * SECOND),
    "idle snapshots with lateness": Measured(size=3 * SECOND, allowed_lateness=SECOND, idle_timeout=2 * SECOND),
    "sessions of partitions": Measured(session=(2 * SECOND, 9 * SECOND), partition_by="partition"),
    "sessions of any length of partitions": Measured(session=(2 * SECOND, None), partition_by="partition"),
    "idle snapshots of substreams": Measured(size=SECOND, idle_timeout=2 * SECOND, partition_by="substream"),
}
MANY = [pytest.param(measured, id=name) for name, measured in KINDS.items()]
LASTING = [pytest.param(measured, id=name) for name, measured in KINDS.items() if not measured.idle_timeout]
"""Those that are the same however a log is cut into runs."""


def s(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


def lives(*spans: tuple[int, int]) -> list[tuple[int, int, str]]:
    return [(start, end, f"{start}") for start, end in spans]


def points(*times: int) -> list[tuple[int, int, str]]:
    return lives(*((time, time + 1) for time in times))


# -- values and rules


def test_windows_that_end_by_the_watermark_less_the_lateness_are_settled() -> None:
    assert SessionWindows(5, 20, lateness=3).settled(10) == 7
    assert SnapshotWindows().settled(None) is None


def test_the_reach_of_a_step_holds_all_rows_that_decide_over_its_windows() -> None:
    steps = [
        StepRules("long", ("s",), ("s",), lifetime=7),
        StepRules("snap", ("long",), ("s",), windows=SnapshotWindows()),
        StepRules("slide", ("s",), ("s",), windows=SnapshotWindows(10)),
        StepRules("visits", ("s",), ("s",), windows=SessionWindows(5, 20)),
        StepRules("of_visits", ("visits",), ("s",), windows=SnapshotWindows()),
    ]
    assert longest_lives(steps) == {"long": 7, "snap": 7, "slide": 10, "visits": 20, "of_visits": 20}
    assert [reach(steps[:number]) for number in (2, 3, 4, 5)] == [14, 20, 25, 45]


def test_a_session_without_a_longest_duration_adds_its_gap_alone_and_no_lifetime_to_the_reach() -> None:
    long = StepRules("visits", ("s",), ("s",), windows=SessionWindows(5, None), endless=True)
    assert (reach([long]), longest_lives([long])) == (5, {"visits": 0})


def test_where_every_stream_shifts_back_the_rows_of_the_source_themselves_are_reached_for() -> None:
    assert reach([StepRules("earlier", ("s",), ("s",), shift=-5)]) == 0


def test_a_step_that_was_added_later_begins_before_all_that_can_be_open() -> None:
    steps = [StepRules("visits", ("s",), ("s",), windows=SessionWindows(5, 20, lateness=2))]
    state = opening_states(steps, {}, {"s": Combined(100)}, first_run=False)["visits"]
    assert (state.reached, state.begins) == (100, 100)
    assert state.watermark == SessionWindows(5, 20, lateness=2).begun(100, 1) == 100 - 2 - 25 - 1


def test_the_watermark_of_a_step_is_what_its_open_windows_say_and_never_goes_back() -> None:
    before = StreamState(watermark=30, reached=50)
    for start, watermark in ((40, 40), (20, 30), (None, 60)):
        state, _ = advanced(VISITS, Combined(60), before, Told(start))
        assert (state.reached, state.watermark) == (60, watermark)


def test_time_alone_closes_the_windows_of_rows_that_ended_before_the_timeout() -> None:
    before = StreamState(watermark=30, reached=50)
    state, asked = advanced(IDLE, Combined(50), before, Told(40, (70, 85)), as_of=100)
    assert asked == [("idle", 80), ("earliest", 67)]
    assert (state.reached, state.idle_bound, state.idle_until, state.watermark) == (70, 70, 85, 40)
    assert state.bounds == (Passed(8, 70),)


def test_nothing_is_looked_up_again_before_a_window_may_end_by_time_alone_or_rows_come() -> None:
    rested = StreamState(watermark=40, reached=70, idle_bound=70, idle_until=85, bounds=(Passed(8, 70),))
    assert advanced(IDLE, Combined(50), rested, Told(40, (85, None)), as_of=104) == (rested, [])
    state, asked = advanced(IDLE, Combined(50), rested, Told(40, (85, None)), as_of=105)
    assert asked == [("idle", 85), ("earliest", 82)]
    assert (state.idle_bound, state.idle_until) == (85, MAX_TIME)
    assert advanced(IDLE, Combined(50), state, Told(40, (85, None)), as_of=200) == (state, [])
    woken, asked = advanced(IDLE, Combined(50), state, Told(40), as_of=200, last_row=200)
    assert (woken, asked) == (replace(state, idle_until=None), [])


def test_what_was_passed_is_kept_while_it_can_bound_a_window_or_a_row_to_come() -> None:
    passed = (Passed(2, 40), Passed(4, 50), Passed(6, 60))
    for watermark, kept in ((None, passed), (30, passed), (47, passed[1:]), (48, passed[2:]), (90, passed[2:])):
        assert needed(SnapshotWindows(lateness=3), passed, watermark) == kept


class Told:
    """What the rows tell, and what was asked of them."""

    def __init__(self, start: int | None, idle: tuple[int | None, int | None] = (None, None)) -> None:
        self.start, self.ends, self.asked = start, idle, list[tuple[str, int | None]]()

    def earliest(self, due: Due) -> int | None:
        self.asked.append(("earliest", due.settled[1]))
        return self.start

    def idle(self, due: Due, limit: int) -> tuple[int | None, int | None]:  # noqa: ARG002 - as looked up
        self.asked.append(("idle", limit))
        return self.ends


VISITS = StepRules("visits", ("s",), ("s",), windows=SessionWindows(5, 20))
IDLE = StepRules("visits", ("s",), ("s",), windows=SessionWindows(5, 20, lateness=3, idle_timeout=20))


def advanced(
    step: StepRules, below: Combined, before: StreamState, told: Told, as_of: int = 0, last_row: int = 70
) -> tuple[StreamState, list[tuple[str, int | None]]]:
    """The state after a run of batch 7, whose last row came in a run before, and what was asked."""

    def found(step: StepRules, state: StreamState, limit: int | None) -> StreamState:
        looking = Looking(lambda after: Due(step, before, after, 7, 7), lambda: told, False, False)
        return looking.state(state, limit)

    last_rows = {"s": last_row}
    ((_, state),) = advance_streams([step], {"s": below}, last_rows, {"visits": before}, as_of, found)
    return state, told.asked


def test_nothing_closes_while_the_watermark_stands() -> None:
    step = StepRules("visits", ("s",), ("s",), windows=SessionWindows(5, 20, lateness=2))
    before = StreamState(watermark=30, reached=50)
    assert not Due(step, before, replace(before), 1, 1).closes
    assert Due(step, before, replace(before, reached=51), 1, 1).closes
    assert Due(step, before, replace(before, complete=True), 1, 1).closes
    assert not Due(step, replace(before, complete=True), replace(before, complete=True), 1, 1).closes
    assert Due(step, before, replace(before, reached=51), 1, 1).settled == (48, 49)
    assert Due(step, before, replace(before, complete=True), 1, 1).settled == (48, None)


# -- the oracle, worked by hand


def test_a_row_a_gap_after_the_last_one_begins_another_session() -> None:
    assert sessions(points(0, 4, 9, 15), 5, 100) == {(0, 9): ["0", "4"], (9, 14): ["9"], (15, 20): ["15"]}


def test_a_session_is_cut_at_its_longest_duration_and_the_next_row_begins_another() -> None:
    assert sessions(points(0, 4, 8, 12), 5, 8) == {(0, 8): ["0", "4"], (8, 16): ["8", "12"]}


def test_a_session_without_a_longest_duration_lasts_as_long_as_rows_come() -> None:
    assert sessions(points(*range(0, 1000, 4), 1001), 5, None) == {
        (0, 1001): [str(time) for time in range(0, 1000, 4)],
        (1001, 1006): ["1001"],
    }


def test_a_session_waits_for_the_gap_after_its_longest_lifetime() -> None:
    assert sessions(lives((0, 10), (2, 3), (13, 14)), 5, 100) == {(0, 18): ["0", "2", "13"]}
    assert sessions(lives((0, 10), (14, 15)), 5, 100) == {(0, 14): ["0"], (14, 19): ["14"]}


def test_snapshots_lie_between_successive_starts_and_ends() -> None:
    found = snapshots(lives((0, 10), (4, 6), (4, 20), (30, 31)))
    assert found == {
        (0, 4): ["0"],
        (4, 6): ["0", "4", "4"],
        (6, 10): ["0", "4"],
        (10, 20): ["4"],
        (30, 31): ["30"],
    }


def test_points_at_one_instant_are_one_window() -> None:
    assert snapshots(points(3, 3, 4)) == {(3, 4): ["3", "3"], (4, 5): ["4"]}


def run_of(measured: Measured, *events: float, as_of: float = 100, more: Sequence[Run] = ()) -> list[StepRun]:
    rows = tuple(Row(event=s(event), arrival=s(as_of)) for event in events)
    runs = [Run(s(as_of), (Obj("o", s(as_of), rows),)), *more]
    told = replace(measured, aggregate=lambda items: {"rows": sorted(item.offset + 1 for item in items)})
    return [run["w"] for run in flow({"in": (KEPT, runs)}, {"w": Step(("in",), measured=told)})]


def test_the_stream_of_windows_is_pulled_back_to_the_start_of_the_earliest_that_is_open() -> None:
    (step,) = run_of(KINDS["sessions"], 0, 2, 20, 21)
    assert [(item.start, item.end) for item in step.written] == [(s(0), s(5))]
    assert (step.reached, step.watermark) == (s(21), s(20))
    (step,) = run_of(KINDS["sessions with lateness"], 0, 5)
    assert (step.reached, step.watermark, len(step.written)) == (s(5), s(3), 1)
    (step,) = run_of(KINDS["sliding"], 0, 3, 5)
    assert [(item.start, item.end) for item in step.written] == [(s(0), s(3)), (s(3), s(4)), (s(4), s(5))]
    assert step.watermark == s(5)


def test_a_row_behind_its_watermark_takes_part_from_the_watermark_on() -> None:
    more = [Run(s(101), (), close=True)]
    first, last = run_of(KINDS["sliding"], 10, 8, more=more)
    assert [(dead.item.offset + 1, dead.window) for dead in first.dead_letters] == [(2, (s(8), s(10)))]
    rows = [(item.start, item.end, item.payload["rows"]) for item in last.written]
    assert rows == [(s(10), s(12), [1, 2]), (s(12), s(14), [1])]
    first, last = run_of(KINDS["sessions"], 10, 8, more=more)
    assert [dead.window for dead in first.dead_letters] == [(s(8), s(8) + 1)]
    assert [item.payload["rows"] for item in last.written] == [[1]]
    first, last = run_of(KINDS["sessions with lateness"], 10, 9, more=more)
    assert not first.dead_letters
    assert [(item.start, item.end, item.payload["rows"]) for item in last.written] == [(s(9), s(12), [1, 2])]


def idle_for(seconds: float, **keys: Any) -> list[StepRun]:
    """Rows at 0, 2 and 20 s, an idle run so much later, and one that brings rows at 1, 21 and 30 s."""
    measured = Measured(session=(3 * SECOND, 60 * SECOND), idle_timeout=10 * SECOND, **keys)
    rows = tuple(Row(event=s(event), arrival=s(130)) for event in (1, 21, 30))
    more = [Run(s(100 + seconds)), Run(s(130), (Obj("p", s(130), rows),))]
    kept = replace(KEPT, out_of_order=(60 * SECOND, "keep"))
    told = replace(measured, aggregate=lambda items: {"rows": [item.offset + 1 for item in items]})
    brought = Run(s(100), (Obj("o", s(100), tuple(Row(event=s(at), arrival=s(100)) for at in (0, 2, 20))),))
    return [run["w"] for run in flow({"in": (kept, [brought, *more])}, {"w": Step(("in",), measured=told)})]


def windows_of(run: StepRun) -> list[tuple[int, int]]:
    return [(item.start, item.end) for item in run.written]


def test_time_alone_closes_sessions_as_they_stand_and_what_comes_behind_is_late() -> None:
    brought, idle, last = idle_for(20)
    assert windows_of(brought) == []
    assert windows_of(idle) == [(s(0), s(5)), (s(20), s(23))]
    assert (idle.reached, idle.watermark) == (s(23), s(23))
    assert [dead.window for dead in last.dead_letters] == [(s(1), s(1) + 1), (s(21), s(21) + 1)]
    assert windows_of(idle_for(9.9)[1]) == []


def test_with_lateness_time_alone_passes_a_window_when_it_closes() -> None:
    _, idle, last = idle_for(20, allowed_lateness=4 * SECOND)
    assert (idle.reached, idle.watermark) == (s(27), s(23))
    assert windows_of(idle) == [(s(0), s(5)), (s(20), s(23))]
    assert [dead.window for dead in last.dead_letters] == [(s(1), s(1) + 1), (s(21), s(21) + 1)]


# -- laws


def steps_of(measured: Measured) -> dict[str, Step]:
    """The windows themselves, over rows and over other windows, and windows of each kind over them."""
    told = replace(
        measured, aggregate=lambda items: {"k": "", "rows": [(i.source, i.partition, i.offset) for i in items]}
    )
    over = replace(measured, group_by=(), aggregate=lambda items: {"ns": [item.start for item in items]})
    return {
        "w": Step(("in",), measured=told),
        "longer": Step(("in",), shift=-SECOND, lifetime=3 * SECOND),
        "of_longer": Step(("longer",), measured=over),
        "of_w": Step(("w",), measured=over),
        "tumbling": Step(("w",), window=Window(6 * SECOND, 6 * SECOND, partition_by=measured.partition_by)),
        "of_tumbling": Step(("tumbling",), measured=over),
    }


def payload(_: str, row: Row) -> dict[str, Any]:
    return {"k": row.substream}


def contents(found: list[dict[str, StepRun]], name: str) -> Counter[Any]:
    return Counter((i.start, i.end, repr(sorted(i.payload.items()))) for run in found for i in run[name].written)


@pytest.mark.parametrize("measured", MANY)
@LAW
@given(st.data())
def test_a_closed_window_never_changes_and_output_is_behind_the_watermark(
    measured: Measured, data: st.DataObject
) -> None:
    """The oracle itself holds that windows it wrote come out again, whatever later runs bring."""
    log: Log = data.draw(logs())
    found = flow({"in": (log.source, log.runs)}, steps_of(measured), payload)
    for name in steps_of(measured):
        for before, after in pairwise(found):
            was, now = before[name].watermark, after[name].watermark
            assert was is None or (now is not None and now >= was)
    for run in found:
        if measured.partition_by is None and run["w"].reached not in (None, COMPLETE):  # parts go ahead of their step
            assert all(item.end <= run["w"].reached for item in run["w"].written)


@pytest.mark.parametrize("measured", LASTING)
@LAW
@given(st.data())
def test_law_1_they_are_the_same_however_the_log_is_cut_into_runs(measured: Measured, data: st.DataObject) -> None:
    log: LawfulLog = data.draw(lawful_logs())
    both = []
    for _ in range(2):
        runs = data.draw(recuts(log.objects))
        closing = Run(max(run.as_of for run in runs), (), close=True)
        both.append(flow({"in": (log.source, [*runs, closing])}, steps_of(measured), payload))
    for name in ("w", "of_longer", "of_w", "of_tumbling"):
        assert contents(both[0], name) == contents(both[1], name)
    letters = [Counter((d.item.offset, d.window) for run in each for d in run["w"].dead_letters) for each in both]
    assert letters[0] == letters[1]


@pytest.mark.parametrize("measured", MANY)
@LAW
@given(st.data())
def test_law_2_every_row_takes_part_or_is_a_dead_letter_or_both(measured: Measured, data: st.DataObject) -> None:
    """A session holds a row once; every tick of a lifetime is in a window, or in the part that was late."""
    log: Log = data.draw(logs(close=False))
    runs = [*log.runs, Run(max(run.as_of for run in log.runs), (), close=True)]
    given_ = steps_of(measured) | {"all": Step(("in",), publish=True)}
    found = flow({"in": (log.source, runs)}, given_, payload)
    rows = [(item.partition, item.offset, item) for run in found for item in run["all"].written]
    counted: Counter[Any] = Counter()
    for run in found:
        for window in run["w"].written:
            for _, partition, offset in window.payload["rows"]:
                counted[partition, offset] += 1 if measured.session else window.end - window.start
        for dead in run["w"].dead_letters:
            whole = dead.window[1] == measured.end_of(dead.item)
            missing = int(whole) if measured.session else dead.window[1] - dead.window[0]
            counted[dead.item.partition, dead.item.offset] += missing
    lasting = {
        (partition, offset): 1 if measured.session else measured.end_of(item) - item.start
        for partition, offset, item in rows
        if held(item.start) == item.start and held(measured.end_of(item)) == measured.end_of(item)
    }
    assert {row: counted[row] for row in lasting} == lasting


SLIDING = Measured(size=4 * SECOND, group_by=("k",))
FROM_A_START = {
    "sliding": ({"w": Step(("in",), measured=SLIDING)}, 8 * SECOND),
    "snapshots": (
        {
            "longer": Step(("in",), shift=SECOND, lifetime=3 * SECOND),
            "w": Step(("longer",), measured=Measured()),
        },
        7 * SECOND,
    ),
}


@pytest.mark.parametrize(("steps", "back"), FROM_A_START.values(), ids=FROM_A_START)
@LAW
@given(st.data())
def test_law_4_windows_that_end_after_a_start_need_no_more_than_their_reach(
    steps: dict[str, Step], back: int, data: st.DataObject
) -> None:
    log: LawfulLog = data.draw(lawful_logs(data.draw(sources(law4=True))))
    start = BASE + data.draw(st.integers(0, 30)) * SECOND
    runs = data.draw(recuts(log.objects))
    runs = (*runs, Run(max(run.as_of for run in runs), (), close=True))
    told = [
        flow({"in": (replace(log.source, start=read_from), runs)}, steps, payload, start)
        for read_from in (None, start - back)
    ]
    assert contents(told[0], "w") == contents(told[1], "w")
