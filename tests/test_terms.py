"""The pages of other systems' terms and operators: their keys, functions, tables and commands are there, each
difference names a case that shows it, and their figures are true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from printed import BLOCK, ROOT, fault
from published import EXAMPLES
from tidemark.config import SYSTEM_COLUMNS, load_pipeline
from tidemark.config.formats import FORMATS
from tidemark.config.models.stream_graph import INDEX
from tidemark.config.schema import json_schema
from tidemark.config.sql.functions import AGGREGATES, ALLOWED_FUNCTIONS
from tidemark.core.batch_result import Diagnostic
from tidemark.core.policy import FATES, Reason
from tidemark.core.times import DAY, MINUTE, SECOND, format_time, parse_duration, parse_time
from tidemark.core.windows import FixedWindows
from tidemark.ledger.tables.schemas import TABLES as LEDGER

PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("terms.md", "operators.md")}
PAGE = PAGES["terms.md"]
WITHOUT_CASES = "### Around the pipeline"
SAME = re.compile("(equal[^.;]*)?")
"""What a row without a case may say differs: nothing, or in which way the two are equal."""
LINK = re.compile(r"\[([^][]+)\]\((examples/[^)]+\.test\.yml)\)")
OF_SPARK = ("events", "streams", "dead_letters", "lifetimes", "open_lifetimes")
TABLES = {*LEDGER, *(f"{kind}/<{of}>" for kind in OF_SPARK for of in ("source", "stream"))}


def keys(schema: Any) -> Iterator[str]:
    """Every key and every word that a pipeline file may have."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (word for word in schema.get("enum", []) if isinstance(word, str))
        yield from (schema["const"],) if isinstance(schema.get("const"), str) else ()
        for each in schema.values():
            yield from keys(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from keys(each)


KEYS = {*keys(json_schema())}
COLUMNS = SYSTEM_COLUMNS | {INDEX} | {name for schema in LEDGER.values() for name in schema.names}
WORDS = KEYS | COLUMNS | TABLES | {*Diagnostic, *Reason, *FATES, *FORMATS}


def of_tidemark(page: str) -> Iterator[str]:
    """What a page writes as code of tidemark: in sentences, and in tables outside the columns of other systems."""
    for line in BLOCK.sub("", page).splitlines():
        cells = re.split(r" ?\| ?", line.strip("| "))
        ours = cells[4:] if len(cells) == 6 else cells[1:] if line.startswith("|") else cells
        yield from (code for cell in ours for code in re.findall(r"`([^`]+)`", cell))


def nested(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from nested(each)


def unknown(code: str) -> str | None:
    """Why tidemark would not know it; None if it does."""
    if code.startswith("tidemark "):
        return fault(code, whole=len(code.split()) > 2)
    if call := re.fullmatch(r"(\w+)\(.*\)", code):
        return None if call[1] in AGGREGATES | ALLOWED_FUNCTIONS else "no such function"
    if ": " in code:
        wrong = {*nested(YAML(typ="safe").load(code))} - KEYS
        return f"no such key: {wrong}" if wrong else None
    if re.fullmatch(r"(\{(yyyy|MM|dd|HH)\}/?)+", code) or code in WORDS | EXAMPLES.keys() or (ROOT / code).is_file():
        return None
    try:
        parse_duration(code)
    except ValueError:
        return "no such key, column or table"
    return None


@pytest.mark.parametrize("name", PAGES)
def test_everything_that_a_page_calls_tidemarks_is_there(name):
    found = [*of_tidemark(PAGES[name])]
    assert len(found) > 150
    assert [(code, why) for code in found if (why := unknown(code))] == []


@pytest.mark.parametrize(
    "code",
    ["late_arival", "late_arrival: {tolerence: 5s}", "tidemark rnu toll.yml", "first_by(a, b)", "events/readings"],
)
def test_a_key_that_is_not_there_is_found(code):
    assert unknown(code)


def table_rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of the tables that name cases, without heads: a missing last cell is empty."""
    for section in re.split(r"^(?=##)", text, flags=re.MULTILINE):
        width = 0
        for line in BLOCK.sub("", section).splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if cells and not width:
                width = len(cells)
                assert (cells[-1] == "case") != section.startswith(WITHOUT_CASES), cells
            elif cells and not section.startswith(WITHOUT_CASES) and set(line) - set("|- "):
                yield cells + [""] * (width - len(cells))
            width = width if cells else 0


def without_case(text: str) -> list[str]:
    """Terms whose row states a difference and names no case."""
    return [
        cells[0]
        for cells in table_rows(text)
        if not (LINK.search(cells[-1]) or cells[1] == "not there" or SAME.fullmatch(cells[-2]))
    ]


def written_cases(path: Path) -> set[str]:
    return {case["case"] for case in YAML(typ="safe", pure=True).load_all(path) if case}


@pytest.mark.parametrize("name", PAGES)
def test_every_difference_of_a_page_names_a_case(name):
    assert len([*table_rows(PAGES[name])]) > 90
    assert without_case(PAGES[name]) == [], "name a case of docs/examples in the last column, one that shows it"


def test_every_case_that_a_page_names_is_there_and_every_case_of_a_difference_is_named():
    named: dict[str, set[str]] = {}
    for case, path in LINK.findall("".join(PAGES.values())):
        named.setdefault(path.removeprefix("examples/"), set()).add(case)
    written = {path.name: written_cases(path) for path in (ROOT / "docs" / "examples").glob("*.test.yml")}
    assert {path: cases - written[path] for path, cases in named.items() if cases - written[path]} == {}
    unnamed = {path: cases - named.get(path, set()) for path, cases in written.items() if path.startswith("terms-")}
    assert {path: cases for path, cases in unnamed.items() if cases} == {}


@pytest.mark.parametrize(
    "row",
    ["| `a` | `from` | equal; but later |", "| `a` | `from` | later | |", "| `a` | `from` | later | [x](y.md) |"],
)
def test_a_difference_without_a_case_is_found(row):
    assert without_case(f"| term | here | what differs | case |\n|---|---|---|---|\n{row}\n") == ["`a`"]


def test_the_pipeline_of_the_page_is_valid(tmp_path):
    (block,) = (found[2] for found in BLOCK.finditer(PAGE) if found[1] == "yaml")
    (tmp_path / "toll.yml").write_text(block)
    (tmp_path / "landing").mkdir()
    assert load_pipeline(tmp_path / "toll.yml").warnings == []


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**6))
def test_an_offset_of_a_microsecond_gives_windows_that_contain_their_end(time, seconds):
    size = seconds * SECOND
    windows = FixedWindows(size, size, 1)
    theirs = -(-time // size) * size  # the end of (end - size, end] that contains the time
    start = windows.start((time - 1) // size)
    assert start <= time < start + size
    assert start + size == theirs + 1


@given(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_with_that_offset_the_first_window_after_a_start_is_the_first_that_ends_at_or_after_it(start, number):
    windows = FixedWindows(5 * MINUTE, 5 * MINUTE, 1)
    ours, theirs = windows.start(number) + windows.size, (number + 1) * windows.size
    assert (ours > start) == (theirs >= start)


def test_windows_of_a_week_begin_on_the_days_that_the_page_names():
    since, monday = FixedWindows(7 * DAY, 7 * DAY), FixedWindows(7 * DAY, 7 * DAY, 4 * DAY)
    assert "1970-01-01 was a Thursday" in PAGE
    assert "`tumbling: {size: 7d, offset: 4d}`" in PAGE
    assert format_time(since.start(0)) == "1970-01-01T00:00:00Z"
    assert (monday.start(3000) - parse_time("2026-01-05T00:00:00Z")) % (7 * DAY) == 0, "a Monday"


def test_the_page_names_the_published_examples_of_atlas():
    assert {name for name in EXAMPLES if name.startswith("atlas-")} <= {*of_tidemark(PAGE)}
