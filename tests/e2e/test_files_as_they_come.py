"""Documents and CSV over lines from landing to replay: the same rows however a run is cut, every row with a fate."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from deltalake import DeltaTable
from ruamel.yaml import YAML
from samples import at, touch

from product import iso
from tidemark.pipeline import Pipeline


def _time(seconds):
    return iso(at(seconds))


def _land(folder):
    """Objects by source, and how many rows they have."""
    files = {
        "records/a.json": json.dumps(
            {"v": 1, "Records": [{"Event Time": _time(n), "n": n} for n in (3, 1, 2)]}, indent=1
        ),
        "records/b.json": json.dumps({"Records": [{"Event Time": _time(4), "n": 4}, 7]}) + '{"Records":[]}\n{"Rec',
        "records/c.json": '{"Records":[{"Event Time":',
        "notes/a.csv": f'When,"Said, then"\n{_time(1)},"one\ntwo"\n{_time(0)},plain\n',
        "notes/b.csv": f'When,"Said, then"\n{_time(2)},"never\nclosed\n',
    }
    for number, (name, text) in enumerate(files.items()):
        path = folder / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        touch(path, at(10 + number))


def _config(folder, name, **settings):
    late = {
        "late_arrival": {"tolerance": "1h", "action": "adjust"},
        "out_of_order": {"tolerance": "0s", "action": "drop"},
    }
    sources = {
        "records": {
            "landing": "./landing/records", "format": "json", "schema": "at TIMESTAMP, n INT", "rows": "Records[]",
            "header_columns": {"Event Time": "at"}, "timestamp_by": "at", **late,
        },
        "notes": {
            "landing": "./landing/notes", "format": "csv", "schema": "at TIMESTAMP, text STRING",
            "header_columns": {"When": "at", "Said, then": "text"},
            "options": {"header": "true", "multiLine": "true"}, "timestamp_by": "at", **late,
        },
    }  # fmt: skip
    path = folder / f"{name}.yml"
    with path.open("w") as file:
        YAML().dump({"pipeline": name, "warehouse": "./warehouse", "sources": sources, **settings}, file)
    return Pipeline.load(path, {})


def _rows(pipeline, source):
    columns = ["_offset", "_disposition", "_reasons", "_system_timestamp", "_raw", "_file"]
    found = DeltaTable(pipeline.path(f"events/{source}")["path"]).to_pyarrow_table().to_pylist()
    payload = [name for name in found[0] if not name.startswith("_")]
    return sorted(
        ({name: row[name] for name in [*columns, *payload]} for row in found), key=lambda row: row["_offset"]
    )


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory, spark):  # noqa: ARG001 # the session must be there
    folder = tmp_path_factory.mktemp("files")
    _land(folder)
    whole, cut = _config(folder, "whole"), _config(folder, "cut", micro_batch={"max_files": 1})
    return folder, whole, cut, whole.run(at(100)), cut.run(at(100))


def test_rows_are_the_same_however_a_run_is_cut(pipelines):
    _, whole, cut, once, many = pipelines
    assert (len(once["batches"]), len(many["batches"])) == (1, 5)
    for source, files in (("records", [3, 3, 1]), ("notes", [2, 1])):
        rows = _rows(whole, source)
        assert rows == _rows(cut, source)
        assert list(Counter(row["_file"] for row in rows).values()) == files
        assert [row["_offset"] for row in rows] == list(range(sum(files)))
    assert [row["n"] for row in _rows(whole, "records")] == [3, 1, 2, 4, None, None, None]
    notes = _rows(whole, "notes")
    assert [row["text"] for row in notes[:2]] == ["one\ntwo", "plain"]
    assert notes[2]["_raw"] == f'{_time(2)},"never\nclosed\n'


def test_every_row_has_a_fate_and_a_replay_gives_the_same(pipelines):
    _, whole, _, once, many = pipelines
    for result in (once, many):
        counts = Counter()
        for batch in result["batches"]:
            counts.update({key: batch[key] for key in ("rows", "on_time", "adjusted", "dropped", "quarantined")})
        assert counts == {"rows": 10, "on_time": 3, "adjusted": 0, "dropped": 3, "quarantined": 4}
    for given in ("landing", "events"):
        replayed = whole.replay(all_batches=True, input=given)
        assert replayed["identical"], replayed


def test_an_object_quarantined_whole_is_taken_again_once_it_is_mended(pipelines):
    folder, whole, *_ = pipelines
    path = folder / "landing/records/c.json"
    path.write_text(json.dumps({"Records": [{"Event Time": _time(9), "n": 9}]}))
    touch(path, at(200))
    (batch,) = whole.run(at(300))["batches"]
    assert (batch["rows"], batch["on_time"]) == (1, 1)
