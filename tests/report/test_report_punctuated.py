"""What would have kept a row that violates a punctuation, held against the rules of generated punctuations."""

from __future__ import annotations

import re
from random import Random

from tidemark.core.policy import Action, Policy, Reason
from tidemark.core.punctuation import Every, Punctuation
from tidemark.report.explain.history import PolicyHistory
from tidemark.report.explain.punctuated import kept_with
from tidemark.report.explain.steps import DROPPED, PASSED, Comparison

NONE = Policy.of_punctuations()
ONE = PolicyHistory(((0, NONE),))


def said(punctuation: Punctuation, start: int, mark: int | None, history: PolicyHistory = ONE) -> str:
    behind = mark is not None and start < mark
    step = Comparison(Reason.VIOLATION, DROPPED if behind else PASSED, start, mark, start)
    return " ".join(kept_with([step], punctuation, history))


def marks(starts: list[int], every: int, delay: int) -> list[int | None]:
    """The punctuation in force before each row: each `every`th row has issued its start less `delay`."""
    found: list[int | None] = []
    mark: int | None = None
    for number, start in enumerate(starts, start=1):
        found.append(mark)
        if number % every == 0:
            mark = start - delay if mark is None else max(mark, start - delay)
    return found


def test_the_delay_that_is_named_is_the_least_under_which_a_row_is_no_violation():
    random, named = Random(5), 0  # noqa: S311 - the same logs each time
    for _ in range(50):
        starts = [random.randrange(1000) * 1_000_000 for _ in range(12)]
        every, delay = random.randrange(1, 4), random.randrange(-5, 50) * 1_000_000
        punctuation = Punctuation(Action.DROP, Every(count=every), delay)
        for number, (start, mark) in enumerate(zip(starts, marks(starts, every, delay), strict=True)):
            text = said(punctuation, start, mark)
            if mark is None or start >= mark:
                assert text == ""
                continue
            least = int(re.search(r"\((-?[0-9]+) us\)", text)[1])
            assert marks(starts, every, least)[number] <= start < marks(starts, every, least - 1)[number]
            named += 1
    assert named > 100


def test_no_delay_is_named_where_none_would_do():
    assert said(Punctuation(Action.DROP, row="a = 1"), 1, 2).endswith("come from rows of the producer.")
    assert said(Punctuation(Action.DROP, import_from=("b",)), 1, 2).endswith("come from source b.")
    several = said(Punctuation(Action.DROP, import_from=("b", "c", "d")), 1, 2)
    assert several.endswith("come from sources b, c and d.")
    both = said(Punctuation(Action.DROP, Every(count=1), import_from=("b",)), 1, 2)
    assert "from source b, too" in both


def test_no_delay_is_named_where_settings_have_changed():
    generated = Punctuation(Action.DROP, Every(count=1))
    for history in (
        PolicyHistory(((0, NONE), (4, NONE))),
        PolicyHistory(((0, NONE),), sliced=True),
        PolicyHistory(((0, NONE),), 3),
    ):
        assert "does not follow" in said(generated, 1, 2, history)
