"""What Spark refuses is refused before a run is planned, and text of a table is text for every reader."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from tidemark.cli import invoke
from tidemark.errors import ConfigError
from tidemark.ledger.ledger import Ledger
from tidemark.pipeline import Pipeline
from tidemark.spark import analysis

pytestmark = pytest.mark.usefixtures("quick")
LANDED = 1_767_261_600
AS_OF = "2026-01-02T00:00:00Z"


def pipeline(folder: Path, schema: str, rows: list[dict[str, object]], more: str) -> Path:
    (folder / "landing").mkdir()
    landed = folder / "landing" / "a.json"
    landed.write_text("".join(json.dumps({"t": "2026-01-01T10:00:00Z", **row}) + "\n" for row in rows))
    os.utime(landed, (LANDED, LANDED))
    config = folder / "p.yml"
    config.write_text(
        "pipeline: p\nsources:\n  s:\n    landing: ./landing\n    format: json\n"
        f'    schema: "{schema}, t TIMESTAMP"\n    timestamp_by: t\n'
        f"    late_arrival: {{tolerance: 1h, action: adjust}}\n{more}"
    )
    return config


REFUSED = {
    "sources.s.partition.column": "    partition: {column: x + struct(1)}\n",
    "sources.s.over": "    over: [x, 'array(x) + 1']\n",
    "streams.st.union[1]": "streams:\n  o: {from: s, select: {x: length(x)}}\n"
    "  p: {from: s, select: {x: length(x) + 1L}}\n  st: {union: [o, p], publish: true}\n",
    "streams.st.where": "streams:\n  st: {from: s, where: \"x > struct(1, 2)\", publish: true}\n",
    "streams.st.select.a": "streams:\n  st: {from: s, select: {a: make_interval(n)}, publish: true}\n",
    "streams.st.select.b": "streams:\n  st: {from: s, select: {b: \"null\"}, publish: true}\n",
    "streams.st.select.c": "streams:\n  st: {from: s, tumbling: 1m, select: {c: \"sum(array(x))\"}}\n",
    "streams.st.select.d": "streams:\n  st: {from: s, snapshot: {}, select: {d: \"count(*) + array(max(x))\"}}\n",
    "streams.st.select.e": "streams:\n  o: {from: s, select: {x: x}}\n"
    "  st: {join: [s, o], on: [x], select: {e: s.x + struct(o.x)}}\n",
}  # fmt: skip


@pytest.mark.parametrize("key", REFUSED)
def test_what_spark_refuses_is_refused_with_its_key_and_nothing_is_recorded(tmp_path: Path, key: str) -> None:
    config = pipeline(tmp_path, "x STRING, n INT", [{"x": "a"}], REFUSED[key])
    with pytest.raises(ConfigError) as raised:
        Pipeline.load(config, {}).run(AS_OF)
    assert [(problem.file, problem.key) for problem in raised.value.problems] == [(str(config), key)]
    assert Ledger(Pipeline.load(config, {}).root).last().next_batch_id == 1
    assert invoke(["validate", str(config)]) == 0
    assert invoke(["validate", "--deep", str(config)]) == 2


def test_a_key_that_holds_bytes_is_refused(tmp_path: Path, capsys) -> None:
    more = "    over: array(unhex(x))\n    partition: {column: unhex(x)}\n"
    config = pipeline(tmp_path, "x STRING", [{"x": "a"}], more)
    assert invoke(["validate", "--deep", str(config)]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "sources.s.over: 'array(unhex(x))' is ARRAY<BINARY>: keys are compared as text" in said
    assert "sources.s.partition.column: 'unhex(x)' is BINARY: keys are compared as text" in said


def test_conditions_that_are_numbers_are_refused_by_a_deep_look_alone(tmp_path: Path, capsys) -> None:
    """Runs take them: pipelines with such a condition go on."""
    more = (
        "    require: {r: n + 1}\nstreams:\n  sw: {from: s, where: n + 1, tumbling: 1m, select: {c: count(*)}}\n"
        '  sx: {from: s, where: "n > 1", select: "*", except: [n], publish: true}\n'
    )
    config = pipeline(tmp_path, "x STRING, n INT", [{"x": "a", "n": 2}], more)
    assert invoke(["validate", "--deep", str(config)]) == 2
    said = capsys.readouterr().out
    assert [key in said for key in ("sources.s.require.r", "streams.sw.where", "streams.sx")] == [True, True, False]
    assert "'n + 1' is INT, not true or false" in said
    assert Pipeline.load(config, {}).close(as_of=AS_OF)["streams"]["sx"]["rows"] == 1


def test_text_compared_with_times_is_no_reason_to_refuse(tmp_path: Path) -> None:
    between = "x between timestamp'2026-01-01 00:00:00' and timestamp'2027-01-01 00:00:00'"
    more = f'streams:\n  st: {{from: s, where: "{between}", publish: true}}\n'
    rows: list[dict[str, object]] = [{"x": text} for text in ("a", "2026-05-05", "12:30")]
    config = pipeline(tmp_path, "x STRING", rows, more)
    assert invoke(["validate", "--deep", str(config)]) == 0
    assert Pipeline.load(config, {}).close(as_of=AS_OF)["streams"]["st"]["rows"] == 1


def test_a_configuration_is_analysed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = pipeline(tmp_path, "x STRING", [{"x": "a"}], "")
    analysed: list[str] = []
    monkeypatch.setattr(analysis, "analyse", lambda _, spec, *_deep: analysed.append(spec.name))
    Pipeline.load(config, {}).run(AS_OF)
    Pipeline.load(config, {}).run("2026-01-02T01:00:00Z")
    assert len(analysed) == 1
    config.write_text(config.read_text() + "streams:\n  st: {from: s, publish: true}\n")
    Pipeline.load(config, {}).run("2026-01-02T02:00:00Z")
    assert len(analysed) == 2


def test_text_that_is_not_utf8_names_no_partition_and_no_substream(tmp_path: Path) -> None:
    more = (
        '    partition: {column: "cast(b as string)"}\n    over: "cast(c as string)"\n'
        "streams:\n  st: {from: s, select: {k: 'map(cast(c as string), 1)', b: b}, publish: true}\n"
    )
    rows: list[dict[str, object]] = [
        {"b": "/w==", "c": "YQ=="},
        {"b": "YQ==", "c": "/w=="},
        {"b": "YQ==", "c": "YQ=="},
    ]
    config = pipeline(tmp_path, "b BINARY, c BINARY", rows, more)
    Pipeline.load(config, {}).close(as_of=AS_OF)
    place = str(tmp_path / "warehouse/p/v1/events/s")
    read = DeltaTable(place).to_pyarrow_table()
    found = sorted(
        zip(*[read[name].to_pylist() for name in ("_partition", "_substream", "_disposition")], strict=True), key=str
    )
    assert found == [("_unknown", "a", "quarantined"), ("a", "a", "on_time"), ("a", None, "on_time")]
    assert polars.from_arrow(read).height == 3
    assert duckdb.sql("SELECT count(*) FROM read WHERE _substream = 'a'").fetchall() == [(2,)]
    streamed = DeltaTable(str(tmp_path / "warehouse/p/v1/streams/st")).to_pyarrow_table()
    assert sorted(streamed["k"].to_pylist(), key=str) == [None, [("a", 1)]]
