"""Each complete period is emitted exactly once, however often it is asked for; changed ones once more."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tidemark.core.calendar.calendars import Unit
from tidemark.core.completeness.emitted import Emitted, due
from tidemark.core.completeness.periods import Periods
from tidemark.core.times import DAY, HOUR, MAX_TIME, MIN_TIME

HOURS = Periods(Unit.HOUR)
DAYS = 8
MOMENTS = st.integers(0, DAYS * 24 * 2).map(lambda half: half * HOUR // 2)
RANGES = st.tuples(MOMENTS, MOMENTS).map(lambda pair: (min(pair), max(pair)))


def asked(record: Emitted, watermark: int, most: int, got: Counter[int], again: Counter[int]) -> Emitted:
    """Emit what is due; the record is read back as Airflow keeps it."""
    found = due(record, HOURS, watermark, most)
    for period in (*found.again, *found.new):
        assert period.end <= watermark, "too early"
    assert len(found.again) + len(found.new) <= most
    got.update(period.start for period in found.new)
    again.update(period.start for period in found.again)
    kept = Emitted.of(found.after.record)
    assert kept == found.after
    return kept


@settings(deadline=None, max_examples=60)
@given(
    since=st.integers(0, 48).map(lambda hour: hour * HOUR),
    marks=st.lists(MOMENTS, min_size=1),
    most=st.integers(1, 50),
)
def test_every_complete_period_is_emitted_once(since, marks, most):
    """Also if a watermark is behind an earlier one, and if only a few are emitted at a time."""
    record, got = Emitted(1, 1, since, since), Counter()
    for mark in marks:
        record = asked(record, mark, most, got, got)
    for _ in range(DAYS * 24 // most + 1):
        record = asked(record, max(marks), most, got, got)
    assert got == Counter(range(since, max(marks) // HOUR * HOUR, HOUR))


@settings(deadline=None, max_examples=60)
@given(mark=MOMENTS, later=MOMENTS, changed=st.lists(RANGES, max_size=3), most=st.integers(1, 100))
def test_a_promotion_emits_days_that_it_changed_once_more(mark, later, changed, most):
    """The new version's watermark may be behind that of the version before."""
    record, got, again = Emitted(1, 1), Counter(), Counter()
    while (found := asked(record, mark, most, got, again)) != record:
        record = found
    switched = record.switched(2, changed, HOURS, later)
    assert switched.version == 2
    before, got = got, Counter()
    for reached in (later, max(mark, later), DAYS * DAY):
        for _ in range(DAYS * 24 // most + 1):
            switched = asked(switched, reached, most, got, again)
    wanted = Counter(hour for hour in range(0, DAYS * DAY, HOUR) if hour not in before)
    touched = [(first, last) for first, last in changed if first < min(last, record.through)]
    touched += [(later, record.through)] if later < record.through else []
    for hour in before:
        day = hour // DAY * DAY
        if any(day < last and first < day + DAY for first, last in cut(touched, record.through)):
            wanted[hour] += 1
    assert got + again == wanted


def cut(ranges: list[tuple[int, int]], through: int) -> list[tuple[int, int]]:
    return [(first, min(last, through)) for first, last in ranges]


def test_everything_means_from_the_first_period_on():
    record = Emitted(1, 1, since=3 * HOUR, through=30 * HOUR).switched(2, [(MIN_TIME, MAX_TIME)], HOURS, 40 * HOUR)
    found = due(record, HOURS, 30 * HOUR, 100)
    assert [period.start for period in found.again] == list(range(3 * HOUR, 30 * HOUR, HOUR))


def test_another_unit_goes_on_where_the_one_before_ended():
    record = Emitted(1, 1, since=0, through=30 * HOUR)
    found = due(record, Periods(Unit.DAY), 3 * DAY, 100)
    assert [period.start for period in found.new] == [DAY, 2 * DAY]
    assert [period.start for period in due(found.after, HOURS, 3 * DAY + HOUR, 100).new] == [3 * DAY]


def test_without_a_record_there_is_none():
    assert Emitted.of(None) is None
