"""Payload columns with odd names, among them Delta's own: read, written, found and replayed like others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from ruamel.yaml import YAML

from tidemark.pipeline import Pipeline

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick")]

NAMES = ("_change_type", "_commit_version", "_commit_timestamp", "a<b>", "a.b", "a-b", "ä_b", "a'b")
NAMES += (
    'a"b',
    "a%20b",
    "a/b",
    "select",
    "a#b",
    "a:b",
    "a?b",
    "a&b",
    "[a]",
    "a*b",
    "$a",
    "_c0",
    "file",
    "rows",
    "1a",
)
KEY = "a<b>"
"""The column that windows group by."""
BASE = 1_767_225_600


def rows(number: int) -> list[dict[str, str]]:
    """Ten rows of one object."""
    return [
        {
            "e": f"2026-01-01T00:{number:02}:{row:02}Z",
            **{name: f"{place}-{row % 3}" for place, name in enumerate(NAMES)},
        }
        for row in range(10)
    ]


def land(folder: Path, kind: str, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number}.{kind}"
    if kind == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(number)))
    elif kind == "csv":
        path.write_text("".join(",".join(row.values()) + "\n" for row in rows(number)))
    else:
        parquet.write_table(pa.Table.from_pylist(rows(number)), path)
    os.utime(path, (BASE + 60 * number, BASE + 60 * number))


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory, quick) -> Pipeline:  # noqa: ARG001 # the session must be there
    folder = tmp_path_factory.mktemp("names")
    schema = ", ".join(["e STRING", *[f"`{name}` STRING" for name in NAMES]])
    document = {
        "pipeline": "names",
        "warehouse": "./warehouse",
        "sources": {
            kind: {
                "landing": f"./{kind}",
                "format": kind,
                "schema": schema,
                "timestamp_by": "cast(e as timestamp)",
                "late_arrival": {"tolerance": "1h", "action": "drop"},
                "settle": "0s",
            }
            for kind in ("json", "csv", "parquet")
        },
        "streams": {
            "plain": {"from": "json", "publish": True},
            "counted": {
                "from": "parquet",
                "tumbling": "1m",
                "group_by": [KEY],
                "select": {"n": "count(*)", "l": "collect_list(`a.b`)"},
            },
        },
    }
    with (folder / "names.yml").open("w") as file:
        YAML().dump(document, file)
    for number in (1, 2):
        for kind in ("json", "csv", "parquet"):
            land(folder / kind, kind, number)
        Pipeline.load(folder / "names.yml", {}).run(as_of=(BASE + 60 * number + 30) * 1_000_000)
    return Pipeline.load(folder / "names.yml", {})


@pytest.mark.parametrize("input_", ["landing", "events"])
def test_replays_are_identical(pipeline, input_):
    found = pipeline.replay(all_batches=True, input=input_)
    assert [batch["differences"] for batch in found["batches"]] == [[], []]


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_every_value_is_under_its_own_name(pipeline, kind):
    found = pipeline.table(f"events/{kind}").to_table().to_pylist()
    assert len(found) == 20
    assert {row["_disposition"] for row in found} == {"on_time"}
    for row in found:
        assert [row[name].split("-")[0] for name in NAMES] == [str(place) for place in range(len(NAMES))]


def test_windows_are_grouped_by_such_a_column(pipeline):
    found = pipeline.table("streams/counted").to_table().to_pylist()
    assert {row[KEY] for row in found} == {f"{NAMES.index(KEY)}-{each}" for each in range(3)}
