"""Shipped expectations judged in plain Python: so many tests run pipelines that Great Expectations would take most of
their time. That both come to the same is tested in tests/quality."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tidemark.core.quality import Check
from tidemark.quality import docs
from tidemark.quality import validate as judging
from tidemark.quality.metrics import Line
from tidemark.quality.validate import Suite, Validation, name_of
from tidemark.runner import checks

NO_RULE = ("dropped_target", "adjusted_target", "partitions_progress", "watermark_delay", "output_delay")
"""What says something of the data, not of the product; so do shares and jumps."""


def is_wrong(kind: str, asked: dict[str, Any], line: Line) -> bool:
    """Whether a line breaks an expectation."""
    if kind in ("expect_column_values_to_be_in_set", "expect_column_values_to_be_between"):
        value = line.values.get(asked["column"])
        if value is None:
            return False
        return value < asked["min_value"] if kind.endswith("between") else value not in asked["value_set"]
    one, other = (line.values.get(asked[name]) for name in ("column_A", "column_B"))
    if one is None or other is None:
        return False
    return one != other if kind.endswith("equal") else one < other


def judged(judging: Validation, suite: Suite, lines: Sequence[Line]) -> Iterator[Check]:
    """As `Judging.lines`."""
    for config in suite.content["expectations"]:
        for table in dict.fromkeys(line.table for line in lines):
            own = [(line, is_wrong(config["type"], config["kwargs"], line)) for line in lines if line.table == table]
            if (check := judging.checked({"expectation_config": config}, own)) is not None:
                yield check


def judged_and_held(judging: Validation, suite: Suite, lines: Sequence[Line]) -> Iterator[Check]:
    """The same; what holds whatever the data are has to hold."""
    for check in judged(judging, suite, lines):
        of_data = check.expectation in NO_RULE or check.expectation.endswith(("_share", "_jump"))
        assert check.success or of_data, check
        yield check


def names(suite: Suite) -> list[str]:
    return [name_of(config) for config in suite.content["expectations"]]


def use(put: Callable[[Any, str, Any], None]) -> None:
    """Have runs judge so; `put` sets an attribute."""
    put(checks.Audit, "begin", lambda _: None)
    put(judging.Validation, "lines", judged_and_held)
    put(docs, "page", lambda *_: "")
