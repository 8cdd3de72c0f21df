"""Expressions over rows whose end a later row gives: where `_end_time` can be read, and where not."""

from __future__ import annotations

from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.errors import ConfigError

EDGES: dict[str, Any] = {
    "timestamp_by": "EventTime",
    "shape": {"edge": {"kind": "DeviceId", "start": "s", "end": "e", "end_time": "EnqueuedAt"}},
    "punctuation": {"every": 10, "violations": "drop"},
}
EVENTS: dict[str, Any] = {"arrival_time": "EnqueuedAt", "landing_delay": "15m", "timestamp_by": "EventTime"}
R: dict[str, Any] = {"from": "readings"}
N: dict[str, Any] = {"select": {"n": "count(*)"}}
NEXT: dict[str, Any] = R | {"lifetime": {"until": "next", "by": ["DeviceId"], "at_most": "30d"}}
ENDED: dict[str, Any] = R | {"where": "_END_TIME > EventTime"}
PER_MINUTE: dict[str, Any] = {"tumbling": "1m", **N}
MINUTE: dict[str, Any] = {"from": "readings", "lifetime": "1m"}


def joined(end: str, **keys: Any) -> dict[str, Any]:
    return {"join": ["readings", "minute"], "on": ["Lane"], "select": {"Lane": "readings.Lane", "end": end}} | keys


OVER_EDGES: list[tuple[dict[str, Any], str]] = [
    ({"a": R | {"lifetime": {"until": "_end_time + interval 1 minute"}}}, "a.lifetime.until"),
    ({"a": R | {"lifetime": "1m", "where": "_end_time IS NULL"}}, "a.where"),
    ({"a": R | {"lifetime": "1m", "select": {"end": "_end_time"}}}, "a.select.end"),
    ({"a": ENDED | PER_MINUTE}, "a.where"),
    ({"a": R | PER_MINUTE | {"group_by": [{"open": "_end_time IS NULL"}]}}, "a.group_by"),
    ({"a": ENDED, "b": {"from": "a", "shift": "1m"}, "c": {"from": "b", **PER_MINUTE}}, "a.where"),
    ({"a": ENDED, "b": {"union": ["a", "a"]}, "c": {"from": "b", "lifetime": "1m"}}, "a.where"),
    ({"a": ENDED, "b": {"from": "a", "preceding": {"within": "1m", **N}}}, "a.where"),
    ({"a": R | {"preceding": {"within": "1m", "select": {"end": "last(_end_time)"}}}}, "a.preceding.select.end"),
    ({"minute": MINUTE, "a": joined("readings._end_time")}, "a.select.end"),
    ({"minute": MINUTE, "a": joined("minute.Speed", where="READINGS.`_end_time` IS NULL")}, "a.where"),
]
SHIFTED: dict[str, Any] = {"from": "a", "shift": "1m"}
LEFT: dict[str, Any] = {"minute": MINUTE, "a": joined("minute.Speed", how="left")}
"""Rows that the next one ends, and gaps, which a pair ends."""
OVER_EVENTS: list[tuple[dict[str, Any], str, str]] = [
    ({"a": NEXT | {"select": {"end": "_end_time"}}}, "a.select.end", "this step"),
    ({"a": NEXT, "b": {"from": "a", "where": "_end_time IS NULL", **PER_MINUTE}}, "b.where", "'a'"),
    ({"a": NEXT, "b": SHIFTED, "c": {"from": "b", "where": "_end_time IS NULL", **PER_MINUTE}}, "c.where", "'b'"),
    ({"minute": NEXT, "a": joined("minute._end_time")}, "a.select.end", "'minute'"),
    (LEFT | {"b": {"from": "a", "where": "_end_time > end"}, "c": {"from": "b", **PER_MINUTE}}, "b.where", "'a'"),
]


@pytest.mark.parametrize(
    ("source", "streams", "key", "of"),
    [*[(EDGES, *each, "'readings'") for each in OVER_EDGES], *[(EVENTS, *each) for each in OVER_EVENTS]],
)
def test_an_end_that_may_be_to_come_is_read_neither_by_what_chooses_rows_nor_below_windows(
    files: Files, source: dict[str, Any], streams: dict[str, Any], key: str, of: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        files.spec({"streams": streams}, **source)
    [problem] = caught.value.problems
    assert problem.key == f"streams.{key}"
    assert f"_end_time of rows of {of} is not known yet where this is computed" in problem.message


@pytest.mark.parametrize(
    ("streams", "source"),
    [
        ({"a": ENDED | {"publish": True}}, EDGES),
        ({"a": ENDED, "b": {"from": "a", "shift": "1m", "select": {"end": "_end_time"}, "publish": True}}, EDGES),
        ({"a": R | {"tumbling": "1m", "select": {"n": "max(_end_time)"}}}, EDGES),
        ({"a": R | {"session": {"gap": "1m"}, "select": {"n": "max(_end_time)"}}}, EDGES),
        ({"a": R | PER_MINUTE, "b": {"from": "a", "where": "_end_time > _window_start", **PER_MINUTE}}, EDGES),
        ({"a": R | {"where": "DeviceId <> '_end_time'", **PER_MINUTE}}, EDGES),
        ({"minute": MINUTE, "a": joined("minute._end_time")}, EDGES),
        ({"a": ENDED, "b": {"from": "a", **PER_MINUTE}}, EVENTS),
        (
            {"a": NEXT, "b": {"from": "a", "lifetime": "1m"}, "c": {"from": "b", "where": "_end_time > EventTime"}},
            EVENTS,
        ),
        ({"a": NEXT, "b": {"from": "a", "where": "_end_time IS NOT NULL", "publish": True}}, EVENTS),
    ],
)
def test_an_end_that_is_known_where_it_is_read_can_be_read(
    files: Files, streams: dict[str, Any], source: dict[str, Any]
) -> None:
    assert not [each for each in files.load({"streams": streams}, **source).warnings if "_end_time" in each.message]
