"""The commands that README.md and docs/ print are commands that there are: the command line's parser takes each."""

from __future__ import annotations

import re

import pytest

from printed import DOCS, README, ROOT, Printed, commands, fault
from tidemark.commands.state import PipelineState
from tidemark.config.models.cron import PRESETS
from tidemark.core.times import MAX_TIME, parse_moment


def ours(text: str) -> list[Printed]:
    return [found for found in commands(text) if found.program in ("tidemark", "make")]


@pytest.mark.parametrize("page", [README, *DOCS], ids=lambda page: page.name)
def test_every_command_that_a_page_prints_is_taken_by_the_command_line(page):
    text = page.read_text(encoding="utf-8")
    found = [(each, fault(each.typed, each.whole)) for each in ours(text)]
    assert [f"{page.name}:{each.line}: {each.typed}: {why}" for each, why in found if why] == []


def test_operating_names_every_state_that_status_tells_and_every_preset_of_a_schedule():
    operating = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    table = operating.partition("| `state` | means |\n|---|---|\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == set(PipelineState)
    configuration = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for page in (operating, configuration):
        assert set(re.findall(r"`(@\w+)`", page)) == set(PRESETS)


def test_the_times_that_operating_shows_are_taken():
    operating = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    told = operating.partition("### Times\n")[2].partition("###")[0]
    shown = re.findall(r"`(\d[^`]*)`", told)
    assert len(shown) == 5
    assert all(parse_moment(text, MAX_TIME) > 0 for text in shown)


def test_the_pages_print_many_commands():
    assert len(ours(README.read_text(encoding="utf-8"))) > 20
    assert len(ours((ROOT / "docs" / "operating.md").read_text(encoding="utf-8"))) > 40


@pytest.mark.parametrize(
    ("page", "line", "why"),
    [
        ("```sh\ntidemark run\n```", 2, "Missing argument"),
        ("so:\n\n```console\n$ tidemark run a.yml --as-off 2d\n```", 4, "No such option"),
        ("```sh\ntidemark rows a.yml \\\n  --fate lost\n```", 2, "not one of"),
        ("```sh\ntidemark rows a.yml --since 2026-01-01T00:00\n```", 2, "has no offset"),
        ("`tidemark path a.yml`", 1, "Missing argument"),
        ("first\n`tidemark run a.yml b.yml`", 2, "unexpected extra argument"),
        ("`tidemark unheard of`", 1, "No such command"),
        ("`make coffee`", 1, "no target coffee"),
    ],
)
def test_a_command_that_does_not_parse_is_found_with_its_line(page, line, why):
    (found,) = ours(page)
    assert found.line == line
    assert why in (fault(found.typed, found.whole) or "")


def test_a_command_named_in_a_sentence_may_leave_its_arguments_out():
    (found,) = ours("Call `tidemark run` again.")
    assert fault(found.typed, found.whole) is None
