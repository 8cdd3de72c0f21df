"""What is shipped beside the models: the schema for editors, and the annotated example."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tidemark.config import json_schema, load_pipeline
from tidemark.config.files.yaml import read_yaml
from tidemark.config.models.landing_time import LandedAtSpec
from tidemark.config.models.pipeline import PIPELINE_KEYS, MicroBatchSpec, RetentionSpec
from tidemark.config.models.punctuation import EdgeSpec, PunctuationSpec
from tidemark.config.models.sources import SOURCE_KEYS, LateSpec, PartitionSpec, QualitySpec
from tidemark.config.models.streams import STREAM_KEYS, HoppingSpec
from tidemark.config.models.tumbling_windows import TumblingSpec
from tidemark.config.schema import SCHEMA_FILE, schema_text
from tidemark.core.times import parse_duration

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "example-pipeline.yml"
WRITE = "from tidemark.config.schema import *; SCHEMA_FILE.write_text(schema_text())"


def test_the_shipped_schema_is_the_one_of_the_models() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), f'write it anew: python -c "{WRITE}"'


def test_the_schema_knows_every_key() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(PIPELINE_KEYS)
    assert set(schema["$defs"]["SourceSpec"]["properties"]) == {*SOURCE_KEYS, "extends"}
    assert set(schema["$defs"]["StreamSpec"]["properties"]) == set(STREAM_KEYS)
    assert schema["additionalProperties"] is False


def test_the_defaults_of_the_schema_are_as_they_are_written() -> None:
    source = json_schema()["$defs"]["SourceSpec"]["properties"]
    assert source["late_arrival"]["default"] == {"tolerance": "5s", "action": "adjust"}
    assert (source["clock_skew"]["default"], source["settle"]["default"]) == ("5m", "0s")
    stream = json_schema()["$defs"]["StreamSpec"]["properties"]
    assert (stream["shift"]["default"], stream["publish"]["default"]) == ("0s", False)


def test_every_pattern_of_the_schema_is_a_regular_expression_that_lets_the_environment_in() -> None:
    patterns = set(_patterns(json_schema()))
    assert len(patterns) == 3
    assert all(re.search(pattern, "${NAME:-5s}") for pattern in patterns)


def test_editors_and_the_reader_take_the_same_durations() -> None:
    (pattern,) = (
        each for each in set(_patterns(json_schema())) if re.search(each, "5s") and not re.search(each, "-5s")
    )
    for text in ("5s", "2h10m", "1d1us", "2m500ms"):
        assert re.search(pattern, text), text
        assert parse_duration(text) > 0
    for text in ("", "10m2h", "1h1h", "1h30", "h", "1 h"):
        assert not re.search(pattern, text), text
        with pytest.raises(ValueError, match="is not a duration"):
            parse_duration(text)


@pytest.mark.parametrize("environ", [{}, {"TOLL_WAREHOUSE": "/big/disk"}], ids=["default", "variable"])
def test_the_example_loads(environ: dict[str, str]) -> None:
    spec = load_pipeline(EXAMPLE, environ).spec
    assert set(spec.sources) == {"readings", "gates", "rates"}
    assert spec.warehouse == environ.get("TOLL_WAREHOUSE", str(DOCS.parent / "warehouse"))


def test_the_streams_of_the_example_give_no_warning() -> None:
    assert [warning for warning in load_pipeline(EXAMPLE, {}).warnings if warning.key.startswith("streams")] == []


def test_the_example_has_every_key() -> None:
    content = read_yaml(EXAMPLE, {}).content
    readings, rates = content["sources"]["readings"], content["sources"]["rates"]
    own = read_yaml(DOCS / "example-source.yml", {}).content
    assert set(content) == set(PIPELINE_KEYS)
    assert set(readings) | {"shape", "punctuation"} == set(SOURCE_KEYS)
    assert "extends" in content["sources"]["gates"]
    streams = content["streams"].values()
    assert {key for stream in streams for key in stream} == set(STREAM_KEYS)
    windows = [stream[key] for stream in streams for key in ("tumbling", "hopping") if key in stream]
    assert any(isinstance(window, str) for window in windows)
    for part, model in [
        (content["micro_batch"], MicroBatchSpec),
        (content["retention"], RetentionSpec),
        (content["quality"], QualitySpec),
        (readings["landed_at"], LandedAtSpec),
        (readings["late_arrival"], LateSpec),
        (readings["partition"] | own["partition"], PartitionSpec),
        (rates["punctuation"], PunctuationSpec),
        (rates["shape"]["edge"], EdgeSpec),
        (windows[1] | windows[2], TumblingSpec),
        (windows[3], HoppingSpec),
    ]:
        assert set(part) == set(model.model_fields)


@pytest.mark.parametrize("key", [*PIPELINE_KEYS, *SOURCE_KEYS, *STREAM_KEYS, "extends"])
def test_the_page_on_configuration_explains_every_key(key: str) -> None:
    assert f"`{key}`" in (DOCS / "configuration.md").read_text(encoding="utf-8")


def test_the_yaml_of_the_page_on_configuration_is_a_pipeline(tmp_path: Path) -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(pipeline: .*?)```", page, re.DOTALL)
    (tmp_path / "pipeline.yml").write_text(example)
    (tmp_path / "landing").mkdir()
    assert load_pipeline(tmp_path / "pipeline.yml", {}).warnings == []


def test_loading_a_configuration_starts_no_heavy_library() -> None:
    code = (
        "import sys, tidemark.config as c; c.load_pipeline(sys.argv[1], {});"
        "print({'pyspark', 'pyarrow', 'duckdb', 'deltalake', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(  # noqa: S603 # its own code
        [sys.executable, "-c", code, str(EXAMPLE)],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "set()"


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (value for key, value in schema.items() if key == "pattern" and isinstance(value, str))
        schema = list(schema.values())
    for item in schema if isinstance(schema, list) else []:
        yield from _patterns(item)


def test_every_model_of_the_configuration_refuses_unknown_keys() -> None:
    def models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
        for model in base.__subclasses__():
            yield model
            yield from models(model)

    from tidemark.config.models.fields import Settings  # only here

    assert all(model.model_config["extra"] == "forbid" and model.model_config["frozen"] for model in models(Settings))
    assert json.dumps(json_schema()).count('"additionalProperties": false') >= 9
