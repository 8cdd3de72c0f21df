"""How streams are made: each input leads to its stream, no box hides another or an arrow, no secret is shown."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_warehouse import FILE, Page
from ruamel.yaml import YAML

from tidemark.config import PipelineSpec
from tidemark.config.load import load_pipeline
from tidemark.report.page.charts.lineage import _Box, _placed, lineage
from tidemark.report.page.definition import definition, definition_data
from tidemark.report.page.markup import document

SALT = "pl4nted-salt"
CHECKED = {"require": {"known": "lane <> '${TM_SALT}'"}, "deduplicate": {"by": ["lane"], "within": "2h"}}
STREAMS = {
    "fast": {"from": "readings", "where": "lane <> '${TM_SALT}'"},
    "living": {"from": "fast", "lifetime": "1h"},
    "pairs": {"join": ["fast", "living"], "on": ["lane"], "select": {"lane": "fast.lane", "n": "1"}},
    "hourly": {
        "from": "pairs",
        "tumbling": "1h",
        "group_by": [{"part": "left(lane, 1)"}],
        "select": {"n": "count(*)"},
    },
}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PipelineSpec:
    path = tmp_path_factory.mktemp("made") / "toll.yml"
    with path.open("w") as file:
        sources = {"readings": FILE["sources"]["readings"] | CHECKED}
        YAML().dump({"pipeline": "toll"} | FILE | {"sources": sources, "streams": STREAMS}, file)
    return load_pipeline(path, {"TM_SALT": SALT}).spec


def test_the_drawing_says_what_each_stream_is_made_from(spec):
    svg = lineage(spec)
    assert 'aria-label="readings, a source; fast from readings; living from fast; pairs from fast and living' in svg
    assert re.findall(r'<g class="(\w+)"><title>(\w+)', svg) == [
        ("source", "readings"),
        ("between", "fast"),
        ("between", "living"),
        ("published", "pairs"),
        ("published", "hourly"),
    ]


def test_each_column_has_what_it_is_computed_as(spec):
    page = Page.of(document("toll", definition(spec)))
    assert [tuple(line.values()) for line in page.lines("definition-hourly")] == [
        ("part", "-", "left(lane, 1)"),
        ("n", "-", "count(*)"),
    ]
    assert "from pairs; tumbling 1h; by part." in page.sentences
    streams = {each["stream"]: each for each in definition_data(spec)["streams"]}
    assert streams["pairs"]["inputs"] == ["fast", "living"]
    assert streams["hourly"]["columns"][1] == {"column": "n", "type": None, "computed_as": "count(*)"}


def test_a_source_has_its_columns_and_what_rows_must_hold(spec):
    page = Page.of(document("toll", definition(spec)))
    (line,) = page.lines("definition-sources")
    assert (line["arrival"], line["late"], line["partitions"]) == ("EnqueuedAt", "10m, adjust", "as they come")
    said = "lane STRING; quarantined unless lane <> '${TM_SALT}' (known); dropped if it repeats lane within 2h"
    assert any(each.endswith(said) for each in page.sentences)


def test_values_from_the_environment_are_not_shown(spec):
    shown = document("toll", definition(spec)) + str(definition_data(spec))
    assert SALT not in shown
    assert "${TM_SALT}" in shown


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """By name the inputs of sources, which have none, and streams."""
    count = draw(st.integers(2, 9))
    names = [f"n{number}" for number in range(count)]
    return {
        name: draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=3)) if number else []
        for number, name in enumerate(names)
    }


@given(graphs())
def test_arrows_lead_from_input_to_stream_past_all_boxes(inputs):
    boxes = {name: _Box((name, "x") if below else (name,)) for name, below in inputs.items()}
    placed, arrows = _placed(boxes, inputs)
    columns: dict[float, list[_Box]] = {}
    for box in placed.values():
        columns.setdefault(box.x, []).append(box)
    for column in columns.values():
        ordered = sorted(column, key=lambda box: box.y)
        assert all(above.y + above.height < below.y for above, below in itertools.pairwise(ordered))
    steps = sorted(columns)
    assert all(steps.index(placed[b].x) == steps.index(placed[a].x) + 1 for a, b in arrows)
    for name, below in inputs.items():
        assert sorted(_origin(arrows, boxes, start) for start, end in arrows if end == name) == sorted(below)


def _origin(arrows: list[tuple[str, str]], boxes: dict[str, _Box], name: str) -> str:
    """The box that an arrow comes from, through the empty boxes that it passes."""
    while name not in boxes:
        (name,) = (start for start, end in arrows if end == name)
    return name


def test_a_file_without_streams_has_its_source_drawn(tmp_path: Path):
    with (tmp_path / "toll.yml").open("w") as file:
        YAML().dump({"pipeline": "toll"} | {**FILE, "streams": {}}, file)
    assert lineage(load_pipeline(tmp_path / "toll.yml").spec).count("<rect") == 1
