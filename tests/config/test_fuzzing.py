"""Files that nobody would write: whatever stands in a configuration, it is loaded or refused with what is wrong and
where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tidemark.config import load_pipeline
from tidemark.errors import ConfigError, Problem

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "example-pipeline.yml"
LONGEST = 2100
"""Characters that the message of a problem may have."""

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["", "-1s", "99999999999d", "1e400", "${NOT_SET}", "${", "off", "../..", "/etc/passwd", "s3://", "2026-13-45"]
    ),
    st.sampled_from(
        ["count(*)", "e +", "(" * 500, "SELECT 1", "java_method('a', 'b')", "`", "\x00", "\ud800", "x" * 5000]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=6,
)


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


@pytest.fixture(scope="module")
def example() -> Any:
    return plain(YAML(typ="safe").load(EXAMPLE.read_text()))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, (*path, key))


def put(document: Any, path: tuple[Any, ...], value: Any, how: str) -> Any:
    """The document with something else at a place: another value, nothing, or the same under another name."""
    found = deepcopy(document)
    if not path:
        return value
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    if how == "remove":
        del holder[path[-1]]
    elif how == "rename" and isinstance(holder, dict):
        holder[str(value)[:50]] = holder.pop(path[-1])
    else:
        holder[path[-1]] = value
    return found


def problems(path: Path) -> list[Problem]:
    """What is wrong with a file; nothing where it was loaded."""
    try:
        load_pipeline(path, {})
    except ConfigError as error:
        return error.problems or [Problem("", "", "")]
    return []


def hold_told(path: Path) -> None:
    """The file is loaded, or each problem says what is wrong."""
    for problem in problems(path):
        assert 0 < len(problem.message) < LONGEST
        assert "Traceback" not in problem.message


QUIET = settings(
    max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
)


@QUIET
@given(data=st.data())
def test_any_value_at_any_place_is_taken_or_told(example, tmp_path_factory, data):
    path = data.draw(st.sampled_from(list(places(example))))
    document = put(example, path, data.draw(VALUES), data.draw(st.sampled_from(["set", "set", "rename", "remove"])))
    folder = tmp_path_factory.mktemp("fuzz")
    for beside in DOCS.glob("example-*.yml"):
        (folder / beside.name).write_bytes(beside.read_bytes())
    file = folder / "pipeline.yml"
    file.write_text(json.dumps(document), encoding="utf-8")
    hold_told(file)


@QUIET
@given(
    content=st.binary(max_size=200) | st.text(alphabet="abc:-[]{}&*!|>%@'\"\n \t#?,<~", max_size=80).map(str.encode)
)
def test_any_bytes_are_told(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("bytes") / "pipeline.yml"
    file.write_bytes(content)
    hold_told(file)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "pipeline: " + "[" * 5000,
        "pipeline: p\nsources: &s\n  a: *s\n",
        "? " * 3000,
        "a: " * 3000,
        "x" * 2_000_000,
    ],
    ids=["aliases of aliases", "deep lists", "an alias of itself", "deep keys", "keys in a row", "long"],
)
def test_files_made_to_be_costly_are_refused_at_once(tmp_path, text):
    file = tmp_path / "pipeline.yml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_pipeline(file, {})
    assert all(len(problem.message) < LONGEST for problem in refused.value.problems)
