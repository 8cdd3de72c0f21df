"""The README's tutorial, typed as it stands: its files are written, its commands are run in the order of the page,
and what the page shows is what they say.

Shown lines are compared without regard to runs of blanks: each must be said, in this order; lines between them may be
left out on the page, and `...` stands for any text. The time and number of a run that the clock gave count as equal,
and so do rules of any length.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidemark.cli import invoke

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```|`(tidemark [^`]+)`", re.MULTILINE | re.DOTALL)
NOT_RUN = {"tidemark replay": "the name of a command in a sentence; step 6 runs it with its arguments"}
"""Commands that the page prints and this test does not run, with the reason. Not run either are `make ...`, which
installs, builds or starts services, and `spark-submit`, which starts a JVM of its own."""
RUN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z(-\d+)?")


def parts() -> Iterator[tuple[str, str]]:
    """Blocks and commands in sentences, in the order of the page, each with its kind."""
    for found in BLOCK.finditer(README.read_text(encoding="utf-8")):
        yield ("command", found[3]) if found[3] else (found[1], found[2])


def typed(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console with the lines that the page shows below it."""
    for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = each.splitlines()
        yield command, [line for line in shown if line.strip()]


def plain(line: str) -> str:
    return re.sub("─+", "─", " ".join(RUN.sub("RUN", line).split()))


def missing(shown: list[str], said: str) -> list[str]:
    """Shown lines that are not said after those before them."""
    lines = iter([plain(line) for line in said.splitlines()])
    wanted = {line: re.escape(plain(line)).replace(r"\.\.\.", ".*") for line in shown}
    return [line for line in shown if not any(re.fullmatch(wanted[line], each) for each in lines)]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_tutorial_of_the_readme_says_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    landing = tmp_path / "landing" / "readings"
    landing.mkdir(parents=True)
    ran: list[str] = []
    untrue: list[tuple[str, str, str]] = []
    everything = list(parts())
    (landing / "morning.json").write_text("".join(text for kind, text in everything if kind == "json"))

    def call(command: str, shown: list[str]) -> None:
        capsys.readouterr()
        code = invoke(shlex.split(command, comments=True)[1:])
        said = capsys.readouterr()
        assert code == 0, (command, said)
        untrue.extend((command, line, said.out) for line in missing(shown, said.out))
        ran.append(command.split()[1])

    for kind, text in everything:
        if kind == "yaml":
            with (tmp_path / "toll.yml").open("a") as file:
                file.write(text)
        elif kind == "python":
            exec(compile(text, str(README), "exec"), {})  # noqa: S102 - what the page tells its reader to type
        elif kind == "console":
            for command, shown in typed(text):
                call(command, shown)
        elif kind == "command" and text not in NOT_RUN:
            call(text, [])
    assert untrue == []
    usual = {"validate", "run", "rows", "explain", "status", "replay", "advise", "report", "close", "path", "init"}
    assert {*usual, "backfill", "promote", "--help"} <= set(ran)


def test_a_shown_line_that_is_not_said_is_found():
    plain_clock = "Run 2026-01-01T00:00:00.123456Z-1, as of 2026-01-01T00:00:00.123456Z: 5 rows"
    said = "Run 2026-01-01T00:00:00Z-1, as of 2026-01-01T00:00:00Z: 5 rows\n\na   b\nc"
    assert missing(["Run 2026-11-21T09:46:30Z-1, as of 2026-11-21T09:46:30Z: 5 rows", "a b"], said) == []
    assert missing(["Run 2026-11-21T09:46:30Z-1, as of 2026-11-21T09:46:30Z: 6 rows"], said) != []
    assert missing(["Run 2026-11-21T09:46:30Z-1, as of 2026-11-21T09:46:30Z: 5 rows"], plain_clock) == []
    assert missing(["c", "a b"], said) == ["a b"]
    assert missing(["Run ... rows"], said) == []
