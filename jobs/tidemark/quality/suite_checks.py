"""Finds expectations in users' suites that cannot be evaluated, before a run: by the columns of the tables, and by
evaluating each suite on its table without rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tidemark.config import PipelineSpec
from tidemark.config.models.stream_graph import columns_of
from tidemark.core.quality import Severity
from tidemark.errors import ConfigError
from tidemark.quality.suites import Suite, columns_named, of_users

EVENTS = {
    "_partition": "string",
    "_offset": "bigint",
    "_arrival_time": "timestamp",
    "_arrival_date": "date",
    "_event_time": "timestamp",
    "_end_time": "timestamp",
    "_system_timestamp": "timestamp",
    "_disposition": "string",
    "_reasons": "array<string>",
    "_watermark": "timestamp",
    "_substream": "string",
    "_batch_id": "bigint",
    "_file": "string",
    "_raw": "string",
}
"""The columns of an events table before its payload, with their types."""
_ROWS, _WINDOWS = ("_system_timestamp", "_end_time", "_partition", "_offset"), ("_window_start", "_window_end")
_MATCH = "expect_table_columns_to_match"
_MAY_LACK = ("expect_column_to_exist", f"{_MATCH}_set", f"{_MATCH}_ordered_list")
"""Expectations on whether columns exist."""
Frame = Callable[[str, Mapping[str, str | None]], Any]
"""Function from the name of a table and its `columns` to a frame of that table without rows."""


def columns(spec: PipelineSpec, table: str) -> dict[str, str | None]:
    """The columns of a table that suites can name, in order; only tidemark's own columns have a type."""
    kind, _, name = table.partition("/")
    payload = dict.fromkeys(column.name for column in columns_of(spec, name) or ())
    if kind == "events":
        return {**EVENTS, **payload}
    step = spec.streams[name]
    own = (*_WINDOWS, *step.parts) if step.windowed else _ROWS
    return {**dict.fromkeys((*own, "_batch_id")), **payload}


def check_suites(spec: PipelineSpec, frame: Frame | None = None) -> None:
    """Check that Great Expectations accepts users' suites, and that their tables have the named columns. With
    `frame`, also check that each expectation can be evaluated. Raises ConfigError with file, place and reason of each
    failure."""
    suites = of_users(spec)
    if not suites:
        return
    from tidemark.quality.validate import problems  # slow to import

    found = [each for suite in suites for each in problems(suite, _reasons(suite, spec, frame))]
    if found:
        raise ConfigError(found)


def _reasons(suite: Suite, spec: PipelineSpec, frame: Frame | None) -> Mapping[int, str]:
    """Return, by position, why expectations of a suite cannot be evaluated."""
    from tidemark.quality.validate import Validation, refused

    names = columns(spec, suite.table)
    found = dict(_unknown(suite, names)) | refused(suite)
    rest = [index for index in range(len(suite.content["expectations"])) if index not in found]
    if frame is None or not rest:
        return found
    asked = Suite(
        {**suite.content, "expectations": [suite.content["expectations"][each] for each in rest]},
        suite.table,
        suite.file,
    )
    reasons = Validation(lambda _: Severity.RECORD).not_evaluated(asked, frame(suite.table, names))
    return found | {rest[position]: reason for position, reason in reasons.items()}


def _unknown(suite: Suite, names: Mapping[str, str | None]) -> Iterator[tuple[int, str]]:
    """Yield, by position, expectations about columns that the table lacks."""
    for index, each in enumerate(suite.content["expectations"]):
        lacking = [name for name in columns_named(each) if name not in names]
        if lacking and each["type"] not in _MAY_LACK:
            missing = " and ".join(map(repr, lacking))
            yield index, f"{suite.table} has no column {missing}: it has {', '.join(names)}"
