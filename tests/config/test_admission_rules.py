"""The keys that say which rows are judged: `require` and `deduplicate`."""

from __future__ import annotations

from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config import changes
from tidemark.config.backfill_rules import check_rebuilding, unchanged_sources
from tidemark.core.times import HOUR
from tidemark.errors import ConfigError

BOTH: dict[str, Any] = {
    "require": {"speed_known": "Speed IS NOT NULL", "speed_sane": "Speed BETWEEN 0 AND 300"},
    "deduplicate": {"by": ["DeviceId", "date_trunc('minute', EventTime)"], "within": "1h"},
}


@pytest.mark.parametrize(
    ("source", "key", "message"),
    [
        ({"require": ["Speed > 0"]}, "require", "must be a mapping of names to predicates"),
        ({"require": {"a,b": "Speed > 0"}}, "require", "'a,b' is no name of a requirement: write letters"),
        ({"require": {"": "Speed > 0"}}, "require", "is no name of a requirement"),
        ({"require": {"known": 1}}, "require", "1 is not the predicate of known: write text"),
        ({"require": {"known": "Sped > 0"}}, "require.known", "'Sped' is not a column of the schema"),
        ({"require": {"known": "Speed"}}, "require.known", "'Speed' is DOUBLE, not true or false"),
        ({"require": {"new": "rand() > 0"}}, "require.new", "rand"),
        ({"deduplicate": {"by": [], "within": "1h"}}, "deduplicate.by", "names no column"),
        ({"deduplicate": {"by": ["DeviceId"]}}, "deduplicate.within", "is missing"),
        ({"deduplicate": {"by": "DeviceId", "within": "0s"}}, "deduplicate.within", "must be longer than 0s"),
        ({"deduplicate": {"by": ["Speed", "Sped"], "within": "1h"}}, "deduplicate.by[1]", "'Sped' is not a column"),
        ({"deduplicate": {"by": "Speed", "within": "1h", "for": ""}}, "deduplicate.for", "no such key 'for'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_its_key(files: Files, source: dict[str, Any], key: str, message: str) -> None:
    found, sentence = files.problem(**source)
    assert found == f"sources.readings.{key}"
    assert message in sentence


def test_a_single_expression_is_a_list_of_one(files: Files) -> None:
    deduplicate = files.source(deduplicate={"by": "DeviceId", "within": "1h"}).deduplicate
    assert deduplicate is not None
    assert (deduplicate.by, deduplicate.within) == (("DeviceId",), HOUR)


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"require": {**BOTH["require"], "named": "DeviceId <> ''"}}, "require.named"),
        ({"deduplicate": {**BOTH["deduplicate"], "within": "2h"}}, "deduplicate.within"),
        ({"deduplicate": None}, "deduplicate"),
    ],
)
def test_a_change_needs_a_backfill_which_judges_the_recorded_rows(
    files: Files, changed: dict[str, Any], key: str
) -> None:
    recorded, other = files.spec(**BOTH).resolved(), files.spec(**BOTH | changed)
    with pytest.raises(ConfigError) as refused:
        changes(recorded, other)
    assert [problem.key for problem in refused.value.problems] == [f"sources.readings.{key}"]
    check_rebuilding(recorded, other)
    assert unchanged_sources(recorded, other) == frozenset()
    assert changes(recorded, files.spec(**BOTH)) == []
