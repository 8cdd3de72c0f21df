"""The keys that say how files name and nest what is read."""

from __future__ import annotations

from typing import Any

import pytest

from config.pipeline_files import Files
from tidemark.config import changes, from_resolved
from tidemark.config.backfill_rules import check_rebuilding
from tidemark.config.models.values import members_of
from tidemark.errors import ConfigError

CSV: dict[str, Any] = {"format": "csv", "schema": "user STRING, page STRING", "options": {"header": "true"}}
JSON: dict[str, Any] = {"schema": "user STRING, page STRING"}
MORE: dict[str, Any] = {"schema": "user STRING, more STRING"}


@pytest.mark.parametrize(
    ("source", "key", "message"),
    [
        (CSV | {"header_columns": ["User"]}, "header_columns", 'must be a mapping of names in files to columns'),
        (CSV | {"header_columns": {"User": "usr"}}, "header_columns.User", "'usr' is no column of the schema"),
        (CSV | {"header_columns": {"U": "user", "V": "user"}}, "header_columns.V", "has a name in files already"),
        (CSV | {"header_columns": {"Page": "user"}}, "header_columns", "'user' and 'page' would both be named"),
        (CSV | {"header_columns": {"U": "user"}, "options": {}}, "header_columns", 'needs options: {header: "true"}'),
        ({"format": "orc", "schema": "a INT", "header_columns": {"A": "a"}}, "header_columns", "is for csv and json"),
        (CSV | {"rows": "[]"}, "rows", "is for format json"),
        (JSON | {"rows": "Records"}, "rows", "'Records' is not an array in a document: write Records[]"),
        (JSON | {"rows": "a[].b[]"}, "rows", "make lines of them, jq -c '.a[].b[]' in.json > out.json"),
        (JSON | {"rows": ".[]"}, "rows", "is not an array in a document"),
        (CSV | {"rescue": "_rescued"}, "rescue", "is for format json"),
        (JSON | {"rescue": "_raw"}, "rescue", "is no name of a payload column: choose another, such as _rescued"),
        (JSON | {"rescue": "a b"}, "rescue", "cannot be stored by Delta"),
        ({"schema": "a INT, more INT", "rescue": "more"}, "rescue", "is INT in the schema: it must be more STRING"),
        (JSON | {"rescue": "more", "header_columns": {"x": "more"}}, "header_columns.x", "is no column"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_its_key(files: Files, source: dict[str, Any], key: str, message: str) -> None:
    found, sentence = files.problem(**source)
    assert found == f"sources.readings.{key}"
    assert message in sentence


def test_names_with_other_columns_names_may_be_swapped(files: Files) -> None:
    source = files.source(**CSV, header_columns={"user": "page", "page": "user"})
    assert source.names_in_files == {"user": "page", "page": "user"}


@pytest.mark.parametrize(
    ("path", "members"),
    [("[]", ()), ("Records[]", ("Records",)), ("a.b c[]", ("a", "b c")), ("`a.b`.c[]", ("a.b", "c"))],
)
def test_the_place_of_rows_in_a_document(path: str, members: tuple[str, ...]) -> None:
    assert members_of(path) == members


def test_the_column_of_what_is_rescued_comes_last_or_where_the_schema_has_it(files: Files) -> None:
    spec = files.spec(**JSON, rescue="_rescued")
    assert [column.name for column in spec.sources["readings"].columns] == ["user", "page", "_rescued"]
    assert from_resolved(spec.resolved()).resolved() == spec.resolved()
    declared = files.source(schema="user STRING, more STRING, page STRING", rescue="more")
    assert [column.name for column in declared.columns] == ["user", "more", "page"]
    assert list(declared.names_in_files) == ["user", "page"]


def test_what_is_rescued_and_names_of_new_columns_may_be_added(files: Files) -> None:
    recorded = files.spec(**JSON).resolved()
    keys = {"rescue": "_rescued", "schema": "user STRING, page STRING, at STRING", "header_columns": {"At": "at"}}
    told = changes(recorded, files.spec(**keys))
    assert [each.partition(":")[0].removeprefix("sources.readings.") for each in told] == [
        "header_columns.At", "rescue", "schema", "schema",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        (JSON, JSON | {"header_columns": {"User": "user"}}, "header_columns.User"),
        (JSON | {"header_columns": {"User": "user"}}, JSON, "header_columns.User"),
        (JSON, JSON | {"rows": "[]"}, "rows"),
        (JSON | {"rescue": "more"}, JSON, "rescue"),
        (MORE, MORE | {"rescue": "more"}, "rescue"),
    ],
)  # fmt: skip
def test_how_rows_are_read_needs_a_backfill_from_landing(
    files: Files, before: dict[str, Any], after: dict[str, Any], key: str
) -> None:
    recorded = files.spec(**before).resolved()
    spec = files.spec(**after)
    with pytest.raises(ConfigError) as caught:
        changes(recorded, spec)
    assert f"sources.readings.{key}" in [problem.key for problem in caught.value.problems]
    with pytest.raises(ConfigError) as rebuilt:
        check_rebuilding(recorded, spec)
    assert "--from-landing" in (rebuilt.value.hint or "")


def test_a_configuration_without_these_keys_keeps_its_fingerprint(files: Files) -> None:
    spec = files.spec(**JSON)
    resolved = spec.resolved()
    for key in ("header_columns", "rows", "rescue"):
        del resolved["sources"]["readings"][key]
    assert from_resolved(resolved).fingerprint() == spec.fingerprint()
    assert files.spec(**JSON, rows="[]").fingerprint() != spec.fingerprint()
