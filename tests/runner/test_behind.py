"""Work that goes on beside its caller."""

from collections.abc import Callable
from threading import Event

import pytest

from tidemark.runner.background import Behind


def failing() -> None:
    raise ValueError("of the work")


def test_a_job_goes_on_while_its_caller_does_and_the_next_waits_for_it():
    go_on, done = Event(), []
    with Behind[None]() as behind:
        behind.begin(lambda: done.append(go_on.wait(10)))
        assert done == []
        go_on.set()
        behind.do(lambda: done.append("next"))
    assert done == [True, "next"]


def test_results_come_in_order():
    with Behind[int]() as behind:
        for number in range(5):
            (behind.do if number == 2 else behind.begin)(lambda number=number: number)
    assert behind.done == [0, 1, 2, 3, 4]


def met(*jobs: Callable[[Behind[None]], None]) -> list[str]:
    """What is met of jobs that follow one that fails."""
    done: list[str] = []
    with Behind[None]() as behind:
        behind.begin(failing)
        for job in jobs:
            job(behind)
            done.append("next")
    return done


def interrupted(done: list[bool]) -> None:
    go_on = Event()
    with Behind[None]() as behind:
        behind.begin(lambda: done.append(go_on.wait(10)))
        go_on.set()
        raise KeyboardInterrupt


def caller_failing(_: Behind[None]) -> None:
    raise KeyError("of the caller")


@pytest.mark.parametrize("how", ["begin", "do"])
def test_nothing_begins_after_a_failure(how):
    begun: list[str] = []
    with pytest.raises(ValueError, match="of the work"):
        met(lambda behind: getattr(behind, how)(lambda: begun.append("next")))
    assert begun == []


@pytest.mark.parametrize("jobs", [(), (caller_failing,)], ids=["alone", "and its caller fails"])
def test_a_failure_is_told_at_the_end_before_what_its_caller_met_since(jobs):
    with pytest.raises(ValueError, match="of the work"):
        met(*jobs)


def test_an_interrupt_waits_for_what_has_begun_and_stays_one():
    done: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(done)
    assert done == [True]
