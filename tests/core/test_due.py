"""What is due of a stream when a run ends: nothing if nothing has moved, and never less than may be written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.core.stream_output import Due, PartitionProgress
from tidemark.core.streams import (
    StepRules,
    StreamEnd,
    StreamState,
    advance_streams,
    lineage,
    longest_lives,
    opening_states,
    part_watermark,
    reach,
)
from tidemark.core.watermarks import Combined
from tidemark.core.windows import FixedWindows, SessionWindows, SnapshotWindows

PLAIN = StepRules("s", ("a",), ("a",))
TUMBLING = StepRules("w", ("a",), ("a",), windows=FixedWindows(10, 10))
GAPS = StepRules("g", ("a",), ("a",), windows=FixedWindows(4, 10))
VISITS = StepRules("v", ("a",), ("a",), windows=SessionWindows(5, 20, lateness=2))
SHIFTED = StepRules("shifted", ("a",), ("a",), shift=-3)
PARTS = StepRules("p", ("shifted",), ("a",), windows=FixedWindows(10, 10, partition_by="partition"))
OUTER = StepRules("o", ("p",), ("a",), windows=FixedWindows(20, 20, partition_by="partition"))
SUBSTREAMS = StepRules("p", ("shifted",), ("a",), windows=FixedWindows(10, 10, partition_by="substream"))
OF_VISITS = StepRules("q", ("pv",), ("a",), windows=FixedWindows(20, 20, partition_by="partition"))
SOURCE_PARTS = replace(PARTS, name="sp", inputs=("a",))
OF_PARTS = StepRules("ov", ("sp",), ("a",), windows=SessionWindows(5, 20, partition_by="partition"))
PART_VISITS = replace(VISITS, name="pv", windows=SessionWindows(5, 20, partition_by="partition"))
STATE = StreamState(watermark=30, reached=33)


def due(step: StepRules, after: StreamState = STATE, before: StreamState = STATE, **keys: object) -> Due:
    return replace(Due(step, before, after, 7, 9), **keys)


def parted(step: StepRules, *parts: tuple[str, int | None, int | None], path: tuple[StepRules, ...], **keys) -> Due:
    """A step over parts, whose states stay where they are."""
    states = {each.name: STATE for each in path}
    marks = tuple(PartitionProgress(*part) for part in parts)
    return due(step, parts=marks, path=path, states=(states, states), **keys)


NOTHING = [
    due(PLAIN),
    due(PLAIN, brought=True),
    due(PLAIN, kept=True),
    due(PLAIN, ending=True),
    due(PLAIN, StreamState(40, True), StreamState(40, True), kept=True, brought=True),
    due(PLAIN, gapped=True),
    due(TUMBLING),
    due(TUMBLING, brought=True),
    due(TUMBLING, replace(STATE, reached=39)),
    due(TUMBLING, kept=True),
    due(GAPS),
    due(GAPS, joined=True),
    due(VISITS),
    due(VISITS, replace(STATE, reached=None), replace(STATE, reached=None), brought=True),
    due(VISITS, replace(STATE, complete=True), replace(STATE, complete=True), brought=True),
    parted(PARTS, ("0", 30, 30), ("1", 35, 35), path=(SHIFTED, PARTS)),
    parted(PARTS, ("0", 33, 42), ("1", 35, 35), path=(SHIFTED, PARTS)),
    parted(SUBSTREAMS, ("0", 30, 30), path=(SHIFTED, SUBSTREAMS)),
    parted(OUTER, ("0", 43, 62), path=(SHIFTED, PARTS, OUTER)),
    due(VISITS, added=True),
    parted(SOURCE_PARTS, ("0", 33, 33), ("1", 39, 39), path=(SOURCE_PARTS,), added=True),
]


@pytest.mark.parametrize("each", NOTHING, ids=lambda each: f"{each.step.name} {NOTHING.index(each)}")
def test_nothing_is_due_if_nothing_can_be_committed_or_close(each):
    assert not each.anything


COMPLETE = replace(STATE, complete=True)
SOMETHING = [
    due(PLAIN, gapped=True, brought=True),
    due(PLAIN, replace(STATE, watermark=31)),
    due(PLAIN, COMPLETE),
    due(PLAIN, kept=True, brought=True),
    due(PLAIN, ending=True, brought=True),
    due(PLAIN, straggling=True),
    due(TUMBLING, replace(STATE, reached=40)),
    due(TUMBLING, COMPLETE),
    due(TUMBLING, kept=True, brought=True),
    due(replace(TUMBLING, windows=FixedWindows(10, 10, idle_timeout=9)), brought=True),
    due(GAPS, brought=True),
    due(GAPS, replace(STATE, reached=34), joined=True),
    due(GAPS, COMPLETE, joined=True),
    due(VISITS, brought=True),
    due(VISITS, replace(STATE, reached=34)),
    due(VISITS, COMPLETE),
    parted(PARTS, ("0", 33, 43), ("1", 35, 35), path=(SHIFTED, PARTS)),
    parted(PARTS, ("0", None, 13), path=(SHIFTED, PARTS)),
    parted(SUBSTREAMS, ("0", 30, 31), path=(SHIFTED, SUBSTREAMS)),
    parted(SUBSTREAMS, ("0", 30, 30), path=(SHIFTED, SUBSTREAMS), brought=True),
    parted(SUBSTREAMS, ("0", 30, 30), path=(SHIFTED, SUBSTREAMS), after=COMPLETE),
    parted(OUTER, ("0", 43, 63), path=(SHIFTED, PARTS, OUTER)),
    parted(PART_VISITS, ("0", 30, 31), path=(PART_VISITS,)),
    parted(PART_VISITS, ("0", 33, 33), ("1", 45, 45), path=(PART_VISITS,), added=True),
    parted(SOURCE_PARTS, ("0", 33, 33), ("1", 45, 45), path=(SOURCE_PARTS,), added=True),
    parted(SUBSTREAMS, ("0", 33, 33), path=(SHIFTED, SUBSTREAMS), added=True),
]


@pytest.mark.parametrize("each", SOMETHING, ids=lambda each: f"{each.step.name} {SOMETHING.index(each)}")
def test_something_is_due_if_a_row_or_a_window_may_be(each):
    assert each.anything


def test_a_stream_that_was_complete_writes_no_more_but_what_came_late_for_windows():
    assert not due(PLAIN, COMPLETE, COMPLETE, kept=True, brought=True).commits
    late = due(TUMBLING, COMPLETE, COMPLETE, kept=True, brought=True)
    assert (late.closes, late.late, due(PLAIN, kept=True, brought=True).late) == (False, True, False)


def test_windows_that_overlap_or_touch_leave_no_gaps():
    overlapping = replace(GAPS, windows=FixedWindows(10, 4))
    assert [due(step, brought=True).gaps for step in (GAPS, TUMBLING, overlapping, VISITS, PLAIN)] == [True] + [
        False
    ] * 4


def test_pairs_lie_in_gaps_only_when_the_step_has_moved_on():
    found = [
        due(GAPS, after, joined=joined).gaps
        for after in (STATE, replace(STATE, reached=34), COMPLETE)
        for joined in (False, True)
    ]
    assert found == [False, False, False, True, False, True]


def test_without_more_facts_a_run_brought_nothing():
    plain = Due(TUMBLING, STATE, STATE, 1, 2)
    assert not any((plain.kept, plain.brought, plain.ending, plain.joined, plain.straggling))


def test_one_part_or_step_that_moved_is_enough():
    assert parted(SUBSTREAMS, ("0", 30, 31), ("1", 9, 9), path=(SHIFTED, SUBSTREAMS)).closes
    assert parted(PART_VISITS, ("0", 30, 31), ("1", 9, 9), path=(PART_VISITS,)).closes
    assert not parted(PART_VISITS, ("0", 30, 30), path=(PART_VISITS,)).closes
    assert not parted(OF_PARTS, ("0", 31, 32), path=(SOURCE_PARTS, OF_PARTS)).closes, "in the same window below"
    assert parted(OF_PARTS, ("0", 39, 41), path=(SOURCE_PARTS, OF_PARTS)).closes
    still = parted(SUBSTREAMS, ("0", 30, 30), path=(SHIFTED, replace(PARTS, name="between"), SUBSTREAMS))
    assert not still.closing()
    before, after = still.states
    assert replace(still, states=(before, after | {"shifted": replace(STATE, watermark=31)})).closing()
    assert replace(still, states=(before, after | {"between": replace(STATE, watermark=31)})).closing()


def test_times_passed_are_those_of_the_parts_whose_windows_may_close():
    step = parted(PARTS, ("0", 31, 43), ("1", 35, 36), ("2", None, 13), path=(SHIFTED, PARTS))
    assert [(part.partition, part.before, part.after) for part in step.passed_by_part()] == [
        ("0", 28, 40),
        ("1", 32, 33),
        ("2", None, 10),
    ]
    assert step.closing() == [(28, 40), (None, 10)]
    assert replace(step, after=COMPLETE).closing() == [(28, 40), (32, 33), (None, 10)]
    assert due(TUMBLING, replace(STATE, reached=40)).closing() == [(33, 40)]
    assert due(VISITS).closing() == due(PLAIN).closing() == []
    moved = parted(SUBSTREAMS, ("0", 30, 31), path=(SHIFTED, SUBSTREAMS))
    assert moved.closing() == [(33, 33)]
    assert replace(moved, parts=()).closing() == []
    assert replace(moved, parts=(), after=COMPLETE).closing() == [(33, 33)]


def test_no_part_of_an_added_step_has_passed_more_than_the_step():
    step = parted(SOURCE_PARTS, ("0", 33, 34), ("1", 45, 46), ("2", None, 31), path=(SOURCE_PARTS,), added=True)
    assert [part.before for part in step.passed_by_part()] == [33, 33, None]
    assert step.closing() == [(33, 46), (None, 31)]
    assert [part.before for part in replace(step, before=StreamState()).passed_by_part()] == [None] * 3


def test_a_step_is_listed_by_partitions_unless_windows_of_rows_lie_below():
    assert parted(PARTS, path=(SHIFTED, PARTS)).listed
    assert parted(PART_VISITS, path=(PART_VISITS,)).listed
    assert not parted(SUBSTREAMS, path=(SHIFTED, SUBSTREAMS)).listed
    assert not parted(OF_VISITS, path=(PART_VISITS, OF_VISITS)).listed
    assert not due(TUMBLING).listed


def test_parts_of_windows_over_windows_of_rows_may_have_moved_when_these_have():
    still = parted(OF_VISITS, ("0", 30, 30), path=(PART_VISITS, OF_VISITS))
    assert not still.closes
    before, after = still.states
    moved = replace(still, states=(before, after | {"pv": replace(STATE, open_since=3)}))
    assert moved.closes
    assert not replace(still, states=(before, after | {"q": replace(STATE, open_since=3)})).closes


def test_the_least_time_passed_is_that_of_the_slowest_part():
    step = parted(OUTER, ("0", 42, 63), ("1", 55, 90), path=(SHIFTED, PARTS, OUTER))
    assert step.least_passed() == 60, "63 less 3, and the window of 10 that ends then is closed"
    assert step.least_before() == 30, "42 less 3, and the window from 30 on is open"
    assert replace(step, parts=(*step.parts, PartitionProgress("2", None, None))).least_passed() is None
    assert replace(step, parts=()).least_passed() is None
    assert replace(step, parts=()).least_before() == 33
    assert replace(step, before=StreamState(), parts=()).least_before() is None
    ahead = parted(PARTS, ("0", 90, 90), path=(SHIFTED, PARTS))
    assert ahead.least_before() == 33


def test_windows_of_rows_below_pull_their_parts_back_to_what_is_open():
    step = parted(OF_VISITS, ("0", 42, 63), path=(PART_VISITS, OF_VISITS))
    assert step.least_passed() == 30
    before, after = step.states
    behind = replace(step, states=(before, after | {"pv": replace(STATE, open_since=20)}))
    assert (behind.least_passed(), behind.least_before()) == (20, 30)


def test_a_part_without_a_punctuation_may_lie_behind_without_a_bound():
    new, old = PartitionProgress("1", None, 40), PartitionProgress("0", 30, 40)
    step = parted(PARTS, path=(SHIFTED, PARTS), straggling=True)
    assert replace(step, parts=(old, new)).unbounded
    assert not replace(step, parts=(old,)).unbounded
    assert not replace(step, parts=(old, new), straggling=False).unbounded
    assert replace(step, parts=(old, new)).least_before() is None
    assert replace(step, parts=(old, new)).begun() is None
    assert (due(VISITS).begun(), due(VISITS, before=replace(STATE, open_since=12)).begun()) == (30, 12)


def test_a_step_as_it_was_before_the_run_has_nothing_due():
    step = parted(PARTS, ("0", 31, 43), path=(SHIFTED, PARTS), after=replace(STATE, reached=50))
    before, after = step.states
    was = replace(step, states=(before, after | {"p": COMPLETE})).earlier()
    assert (was.after, was.first_batch, was.last_batch, was.anything) == (STATE, 7, 6, False)
    assert was.parts == (PartitionProgress("0", 31, 31),)
    assert was.states == (before, before)


def test_a_step_on_the_path_is_due_with_its_own_states():
    states = ({"shifted": StreamState(1), "p": StreamState(2)}, {"shifted": StreamState(3), "p": StreamState(4)})
    step = replace(parted(OUTER, path=(SHIFTED, PARTS, OUTER)), states=states)
    below = step.below(1)
    assert (below.step, below.before, below.after) == (PARTS, StreamState(2), StreamState(4))
    assert below.path == (SHIFTED, PARTS)


def test_only_windows_of_rows_have_times_by_which_they_are_settled():
    assert due(VISITS, replace(STATE, reached=40)).settled == (31, 38)
    assert due(VISITS, COMPLETE).settled == (31, None)
    with pytest.raises(ValueError, match="w has no windows whose bounds come from rows"):
        due(TUMBLING).settled  # noqa: B018 - it raises


def test_a_stream_of_which_nothing_is_due_has_written_nothing():
    end = StreamEnd(STATE)
    assert (end.rows, end.outside, end.dead_letters) == (0, 0, 0)


# -- steps


def test_the_lineage_of_a_stream_leads_from_its_source_to_it():
    steps = [SHIFTED, PARTS, OUTER, PLAIN]
    assert [step.name for step in lineage(steps, "o")] == ["shifted", "p", "o"]
    assert [step.name for step in lineage(steps, "s")] == ["s"]


def test_a_part_passes_what_shifts_idleness_and_windows_below_leave_of_its_watermark():
    path, idle = (SHIFTED, PARTS, OUTER), {"p": StreamState(idle_bound=50), "o": StreamState(idle_bound=20)}
    assert part_watermark(path, {"p": StreamState(), "o": StreamState()}, 48) == 40
    assert part_watermark(path, idle, 48) == 50
    assert part_watermark(path, idle, None) == 50
    assert part_watermark(path[:1], {}, None) is None
    assert part_watermark(path[:2], {"p": StreamState()}, 48) == 45


def test_reach_sums_windows_lifetimes_and_shifts_along_the_longest_path():
    longer = StepRules("l", ("shifted",), ("a",), lifetime=7)
    snapshots = StepRules("n", ("l", "w"), ("a",), windows=SnapshotWindows())
    assert reach([SHIFTED, longer]) == 4
    assert reach([TUMBLING, SHIFTED, longer, snapshots]) == 20
    assert reach([replace(SHIFTED, shift=3), replace(longer, shift=2)]) == 12
    assert reach([]) == 0


def test_rows_of_a_source_live_for_a_tick_and_those_of_a_union_for_the_longest_of_its_lives():
    longer, both = StepRules("l", ("a",), ("a",), lifetime=7), StepRules("both", ("a", "l"), ("a",))
    snapshots = StepRules("n", ("a",), ("a",), windows=SnapshotWindows())
    assert longest_lives([longer, both, snapshots]) == {"l": 7, "both": 7, "n": 1}
    assert reach([snapshots]) == 1


@pytest.mark.parametrize("step", [PLAIN, TUMBLING, VISITS], ids=lambda step: step.name)
def test_a_complete_input_holds_no_other_back_until_all_are_complete(step):
    both = replace(step, inputs=("a", "b"))

    def ended(a: Combined, b: Combined) -> tuple[bool, int | None]:
        ((_, state),) = advance_streams([both], {"a": a, "b": b}, {}, {}, 0)
        return state.complete, state.passed

    assert ended(Combined(20), Combined(50)) == (False, 20)
    assert ended(Combined(20, complete=True), Combined(50)) == (False, 50)
    assert ended(Combined(20, complete=True), Combined(50, complete=True)) == (True, 20)


def test_a_stream_that_was_added_begins_at_its_sources_present_watermark():
    steps = [TUMBLING, VISITS, replace(VISITS, name="endless", endless=True)]
    recorded = {"w": StreamState(1)}
    found = opening_states(steps, recorded, {"a": Combined(97)}, first_run=False)
    assert found["w"] == StreamState(1)
    assert (found["v"].watermark, found["v"].begins) == (97 - 2 - 25 - 1, 97)
    assert (found["endless"].watermark, found["endless"].begins) == (None, 97)
    longer = [StepRules("l", ("a",), ("a",), lifetime=7), replace(VISITS, inputs=("a", "l"))]
    assert opening_states(longer, {}, {"a": Combined(97)}, False)["v"].watermark == 97 - 2 - 25 - 7
    over = [VISITS, StepRules("over", ("v",), ("a",))]
    state = StreamState(watermark=40, reached=97)
    assert opening_states(over, {"v": state}, {"a": Combined(97)}, False)["over"].begins == 40
    assert opening_states(steps, recorded, {"a": Combined(97)}, first_run=True) == dict.fromkeys(found, StreamState())
    fresh = opening_states([SHIFTED, replace(TUMBLING, inputs=("shifted",))], {}, {"a": Combined(97)}, False)
    assert (fresh["w"].watermark, fresh["w"].begins, fresh["shifted"].begins) == (90, 94, 94)


def test_a_stream_added_over_windows_begins_with_the_first_output_that_lacks_none_of_them():
    over = StepRules("o", ("moved",), ("a",), windows=FixedWindows(20, 20))
    moved = StepRules("moved", ("w",), ("a",), shift=3)
    looking = StepRules("looking", ("o",), ("a",), within=7)
    steps = [TUMBLING, moved, over, looking]

    def begun(recorded):
        found = opening_states(steps, recorded, {"a": Combined(97)}, False)
        return [found[each.name].begins for each in steps]

    # windows that end after 97, moved by 3: one of 20 that begins at 100 lacks none
    assert begun({}) == [97, 100, 97 + 3 + 19, 97 + 3 + 19 + 7]
    older = StreamState(reached=90, begins=15)
    assert begun({"w": older}) == [15, 93, 93, 93 + 7]
    assert begun({"w": replace(older, begins=95)}) == [95, 98, 95 + 3 + 19, 95 + 3 + 19 + 7]
    # those that were there from the first run on have all rows
    assert begun({"w": StreamState(reached=90)}) == [None, 93, 93, 93 + 7]


def test_a_stream_that_was_added_begins_with_the_first_output_that_lacks_no_row_of_a_source():
    looking = StepRules("looking", ("a",), ("a",), within=7)
    steps = [TUMBLING, looking, replace(VISITS, windows=SessionWindows(25, 1000))]

    def begun(since):
        found = opening_states(steps, {}, {"a": Combined(97)}, False, {"a": since})
        return [found[each.name].begins for each in steps]

    assert begun(50) == [97, 97, 50 + 1000 + 25]
    assert begun(95) == [95 + 10 - 1, 95 + 7, 95 + 1000 + 25]


def test_a_join_with_gaps_reads_its_right_side_from_the_start_of_a_left_row_on():
    left, right = StepRules("l", ("a",), ("a",), lifetime=7), StepRules("r", ("b",), ("b",), lifetime=5)
    join = StepRules("j", ("l", "r"), ("a", "b"))
    assert reach([left, right, join]) == 7
    assert reach([left, right, replace(join, gapped=True)]) == 5 + 7 - 1
    points = replace(join, inputs=("a", "r"), gapped=True)
    assert reach([right, points]) == 5
