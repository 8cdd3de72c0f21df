"""Grids of tolerances, what chunks leave to others, targets, and which cell is recommended."""

from __future__ import annotations

import pytest

from tidemark.core.advice.costs import FateCounts, Targets, ToleranceCost, recommended, targets_for
from tidemark.core.advice.grid import RUNGS, Grid, chosen, rungs
from tidemark.core.advice.history import NONE
from tidemark.core.advice.maxima import High, before_chunks, by_batch
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.times import DAY, SECOND, format_duration, parse_duration

DROP, ADJUST, KEEP = Action.DROP, Action.ADJUST, Action.KEEP


def policy(late: Action | None, order: Action) -> Policy:
    return Policy(None, None if late is None else Tolerance(0, late), Tolerance(0, order))


def cell(late: int | None, order: int, delay: int | None, dropped: int = 0, adjusted: int = 0) -> ToleranceCost:
    return ToleranceCost(late, order, FateCounts(100, adjusted, dropped, 0, 0), {}, delay, delay)


def test_rungs_ascend_and_read_at_a_glance():
    assert list(RUNGS) == sorted(set(RUNGS))
    assert RUNGS[0] == 0
    assert all(len(format_duration(rung)) <= 5 for rung in RUNGS)
    assert rungs([7 * SECOND, None], 20 * DAY)[-1] == 20 * DAY
    assert 7 * SECOND in rungs([7 * SECOND])


def test_tolerances_are_chosen_where_quantiles_of_rows_are():
    of = tuple(parse_duration(text) for text in ("0s", "1s", "5s", "1m", "1h"))
    assert chosen({0: 50, 1: 40, 3: 10}, of) == {0, 1 * SECOND, parse_duration("1m")}
    assert chosen({0: 10}, of) == chosen({}, of) == {0}
    assert chosen({0: 1, 5: 1}, of) == {0, of[-1]}


def test_no_more_than_eight_tolerances_are_chosen_the_most_informative_first():
    rows = (2500, 2500, 2500, 1500, 500, 300, 100, 50, 40, 9, 1)  # each quantile has a place of its own
    shares = (0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999, 1.0)
    kept = {
        RUNGS[place + 1] for place, share in enumerate(shares) if share in (1.0, 0.99, 0.5, 0.9, 0.999, 0.95, 0.75)
    }
    assert chosen(dict(enumerate(rows, start=1)), RUNGS) == {0} | kept


def test_a_watermark_trails_by_the_lesser_tolerance_unless_late_is_off_or_the_action_is_keep():
    grid = Grid.of([None, 5, 2], [9, 3])
    assert (grid.lates, grid.disorders) == ((2, 5, None), (3, 9))
    assert grid.behind() == ((2, 2), (3, 5), (3, 9))
    assert grid.behind(KEEP) == ((3, 9), (3, 9), (3, 9))
    assert Grid.of([4], [1, 1]) == Grid((4,), (1,))


def test_chunks_are_left_what_earlier_ones_of_their_partition_reached():
    grid = Grid.of([2, 5, None], [0])
    highs = [
        High("p", 1, 0, 0, stamp=10, arrival=11),
        High("p", 1, 0, 2, stamp=4, arrival=20),
        High("p", 2, 1, 1, stamp=17, arrival=20),
        High("p", 2, 7, 0, stamp=30, arrival=30),
        High("q", 2, 0, 0, stamp=1, arrival=1),
    ]
    assert before_chunks(grid, highs) == [
        ("p", 1, ((18, 15, 10), (10, 10, 10))),
        ("p", 7, ((18, 17, 17), (10, 17, 17))),
    ]
    late = [High("p", 1, 0, 2, stamp=4, arrival=20), High("p", 2, 1, 0, stamp=30, arrival=30)]
    assert before_chunks(Grid.of([2, 5], [0]), late) == [("p", 1, ((18, 15), (NONE, NONE)))]
    assert by_batch(highs) == {("p", 1): 10, ("p", 2): 30, ("q", 2): 1}


TARGETS = [
    ("what is given counts alone", Targets(0.5), Targets(0.1, 0.1), policy(ADJUST, ADJUST), Targets(0.5)),
    ("limits on what the source does", Targets(), Targets(0.1, 0.2), policy(ADJUST, KEEP), Targets(None, 0.2)),
    ("a limit of zero is a limit", Targets(), Targets(0.0, 0.2), policy(DROP, ADJUST), Targets(0.0, 0.2)),
    ("one per cent of what it does", Targets(), Targets(0.1, None), policy(ADJUST, ADJUST), Targets(None, 0.01)),
    ("no limit on what it does not do", Targets(), Targets(0.1, 0.2), policy(DROP, DROP), Targets(0.1, None)),
    ("dropping alone", Targets(), Targets(), policy(DROP, DROP), Targets(0.01, None)),
    ("late off adjusts", Targets(), Targets(), policy(None, DROP), Targets(0.01, 0.01)),
]


@pytest.mark.parametrize(("given", "limits", "rules", "found"), [t[1:] for t in TARGETS], ids=[t[0] for t in TARGETS])
def test_targets(given, limits, rules, found):
    assert targets_for(given, limits, rules) == found


@pytest.mark.parametrize(
    ("targets", "met"),
    [
        (Targets(), True),
        (Targets(dropped=0.02), True),
        (Targets(dropped=0.0199), False),
        (Targets(adjusted=0.03), True),
        (Targets(adjusted=0.0299), False),
        (Targets(0.5, 0.0), False),
    ],
)
def test_targets_are_met_up_to_their_shares_of_all_rows(targets, met):
    assert targets.met(FateCounts(100, 3, 2, 0, 0)) == met


def test_the_smallest_delay_is_recommended_then_the_smallest_late_then_the_smallest_disorder():
    slow, off, wide, narrow = cell(1, 0, 9), cell(None, 0, 5), cell(3, 4, 5), cell(3, 2, 5)
    unknown, lossy = cell(0, 0, None), cell(0, 0, 0, dropped=2)
    cells = [slow, off, wide, narrow, unknown, lossy]
    asked = Targets(dropped=0.01)
    for best in (narrow, wide, off, slow, unknown, None):
        assert recommended(cells, asked) is best
        cells = [each for each in cells if each is not best]
