"""Files are YAML 1.2, read into plain data with `${NAME}` replaced; credentials stay out."""

from __future__ import annotations

from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config.credentials import masked
from tidemark.config.files.yaml import read_yaml
from tidemark.errors import ConfigError

ENVIRON = {"HOME_DIR": "/data", "COUNT": "100", "EMPTY": "", "FLAG": "true", "SECRET": "hunter2"}


def _content(files: Files, text: str) -> dict[str, Any]:
    document = read_yaml(files.text(text), ENVIRON)
    assert document.problems == ()
    return document.content


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("5", 5),
        ("010", 10),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("[1, a, {b: c}]", [1, "a", {"b": "c"}]),
        ("${HOME_DIR}/in", "/data/in"),
        ("${COUNT}", 100),
        ("'${COUNT}'", "100"),
        ("${FLAG}", True),
        ("${EMPTY}", None),
        ("${NOPE:-a b}", "a b"),
        ("${EMPTY:-7}", 7),
        ("${NOPE:-}", None),
        ("$HOME_DIR a$", "$HOME_DIR a$"),
    ],
)
def test_a_value_is_text_unless_it_is_a_number_or_true_false_null(files: Files, text: str, value: Any) -> None:
    assert _content(files, f"key: {text}") == {"key": value}


def test_what_reads_as_a_number_is_text_as_it_is_written_in_reader_options_and_expressions(files: Files) -> None:
    written = "{a: 0000, b: 1.50, c: 0.12345678901234567890, d: TRUE, e: 1e3, f: ~, g: x}"
    kept = {
        "a": "0000",
        "b": "1.50",
        "c": "0.12345678901234567890",
        "d": "TRUE",
        "e": "1e3",
        "f": None,
        "g": "x",
    }
    assert _content(files, f"options: {written}") == {"options": kept}
    assert _content(files, f"sources: {{s: {{options: {written}}}}}") == {"sources": {"s": {"options": kept}}}
    stream = f"{{select: {written}, preceding: {{select: {written}}}, group_by: [a, {written}], tumbling: 5}}"
    steps = {"select": kept, "preceding": {"select": kept}, "group_by": ["a", kept], "tumbling": 5}
    assert _content(files, f"streams: {{s: {stream}}}") == {"streams": {"s": steps}}
    assert _content(files, "options:\n  a: ${COUNT}") == {"options": {"a": "100"}}
    assert _content(files, "streams: {select: {publish: true}}\nsources: {options: {settle: 5}}") == {
        "streams": {"select": {"publish": True}},
        "sources": {"options": {"settle": 5}},
    }


def test_keys_are_text(files: Files) -> None:
    assert _content(files, "1: a\ntrue: b\non: c") == {"1": "a", "true": "b", "on": "c"}


def test_an_alias_repeats_what_it_names(files: Files) -> None:
    assert _content(files, "a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: [1", 1, "is not YAML"),
        ("a: 1\nb: @x", 2, "is not YAML"),
        ("- a", 0, "must be a mapping of keys"),
        ("", 0, "must be a mapping of keys"),
        ("a: 1\n---\nb: 2", 2, "is not YAML"),
        ("a: &x {b: *x}", 1, "nested too deep"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
            "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
            "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]",
            1,
            "nested too deep",
        ),
    ],
    ids=["open", "character", "list", "empty", "two", "endless", "many"],
)
def test_what_is_no_mapping_is_refused_with_its_line(files: Files, text: str, line: int, message: str) -> None:
    path = files.text(text)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path, {})
    (problem,) = caught.value.problems
    assert problem.file == (f"{path}:{line}" if line else str(path))
    assert message in problem.message


def test_a_file_that_cannot_be_read_is_refused(files: Files) -> None:
    binary = files.folder / "latin.yml"
    binary.write_bytes(b"a: \xe4")
    for path, message in [
        (files.folder / "nope.yml", "there is no such file"),
        (files.folder, "is a folder"),
        (binary, "is not UTF-8 text (byte 3)"),
    ]:
        with pytest.raises(ConfigError) as caught:
            read_yaml(path, {})
        assert message in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2", "b.c", "is given twice (first in line 3): remove one"),
        ("a: &x {b: 1}\nc:\n  d: 1\n  <<: *x", "c.<<", "merge keys are not YAML 1.2"),
        ("a: 1\n\n\n? [x, y]\n: 1", "?", "a key must be a word"),
        ("a:\n- 1\n- 2\n- !!binary aGk=", "a[2]", "the tag"),
        (
            "x: 1\ny: 1\nz: 1\na: !python/object:os.system x",
            "a",
            "the tag '!python/object:os.system' is not allowed",
        ),
        ("x: 1\ny: 1\nz: 1\na: ${NOPE}", "a", "NOPE is not set: set it, or write ${NOPE:-default}"),
        (
            "x: 1\ny: 1\nz: 1\na: ${NO PE}",
            "a",
            "'${NO PE}' is not a reference: write ${NAME} or ${NAME:-default}",
        ),
    ],
    ids=["twice", "merge", "complex", "binary", "object", "unset", "reference"],
)
def test_what_is_wrong_in_a_file_is_placed_at_its_key_and_line(
    files: Files, text: str, key: str, message: str
) -> None:
    path = files.text(text)
    (problem,) = read_yaml(path, ENVIRON).problems
    assert (problem.file, problem.key) == (f"{path}:4", key)
    assert message in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2",
        "db_password: hunter2",
        "airflow: {conn: {AWS_SECRET_ACCESS_KEY: hunter2}}",
        "options: {fs.s3a.secret.key: hunter2}",
        "token: [hunter2]",
        "accessKey: hunter2",
        "password: ${NOPE:-hunter2}",
        "password: hunter2${SECRET}",
        "url: postgres://me:hunter2@host/db",
        "landing: s3://${USER_NAME:-me}:hunter2@bucket/x",
        "url: postgres://me:${NOPE:-hunter2}@host/db",
        "airflow: {note: 'key AKIAIOSFODNN7EXAMPLE hunter2'}",
    ],
)
def test_a_credential_in_a_file_is_refused_without_being_shown(files: Files, text: str) -> None:
    (problem,) = read_yaml(files.text(text), ENVIRON).problems
    assert "may not stand in a configuration file" in problem.message
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "password: ${SECRET}",
        "password: ''",
        "url: postgres://me:${SECRET}@host/db",
        "url: https://host:8080/path",
        "email: me@host",
        "sources: {token_events: {landing: ./tokens}}",
    ],
)
def test_what_the_environment_brings_may_be_a_credential(files: Files, text: str) -> None:
    assert read_yaml(files.text(text), ENVIRON).problems == ()


def test_credentials_from_the_environment_are_masked_where_they_are_recorded() -> None:
    value = {
        "db_password": "a",
        "url": "postgres://me:b@host/db",
        "more": [{"token": "c", "n": 5}],
        "empty": "",
    }
    assert masked(value) == {
        "db_password": "***",
        "url": "postgres://me:***@host/db",
        "more": [{"token": "***", "n": 5}],
        "empty": "",
    }
