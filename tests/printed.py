"""The commands that pages and `--help` print: whether the command line takes them, and says what pages show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from tidemark import cli
from tidemark.core.times import MAX_TIME, parse_moment

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
TARGETS = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:tidemark|make|docker|airflow|spark-submit|source|python -m)\s[^`]+)`")
RUN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z(-\d+)?")


class Printed(NamedTuple):
    """A command of a page, and the lines of output that the page shows below it."""

    line: int
    typed: str
    whole: bool
    """Printed to be copied, as a line of a block; in a sentence arguments may be left out."""
    shown: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return self.typed.split()[0]


def commands(text: str) -> Iterator[Printed]:
    """Each command of a page: those of its blocks, then those of its sentences."""
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start()) + 2
        if block[1] == "sh":
            for number, line in enumerate(block[2].replace("\\\n", "  ").splitlines(), first):
                if line.strip() and not line.startswith("#"):
                    yield Printed(number, line, True)
        elif block[1] == "console":
            yield from _typed(block[2], first)
    prose = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    for found in INLINE.finditer(prose):
        yield Printed(prose.count("\n", 0, found.start()) + 1, " ".join(found[1].split()), False)


def _typed(block: str, first: int) -> Iterator[Printed]:
    """The commands of a console."""
    for each in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        shown = tuple(line for line in each[2].splitlines() if line.strip())
        yield Printed(first + block.count("\n", 0, each.start()), each[1], True, shown)


def plain(line: str) -> str:
    return re.sub("─+", "─", " ".join(RUN.sub("RUN", line).split()))


def missing(shown: tuple[str, ...], said: str) -> list[str]:
    """Shown lines that are not said after those before them.

    Lines are compared without regard to runs of blanks: each must be said, in this order; lines between them may be
    left out on the page, and `...` stands for any text. The time and number of a run that the clock gave count as
    equal, and so do rules of any length.
    """
    lines = iter([plain(line) for line in said.splitlines()])
    wanted = {line: re.escape(plain(line)).replace(r"\.\.\.", ".*") for line in shown}
    return [line for line in shown if not any(re.fullmatch(wanted[line], each) for each in lines)]


def fault(command: str, whole: bool) -> str | None:
    """Why the command line would refuse it. In a sentence the arguments may be left out: `tidemark run`."""
    program, *words = shlex.split(command, comments=True)
    if program == "make":
        unknown = [word for word in words if "=" not in word and word not in TARGETS]
        return f"the Makefile has no target {unknown[0]}" if unknown else None
    try:
        return _parse(words)
    except click.MissingParameter as error:
        given = [word for word in words[1:] if not word.startswith("-")]
        return error.format_message() if whole or given else None
    except click.ClickException as error:
        return error.format_message()
    except ValueError as error:
        return str(error)
    except click.exceptions.Exit:
        return None


def _parse(words: list[str]) -> str | None:
    group = cli.tidemark
    with group.make_context("tidemark", [*words]) as context:
        name, command, rest = group.resolve_command(context, [*words]) if words[0][0] != "-" else (None, None, [])
        if command is None:
            return None
        with command.make_context(name, rest, parent=context) as called:
            for option in command.params:
                text = called.params.get(option.name or "")
                if option.metavar in ("T", "T0", "T1") and text not in (None, "...", option.metavar):
                    parse_moment(text, MAX_TIME)
    return None
