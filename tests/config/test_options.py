"""Reader options: an allow-list for each format."""

from __future__ import annotations

import pytest

from tidemark.config.formats import FORMATS
from tidemark.config.options import canonical, option_findings


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in FORMATS for name in sorted(FORMATS[kind].options)]
)
@pytest.mark.parametrize("spell", [str, str.upper, str.lower], ids=["as is", "upper", "lower"])
def test_an_allowed_option_may_be_set_in_any_case(kind: str, name: str, spell: type[str]) -> None:
    value = {"encoding": "UTF-8", "mergeSchema": "false", "header": "true", "multiLine": "true"}.get(
        name, "true" if name.startswith(("allow", "ignore")) else ";"
    )
    assert list(option_findings(kind, {spell(name): value})) == []
    assert list(canonical(kind, {spell(name): value})) == ["sep" if name == "delimiter" else name]


def test_true_and_false_may_be_written_in_any_case_and_other_values_are_kept() -> None:
    given = {"header": "TRUE", "nullValue": "TRUE", "ignoreLeadingWhiteSpace": "False"}
    assert canonical("csv", given) == given | {"header": "true", "ignoreLeadingWhiteSpace": "false"}


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_rows_over_lines_are_for_text_alone(kind: str) -> None:
    ((_, message),) = option_findings(kind, {"multiLine": "true"})
    assert "changes which rows a file has" in message


@pytest.mark.parametrize("kind", sorted(FORMATS))
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("lineSep", "changes which rows a file has"),
        ("maxColumns", "changes which rows a file has"),
        ("MODE", "hides damage"),
        ("ignoreCorruptFiles", "hides damage"),
        ("ignoreMissingFiles", "hides damage"),
        ("columnNameOfCorruptRecord", "hides damage"),
        ("recursiveFileLookup", "changes which files are taken"),
        ("pathGlobFilter", "changes which files are taken"),
        ("modifiedBefore", "changes which files are taken"),
        ("modifiedAfter", "changes which files are taken"),
        ("basePath", "changes which files are taken"),
        ("inferSchema", "types come from the schema alone"),
        ("samplingRatio", "types come from the schema alone"),
        ("enforceSchema", "types come from the schema alone"),
        ("datetimeRebaseMode", "is not a reader option that can be set"),
    ],
)
def test_an_option_that_breaks_a_promise_is_refused_by_name(kind: str, name: str, reason: str) -> None:
    ((option, message),) = option_findings(kind, {name: "x"})
    assert option == name
    assert reason in message
    assert repr(name) in message


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("csv", {"heder": "true"}, "Did you mean 'header'? There are: charToEscapeQuoteEscaping, comment"),
        ("json", {"sep": ";"}, "'sep' is not a reader option that can be set for json"),
        ("csv", {"encoding": "latin1"}, "only UTF-8 is read"),
        ("parquet", {"mergeSchema": "true"}, "only false is allowed"),
        ("csv", {"header": "yes"}, "'yes' is not true or false"),
        ("csv", {"quote": "''"}, "must be one character"),
        ("csv", {"comment": "¿"}, "must be an ASCII character"),
        ("csv", {"sep": ""}, "must be a character that is no line end"),
        ("csv", {"sep": ";", "delimiter": ";"}, "is the same option as 'sep'"),
        ("csv", {"header": "true", "HEADER": "true"}, "is the same option as 'header'"),
    ],
)
def test_an_option_with_a_wrong_name_or_value_is_refused(kind: str, options: dict[str, str], message: str) -> None:
    ((_, found),) = option_findings(kind, options)
    assert message in found
