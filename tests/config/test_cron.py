"""Schedules: what is accepted is what the scheduler's own reader of cron texts takes."""

from __future__ import annotations

from random import Random

import pytest
from croniter import CroniterError, croniter

from tidemark.config.models.cron import PRESETS, checked_schedule, no_time

ITEMS = (
    "*",
    "0",
    "5",
    "12",
    "31",
    "59",
    "60",
    "7",
    "8",
    "*/15",
    "*/0",
    "1-5",
    "5-1",
    "jan",
    "mon-fri",
    "L",
    "?",
    "x",
)


def accepted(text: str) -> bool:
    try:
        return no_time(checked_schedule(text)) is None
    except ValueError:
        return False


def test_no_text_is_accepted_that_the_scheduler_cannot_read():
    dice = Random(7)  # noqa: S311 - the same texts each time
    texts = [" ".join(dice.choice(ITEMS) for _ in range(5)) for _ in range(3_000)]
    texts += ["*/15 * * * *", "0 6 * * mon-fri", "0 0 1,15 * *", "0 0 L * *", "0 0 * * 5#3", "0 0 29 2 *"]
    taken = [text for text in texts if accepted(text)]
    assert len(taken) > 100
    assert [text for text in taken if not croniter.is_valid(text)] == []


def test_what_the_scheduler_finds_no_time_for_is_refused_and_nothing_else():
    dice = Random(7)  # noqa: S311 - the same texts each time
    days = ("*", "?", "L", "5", "15/13", "28-31", "30-31", "31", "29,31", "31-30", "*/30", "27", "019")
    months = ("*", "2", "feb", "2-2", "2,4", "2-4", "4-6/2", "*/2", "jan", "12/2", "11", "11-2")
    weekdays = ("*", "?", "1", "mon-fri", "1#5", "thu#2", "L5", "7#1", "1#5,2#1", "mon,tue#2")
    texts = {" ".join(("0 0", *map(dice.choice, (days, months, weekdays)))) for _ in range(600)}
    found = {text: next_time(text) is not None for text in texts}
    assert {text for text, comes in found.items() if comes != accepted(text)} == set()
    assert list(found.values()).count(False) > 20


def next_time(text: str) -> float | None:
    """The first time of a schedule, as the scheduler finds it; None if it finds none or cannot read the text."""
    try:
        found: float = croniter(text, 1_767_225_600).get_next()
    except CroniterError:
        return None
    return found


@pytest.mark.parametrize("text", [*PRESETS, "0 0 29 2 *", "0 6 * * MON-FRI", "0 0 1,15 * *"])
def test_presets_and_common_schedules_are_accepted(text):
    assert checked_schedule(text) == text
    assert no_time(text) is None


def test_airflow_has_the_same_presets():
    dag = pytest.importorskip("airflow.timetables._cron")
    assert set(dag.cron_presets) == set(PRESETS)
