"""Values of the environment are recorded and shown as references, and a change of one is noticed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tidemark.cli.failures import failure_of
from tidemark.config import PipelineSpec, changes, load_pipeline, secrets
from tidemark.config.secrets import hidden
from tidemark.errors import Blocked, ConfigError, TidemarkError
from tidemark.report import pipeline_graph
from tidemark.runner.recorded import KEY_FILE, content_of, key_of, spec_of
from tidemark.storage.object_errors import explained

SALT = "planted-7f3a"
PIPELINE = """
pipeline: p
warehouse: ./warehouse
sources:
  s:
    extends: s.yml
    landing: ${DATA}/landing
    late_arrival: {tolerance: "${LATE}", action: "${ACTION:-adjust}"}
streams:
  salted: {from: s, where: "x <> '${TM_SALT}'", select: {z: "concat(x, '${TM_SALT}')", t: t}, publish: true}
quality: {max_dropped: "${DROPPED}"}
"""
SOURCE = """
format: json
schema: "x STRING, t TIMESTAMP"
timestamp_by: t
over: "sha2(concat(x, '${TM_SALT}'), 256)"
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What these tests take is hidden in no message of others."""
    monkeypatch.setattr(secrets, "_hidden", {})
    monkeypatch.setattr(secrets, "_shown", set())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    (tmp_path / "p.yml").write_text(PIPELINE)
    (tmp_path / "s.yml").write_text(SOURCE)
    return tmp_path


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {"TM_SALT": SALT, "DATA": str(folder), "LATE": "20m", "DROPPED": "5%", **more}


def loaded(folder: Path, **more: str) -> PipelineSpec:
    return load_pipeline(folder / "p.yml", environ(folder, **more)).spec


def recorded(spec: PipelineSpec, root: Path) -> str:
    return json.dumps(spec.recorded(key_of(root, make=True)))


def test_a_record_has_references_and_opens_to_the_same(folder):
    spec = loaded(folder)
    text = recorded(spec, folder)
    assert SALT not in text
    assert "sha2(concat(x, '${TM_SALT}'), 256)" in text
    assert '"landing": "${DATA}/landing"' in text
    assert spec_of(text, spec, folder).resolved() == spec.resolved()
    assert spec_of(text, spec, folder).recorded(key_of(folder)) == json.loads(text), "it is recorded the same again"
    assert content_of(text, spec, folder) == spec.resolved()
    assert changes(content_of(text, spec, folder), spec) == []


def test_hashes_are_of_no_use_without_the_key_and_the_key_is_for_its_owner_alone(folder):
    spec = loaded(folder)
    one, other = (spec.recorded(key)["environment"]["TM_SALT"] for key in (b"1" * 32, b"2" * 32))
    assert one != other
    assert spec.fingerprint(b"1" * 32) != spec.fingerprint(b"2" * 32)
    assert spec.fingerprint(b"1" * 32) != loaded(folder, TM_SALT="another").fingerprint(b"1" * 32)
    assert key_of(folder, make=True) == key_of(folder, make=True) != b""
    assert (folder / KEY_FILE).stat().st_mode & 0o077 == 0


def test_another_value_is_a_change_that_is_refused_without_either_value(folder):
    text = recorded(loaded(folder), folder)
    now = loaded(folder, TM_SALT="planted-other")
    with pytest.raises(ConfigError) as raised:
        changes(content_of(text, now, folder), now)
    assert {problem.key for problem in raised.value.problems} == {
        "sources.s.over",
        "streams.salted.select.z",
        "streams.salted.where",
    }
    assert all("its value from the environment" in problem.message for problem in raised.value.problems)
    assert "planted" not in str(raised.value)
    with pytest.raises(ConfigError, match="the environment variable TM_SALT has another value than the one"):
        spec_of(text, now, folder)


def test_a_variable_that_is_gone_is_named(folder):
    text = recorded(loaded(folder), folder)
    (folder / "s.yml").write_text(SOURCE.replace("${TM_SALT}", "x"))
    (folder / "p.yml").write_text(PIPELINE.replace("${TM_SALT}", "x"))
    given = environ(folder)
    del given["TM_SALT"]
    now = load_pipeline(folder / "p.yml", given).spec
    with pytest.raises(ConfigError, match="the environment variable TM_SALT is not set"):
        spec_of(text, now, folder)


def test_a_place_that_moves_by_the_environment_is_no_matter(folder, tmp_path):
    text = recorded(loaded(folder), folder)
    (tmp_path / "elsewhere" / "landing").mkdir(parents=True)
    now = loaded(folder, DATA=str(tmp_path / "elsewhere"))
    (note,) = changes(content_of(text, now, folder), now)
    assert note.startswith("sources.s.landing: ")
    assert spec_of(text, now, folder).sources["s"].over == now.sources["s"].over


def test_a_record_of_before_with_values_in_the_clear_loads_and_compares(folder):
    spec = loaded(folder)
    before = json.dumps(spec.resolved())
    assert changes(content_of(before, spec, folder), spec) == []
    assert spec_of(before, spec, folder).resolved() == spec.resolved()
    now = loaded(folder, TM_SALT="other-salt")
    with pytest.raises(ConfigError) as raised:
        changes(content_of(before, now, folder), now)
    assert "planted" not in str(raised.value)
    assert "other-salt" not in str(raised.value)


def test_without_its_key_a_record_is_still_read(folder):
    spec = loaded(folder)
    text = recorded(spec, folder)
    (folder / KEY_FILE).unlink()
    assert changes(content_of(text, spec, folder), spec) == []
    key_of(folder, make=True)
    assert changes(content_of(text, spec, folder), spec) == [], "hashes under another key tell nothing"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("sha2(concat", "sha3(concat"),
        ("'${TM_SALT}'), 256", "'${TM_SALT}, 256"),
        ("'${TM_SALT}')", "${TM_SALT})"),
        ("format: json", "format: ${TM_SALT}"),
        ("timestamp_by: t", "timestamp_by: ${TM_SALT}"),
        ("t TIMESTAMP", "t ${TM_SALT}"),
        ("256)", "256) || '" + "x" * 90 + "${TM_SALT}' ||"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said_without_values(folder, was, now):
    (folder / "s.yml").write_text(SOURCE.replace(was, now))
    with pytest.raises(ConfigError) as raised:
        loaded(folder)
    text = str(raised.value)
    assert not {SALT[start : start + 4] for start in range(len(SALT) - 3)} & {
        text[start : start + 4] for start in range(len(text))
    }


def test_docs_of_a_pipeline_name_the_variable(folder):
    text = pipeline_graph.page(loaded(folder))
    assert SALT not in text
    assert "TM_SALT" in text


def test_errors_hide_values_however_they_are_quoted(folder):
    salt = 'a "planted" \\ salt'
    loaded(folder, TM_SALT=salt)
    assert hidden(f"near {salt}, {salt!r}") == "near ${TM_SALT}, '${TM_SALT}'"


def test_a_value_that_is_part_of_the_path_of_the_file_is_hidden_everywhere_but_in_it(folder):
    loaded(folder, TM_SALT=folder.name)
    file = folder / "p.yml"
    assert hidden(f"{file}: run `tidemark status {file}`, {folder}/warehouse") == (
        f"{file}: run `tidemark status {file}`, {folder}/warehouse"
    )
    assert hidden(f"concat('{folder.name}'), /x/{folder.name}/p.yml") == "concat('${TM_SALT}'), /x/${TM_SALT}/p.yml"
    loaded(folder, TM_SALT=f"{file.name} and more")
    assert hidden(f"{file} and more") == f"{folder}/${{TM_SALT}}", "it is not part of the path as a whole"


def test_figures_of_a_blocked_run_stay_and_no_other_error_shows_an_equal_value(folder):
    loaded(folder, TM_SALT="100")

    @explained
    def failing(error: TidemarkError) -> None:
        raise error

    for error, shown in ((Blocked("dropped is 100"), "100"), (TidemarkError("near 100"), "${TM_SALT}")):
        assert failure_of(type(error)(error.message)).message.endswith(f" {shown}")
        with pytest.raises(TidemarkError, match=f" {re.escape(shown)}$"):
            failing(error)
