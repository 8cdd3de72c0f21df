"""Records as tables and HTML, as notebooks show them, and the notebook of the documentation."""

from __future__ import annotations

import inspect
import json
import shutil
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from ruamel.yaml import YAML
from toll_week import judged

from tidemark.errors import UsageError
from tidemark.notebook.result import Result
from tidemark.pipeline import Pipeline

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    return judged(tmp_path_factory.mktemp("notebook"))


@pytest.fixture
def pipeline(config) -> Pipeline:
    return Pipeline.load(config)


class Cells(HTMLParser):
    """The texts of an HTML page's cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in ("td", "th"):
            self.found.append("")

    def handle_data(self, data: str) -> None:
        if self.found:
            self.found[-1] += data


def test_rows_are_a_frame_with_times_and_payload(pipeline):
    found = pipeline.rows(fate="dropped", limit=5)
    frame = found.df()
    assert list(frame.offset) == [row["offset"] for row in found["rows"]]
    first = datetime.fromisoformat(found["rows"][0]["event_time"])
    assert frame.event_time[0].to_pydatetime() == first.astimezone(UTC)
    assert str(frame.event_time.dtype) == "datetime64[us, UTC]"
    payload = found["rows"][0]["payload"]
    assert {name: frame[name][0] for name in payload if isinstance(payload[name], str)} == {
        name: value for name, value in payload.items() if isinstance(value, str)
    }
    assert found.arrow().num_rows == 5
    assert found.record is found
    assert json.loads(json.dumps(found)) == dict(found)


def test_a_row_that_was_found_is_explained_as_it_is(pipeline):
    found = pipeline.rows(fate="dropped", limit=1)["rows"][0]
    assert pipeline.explain(found) == pipeline.explain(found["source"], found["partition"], found["offset"])


def test_the_other_records_are_tables_too(pipeline):
    assert list(pipeline.status().df().partition) == ["G1", "G2", "G3"]
    assert list(pipeline.versions().df().version) == [1]
    counts = pipeline.rows(by="partition", fate="dropped").df()
    assert counts.rows.sum() == pipeline.rows(fate="dropped", limit=0)["total"]


def test_html_shows_the_first_rows_and_escapes_what_rows_hold(pipeline):
    found = pipeline.rows(fate="dropped", limit=50)
    page = found._repr_html_()
    assert f"20 of {found['total']:,} shown" in page
    cells = Cells(page).found
    assert "event time" in cells
    assert found["rows"][0]["file"] in cells
    odd = Result({"rows": [{"name": "<script>alert(1)</script>", "n": None}]}, "rows", "<b>")
    assert "<script>" not in odd._repr_html_()
    assert "<b>" not in odd._repr_html_()
    assert Cells(odd._repr_html_()).found == ["name", "<script>alert(1)</script>"]
    assert Cells(Result({"rows": []}, "rows", "Rows")._repr_html_()).found == []


def test_values_of_several_types_are_text_and_taken_names_are_told_apart():
    rows = [{"source": "a", "payload": {"x": 1, "source": "s"}}, {"source": "b", "payload": {"x": "one"}}]
    found = Result({"rows": rows}, "rows", "Rows").arrow()
    assert found.to_pylist() == [
        {"source": "a", "x": "1", "payload.source": "s"},
        {"source": "b", "x": "one", "payload.source": None},
    ]
    late = Result({"rows": [{"event_time": "a time that no calendar has"}]}, "rows", "Rows").arrow()
    assert late["event_time"].to_pylist() == [None]


def test_columns_of_a_payload_stay_as_they_are_and_doubles_stay_doubles():
    rows = [{"offset": 1, "event_time": None, "payload": {"high": 7, "v": 0.5, "big": 2**70}}]
    rows.append({"offset": 2, "event_time": None, "payload": {"high": 8, "v": "NaN", "big": 1}})
    found = Result({"rows": rows}, "rows", "Rows").arrow()
    assert found["high"].to_pylist() == [7, 8]
    assert (found.schema.field("v").type, str(found["v"][1])) == (pa.float64(), "nan")
    assert found["big"].to_pylist() == [str(2**70), "1"]


def test_a_record_without_rows_has_its_columns(pipeline):
    none = pipeline.rows(fate="dropped", since="2027-01-01").df()
    assert len(none) == 0
    assert {"event_time", "arrival_time", "partition"} <= set(none.columns)


def test_a_pipeline_shows_what_it_is_made_of(pipeline):
    cells = Cells(pipeline._repr_html_()).found
    assert cells[:4] == ["source", "format", "landing", "watermark"]
    assert cells[4:6] == ["readings", "json"]


def test_help_names_the_filters_of_rows():
    signature = inspect.signature(Pipeline.rows)
    assert "ForwardRef" not in str(signature)
    assert {"source", "fate", "reason", "partition", "since", "until", "batch"} <= signature.parameters.keys()


def test_a_table_without_rows_has_its_schema(config, tmp_path):
    keys = {
        "streams": {
            "kept": {"from": "readings", "publish": True},
            "hours": {"from": "readings", "tumbling": "1h", "group_by": ["p"], "select": {"n": "count(*)"}},
        },
        "pipeline": "empty",
    }
    content = YAML(typ="safe").load(config) | keys | {"warehouse": str(tmp_path / "warehouse")}
    path = tmp_path / "empty.yml"
    path.write_text(json.dumps(content))
    empty, written = Pipeline.load(path), Pipeline.load(config).table("events/readings")
    events = empty.table("events/readings")
    assert events.count_rows() == 0
    judged_columns = [name for name in written.schema.names if name.startswith("_")]
    assert [events.schema.field(name).type for name in judged_columns] == [
        written.schema.field(name).type for name in judged_columns
    ]
    assert empty.table("streams/kept").schema.names[:4] == ["_system_timestamp", "_end_time", "_partition", "_offset"]
    hours = empty.table("streams/hours").schema
    assert hours.names == ["_window_start", "_window_end", "_batch_id", "p", "n"]
    assert hours.field("n").type == pa.int64()
    assert empty.table("dead_letters/hours").count_rows() == 0
    assert empty.table("substreams").schema.names[-1] == "batch_id"
    with pytest.raises(UsageError, match="there is no table"):
        empty.table("streams/none")


def test_the_notebook_of_the_documentation_runs(config, tmp_path, monkeypatch):
    """Each cell, in order, as a notebook would; what a cell ends in must have something to show."""
    shutil.copytree(config.parent, tmp_path / "toll")
    (tmp_path / "toll" / config.name).rename(tmp_path / "toll" / "toll.yml")
    monkeypatch.chdir(tmp_path / "toll")
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            *lines, last = "".join(cell["source"]).splitlines()
            exec("\n".join(lines), names)  # noqa: S102 - the project's own notebook
            shown.append(eval(last, names))  # noqa: S307
    htmls = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(htmls) == len(shown) - 1
    assert "would have kept" in shown[1][0]
    assert "<iframe" in htmls[-1]
