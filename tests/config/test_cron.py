"""Schedules: what is accepted is what the scheduler's own reader of cron texts takes."""

from __future__ import annotations

from random import Random

import pytest
from croniter import croniter

from tidemark.config.models.cron import PRESETS, checked_schedule

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
        checked_schedule(text)
    except ValueError:
        return False
    return True


def test_no_text_is_accepted_that_the_scheduler_cannot_read():
    dice = Random(7)  # noqa: S311 - the same texts each time
    texts = [" ".join(dice.choice(ITEMS) for _ in range(5)) for _ in range(3_000)]
    texts += ["*/15 * * * *", "0 6 * * mon-fri", "0 0 1,15 * *", "0 0 L * *", "0 0 * * 5#3", "0 0 29 2 *"]
    taken = [text for text in texts if accepted(text)]
    assert len(taken) > 100
    assert [text for text in taken if not croniter.is_valid(text)] == []


@pytest.mark.parametrize("text", [*PRESETS, "0 0 29 2 *", "0 6 * * MON-FRI", "0 0 1,15 * *"])
def test_presets_and_common_schedules_are_accepted(text):
    assert checked_schedule(text) == text


def test_airflow_has_the_same_presets():
    dag = pytest.importorskip("airflow.timetables._cron")
    assert set(dag.cron_presets) == set(PRESETS)
