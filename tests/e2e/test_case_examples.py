"""The examples of docs/examples run as their pages say, and those of the three systems hold what these print."""

from __future__ import annotations

from typing import Any

import pytest

from printed import ROOT, commands
from published import EXAMPLES
from tidemark.cli import invoke
from tidemark.commands.cases.read import read_cases
from tidemark.config import load_pipeline
from tidemark.core.times import format_time

FOLDER = ROOT / "docs" / "examples"
LONG = ["rules", *(path.stem for path in sorted(FOLDER.glob("terms-*.md")))]
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.stem not in ("README", *LONG))
JUDGED = [name for name, example in EXAMPLES.items() if "expected" in example]


@pytest.mark.usefixtures("quick")
def test_each_page_of_the_examples_has_cases_that_pass(monkeypatch, capsys):
    monkeypatch.chdir(FOLDER)
    typed = [found.typed for page in PAGES for found in commands(page.read_text(encoding="utf-8"))]
    assert typed == [f"tidemark test {page.stem}.yml" for page in PAGES]
    ended = {line: (invoke(line.split()[1:]), capsys.readouterr().out) for line in typed}
    assert {line: said for line, (status, said) in ended.items() if status} == {}


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", LONG)
def test_rules_and_differences_that_were_worked_by_hand_hold(name, monkeypatch, capsys):
    monkeypatch.chdir(FOLDER)
    (found,) = commands((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    assert found.typed == f"tidemark test {name}.yml"
    status, said = invoke(found.typed.split()[1:]), capsys.readouterr().out
    assert status == 0, said


def test_the_index_names_every_page():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    named = [page.name for page in FOLDER.glob("*.md") if page.name != "README.md"]
    assert [name for name in named if f"]({name})" not in index] == []
    assert {*EXAMPLES} <= {page.stem for page in PAGES}


def case_of(name: str) -> Any:
    spec = load_pipeline(FOLDER / f"{name}.yml", {}).spec
    (case,) = read_cases([FOLDER / f"{name}.test.yml"], spec, {})
    return case


@pytest.mark.parametrize("name", JUDGED)
def test_an_example_of_fates_is_the_published_one(name):
    case, example = case_of(name), EXAMPLES[name]
    given = [{"arrival_time": format_time(row.at), **row.values} for row in case.given["events"]]
    assert given == example["rows"]
    keys = ("disposition", "reasons", "system_timestamp")
    rows = case.expect["events/events"]
    assert [[row[f"_{key}"] for key in keys] for row in rows] == [
        [each[key] for key in keys] for each in example["expected"]
    ]


@pytest.mark.parametrize("name", ["atlas-watermark", "atlas-allowed-lateness"])
def test_an_example_of_windows_is_the_published_one(name: str) -> None:
    case, example = case_of(name), EXAMPLES[name]
    for source, rows in case.given.items():
        times = [{"arrival_time": format_time(row.at), "event_time": row.values["event_time"]} for row in rows]
        assert times == example["rows"], source
    tables = ["windows"] if "windows" in case.spec.streams else ["event_time_windows", "arrival_windows"]
    for table, kind in zip(tables, ("event_time", "arrival_time"), strict=False):
        found = {(row["_window_start"], row["_window_end"]): row["rows"] for row in case.expect[f"streams/{table}"]}
        published = example[f"expected_windows_by_{kind}"]
        assert found == {(each["start"], each["end"]): each["rows"] for each in published}
