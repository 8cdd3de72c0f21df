"""The row that a duplicate repeats, found among events without Spark."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.dataset import Dataset
from report_warehouse import FakeLedger, event, facts_of, table_of, write

from oracle import SECOND, Source
from tidemark.config import secrets
from tidemark.core.times import parse_time
from tidemark.report.explain.explain import explain

START = parse_time("2026-01-01T23:59:55Z")
PAYLOAD = pa.schema([("Id", pa.float64()), ("odd name", pa.string())])


def explained(events: Dataset, offset: int, by: tuple[str, ...], within: int = 10 * SECOND) -> dict[str, Any]:
    facts = replace(facts_of(Source(single=True)), duplicates=(by, within))
    found = explain(events, facts, FakeLedger(), "0", offset).record()
    json.dumps(found, allow_nan=False)
    return found


def row(offset: int, second: int, key: object, name: str | None = "x", **values: Any) -> dict[str, Any]:
    return event(offset, START + second * SECOND, Id=key, _file=f"{offset}.json", **{"odd name": name}, **values)


def repeated(*given: Any, **values: Any) -> dict[str, Any]:
    return row(*given, _disposition="dropped", _reasons=["duplicate"], **values)


def test_the_last_row_with_equal_values_is_named_with_its_file_and_arrival(tmp_path: Path) -> None:
    rows = [row(0, 0, 1.0), repeated(1, 8, 1.0, _batch_id=2), row(2, 9, 2.0), repeated(3, 10, 1.0, _batch_id=3)]
    found = explained(write(tmp_path, table_of(rows, PAYLOAD)), 3, ("id", "`ODD NAME`"))
    assert found["repeats"] == {"offset": 1, "batch_id": 2, "file": "1.json"}
    assert (
        "It is a duplicate: row 1, which came from 1.json in batch 2 and arrived at 00:00:03, less than 10s before "
        "it, has equal id, `ODD NAME` (deduplicate)."
    ) in " ".join(found["sentences"])


@pytest.mark.parametrize(
    "others",
    [
        [row(0, 0, 1.0)],
        [row(0, 5, 1.0, _disposition="quarantined", _reasons=["invalid_row"])],
        [row(0, 5, 1.0, _partition="1")],
        [row(0, 5, 1.0, "y")],
        [row(2, 11, 1.0)],
    ],
    ids=["within before it", "quarantined", "other partition", "other value", "later"],
)
def test_a_row_that_makes_no_duplicates_is_not_named(tmp_path: Path, others: list[dict[str, Any]]) -> None:
    events = write(tmp_path, table_of([*others, repeated(1, 10, 1.0)], PAYLOAD))
    found = explained(events, 1, ("Id", "`odd name`"))
    assert found["repeats"] is None
    assert "an earlier row of its partition, which arrived less than 10s before it" in " ".join(found["sentences"])


def test_values_that_only_spark_computes_leave_the_row_unnamed(tmp_path: Path) -> None:
    events = write(tmp_path, table_of([row(0, 0, 1.0), repeated(1, 5, 1.0)], PAYLOAD))
    assert explained(events, 1, ("floor(Id)",))["repeats"] is None
    assert explained(events, 1, ("Id",))["repeats"]["offset"] == 0


def test_columns_from_the_environment_are_compared_by_name_and_told_as_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "_hidden", {"odd name": "KEY"})
    events = write(tmp_path, table_of([row(0, 0, 1.0), repeated(1, 5, 1.0)], PAYLOAD))
    found = explained(events, 1, ("Id", "`odd name`"))
    assert found["repeats"]["offset"] == 0
    assert "has equal Id, `${KEY}` (deduplicate)" in " ".join(found["sentences"])


def test_it_is_the_row_that_a_search_row_by_row_finds(tmp_path: Path) -> None:
    dice = Random(5)  # noqa: S311 - the same rows each time
    keys = (0.0, -0.0, math.nan, -math.nan, 1.0, None)
    rows, known, second = [], [], 0
    for offset in range(120):
        second += dice.choice((0, 0, 1, 4))
        key, name = dice.choice(keys), dice.choice(("x", "y"))
        same = [at for at, when, of in known if second - when < 10 and equal(of, (key, name))]
        rows.append((repeated if same else row)(offset, second, key, name))
        known.append((offset, second, (key, name)))
        rows[-1]["wanted"] = max(same, default=None)
    events = write(tmp_path, table_of(rows, PAYLOAD))
    wanted = [each["wanted"] for each in rows]
    assert sum(each is not None for each in wanted) > 40
    for offset, each in enumerate(wanted):
        found = explained(events, offset, ("Id", "`odd name`"))["repeats"]
        assert (found and found["offset"]) == each


def equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """True if no value is null and all are equal, NaN to itself."""
    pairs = zip(one, other, strict=True)
    return all(a is not None and b is not None and (a == b or (a != a and b != b)) for a, b in pairs)  # noqa: PLR0124
