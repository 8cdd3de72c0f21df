"""Members and columns outside the schema are counted by name, and the run says so: nothing vanishes silently.

What rows have is found here by another program: Python's JSON parser and a walk over the declared types.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from landed import LANDED, MINUTE, land, touch
from pyarrow import orc, parquet

from damages import emptied
from oracle import Source
from product import Product
from tidemark.spark.judge.planner import Builder

SCHEMA = (
    "n INT, s STRING, o STRUCT<a: INT, in: STRUCT<b: STRING>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<y: INT>>"
)
TYPES: dict[str, Any] = {
    "n": None,
    "s": None,
    "o": {"a": None, "in": {"b": None}},
    "l": [{"x": None}],
    "m": {"*": {"y": None}},
}
PLAIN = Source(timestamp_by=False, arrival_column=False, single=True)


class Crash(BaseException):
    """Stands for the sudden end of the process."""


def crash(step: str) -> None:
    if step == "events":
        raise Crash


def beyond(value: Any, types: Any, path: str = "") -> Iterator[str]:
    """Names of members that `types` lacks: None is a value, "*" any key."""
    if isinstance(types, list) and isinstance(value, list):
        for each in value:
            yield from beyond(each, types[0], f"{path}[]")
    elif isinstance(types, dict) and isinstance(value, dict):
        for name, each in value.items():
            if "*" in types:
                yield from beyond(each, types["*"], f"{path}[]")
            elif name not in types:
                yield (path and f"{path}.") + name
            else:
                yield from beyond(each, types[name], (path and f"{path}.") + name)


def drawn(random_: random.Random) -> dict[str, Any]:
    """A row that fits the schema, with members beside it."""
    row: dict[str, Any] = {"n": random_.randrange(9), "s": random_.choice(["a", "é", 'q"', None])}
    if random_.random() < 0.4:
        row["o"] = {"a": 1, "in": {"b": "x"}, **random_.choice([{}, {"c": 1}, {"in": {"b": "x", "d": [1]}}])}
    if random_.random() < 0.3:
        row["l"] = [{"x": 1, **random_.choice([{}, {"z": 1}])} for _ in range(3)]
    if random_.random() < 0.3:
        row["m"] = {"k": {"y": 1, **random_.choice([{}, {"w": {"deep": 1}}])}}
    for name in random_.sample(["N", "extra", "more", 'a"b', "\u00fc", "note"], random_.randrange(3)):
        row[name] = random_.choice([1, "t", None, True, {"p": 1}, [1], 1e30])
    return row


def wanted(rows: list[dict[str, Any]]) -> tuple[int, Counter[str]]:
    """How many rows have such members, and the rows by name."""
    found = [set(beyond(row, TYPES)) for row in rows]
    return sum(map(bool, found)), Counter(name for each in found for name in each)


def told(product: Product, kind: str = "UnknownColumns") -> list[dict[str, Any]]:
    return [row for row in product.table("diagnostics") if row["type"] == kind]


def names_in(message: str) -> dict[str, int]:
    """Names and numbers of rows in a finding's sentence."""
    listed, found = message[message.index('"') :], {}
    while listed.startswith('"'):
        name, end = json.JSONDecoder().raw_decode(listed)
        count, _, listed = listed[end:].removeprefix(" (").partition(")")
        found[name] = int(count.replace(",", ""))
        listed = listed.removeprefix(", ")
    return found


def fed(folder: Path, rows: list[dict[str, Any]], **keys: Any) -> Product:
    """A pipeline whose landing has two objects with these rows, and one row in each that does not parse."""
    product = Product(folder, {"s": PLAIN})
    product.write(s={"schema": SCHEMA, **keys})
    half = len(rows) // 2
    for name, part in (("a", rows[:half]), ("b", rows[half:])):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        land(folder / "landing/s", {f"{name}.json": text + '{"n": "no number", "lost": 1}\n'})
    return product


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("tasks", [1, 3])
def test_members_outside_the_schema_are_counted_as_another_parser_counts_them(tmp_path, monkeypatch, tasks):
    monkeypatch.setattr(Builder, "_tasks", lambda *_: tasks)
    random_ = random.Random(30 + tasks)  # noqa: S311
    rows = [drawn(random_) for _ in range(400)]
    product = fed(tmp_path, rows)
    product.run(LANDED + 1)
    (finding,) = told(product)
    count, names = wanted(rows)
    assert (finding["count"], names_in(finding["message"])) == (count, names)
    assert (finding["source"], finding["partition"], finding["sample"]["file"]) == ("s", None, "a.json")
    assert list(names_in(finding["message"])) == sorted(names, key=str.encode)
    assert product.pipeline().replay()["identical"]


@pytest.mark.usefixtures("quick")
def test_a_run_that_crashed_comes_to_the_same_finding(tmp_path):
    rows = [drawn(random.Random(number)) for number in range(60)]  # noqa: S311
    whole, crashed = fed(tmp_path / "whole", rows), fed(tmp_path / "crashed", rows)
    crashed.hooks["on_checkpoint"] = crash
    with pytest.raises(Crash):
        crashed.run(LANDED + 1)
    assert crashed.table("events/s")
    assert not told(crashed)
    crashed.hooks.clear()
    for product in (whole, crashed):
        product.run(LANDED + 2)
    assert [finding["message"] for finding in told(crashed)] == [finding["message"] for finding in told(whole)]


@pytest.mark.usefixtures("quick")
def test_a_repair_makes_lost_findings_again(tmp_path):
    product = fed(tmp_path, [drawn(random.Random(number)) for number in range(60)])  # noqa: S311
    product.run(LANDED + 1)
    before = told(product)
    emptied(product.folder_of("diagnostics"))
    assert [each["table"] for each in product.pipeline().repair()["repaired"]] == ["diagnostics"]
    assert told(product) == before


@pytest.mark.usefixtures("quick")
def test_what_is_rescued_is_said_to_be_kept_and_what_fits_says_nothing(tmp_path):
    product = fed(tmp_path, [{"n": 1, "extra": 2}], rescue="_rescued")
    product.run(LANDED + 1)
    (finding,) = told(product)
    assert finding["message"] == 'rows by members outside the schema, which are kept in _rescued: "extra" (1)'
    land(tmp_path / "landing/s", {"c.json": '{"n":1,"o":{"a":1}}\n'}, LANDED + MINUTE)
    product.run(LANDED + 2 * MINUTE)
    assert len(told(product)) == 1


@pytest.mark.usefixtures("quick")
def test_of_many_names_the_first_are_shown(tmp_path):
    rows = [{"n": 1, f"k{number:03}": number} for number in range(100)]
    product = fed(tmp_path, rows)
    product.run(LANDED + 1)
    (finding,) = told(product)
    assert finding["count"] == 100
    assert names_in(finding["message"]) == {f"k{number:03}": 1 for number in range(20)}
    assert finding["message"].endswith(" and more")


@pytest.mark.usefixtures("quick")
def test_rows_that_start_skips_do_not_count(tmp_path):
    product = Product(tmp_path, {"s": Source(timestamp_by=False, arrival_column=False, single=True, start=LANDED)})
    product.write(s={"schema": "n INT"})
    land(tmp_path / "landing/s", {"early.json": '{"n":1,"before":1}\n'}, LANDED - MINUTE)
    land(tmp_path / "landing/s", {"late.json": '{"n":1,"after":1}\n'})
    product.run(LANDED + 1)
    assert [names_in(finding["message"]) for finding in told(product)] == [{"after": 1}]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("kind", "write"), [("parquet", parquet.write_table), ("orc", orc.write_table)])
def test_columns_of_files_outside_the_schema_are_counted_by_rows(tmp_path, kind, write):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"schema": "n INT", "format": kind})
    for name, columns, rows in (("a", ("n",), 2), ("b", ("N", "extra"), 3), ("c", ("n", "extra", "Öl"), 4)):
        table = pa.table({each: pa.array([1] * rows, pa.int32()) for each in columns})
        write(table, str(tmp_path / "landing/s" / name))
        touch(tmp_path / "landing/s" / name)
    product.run(LANDED + 1)
    (finding,) = told(product)
    assert (finding["count"], finding["sample"]["file"]) == (7, "b")
    assert names_in(finding["message"]) == {"extra": 7, "Öl": 4}
