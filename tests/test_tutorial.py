"""The README's tutorial, typed as it stands: its files are written, its commands are run in the order of the page,
and what the page shows is what they say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from printed import README, commands, missing
from tidemark.cli import invoke

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```|`(tidemark [^`]+)`", re.MULTILINE | re.DOTALL)
IN_A_SENTENCE = "the name of a command in a sentence; step 6 runs it with its arguments"
NOT_RUN = {
    "tidemark replay": IN_A_SENTENCE,
    "tidemark verify": IN_A_SENTENCE,
    "tidemark demo": "takes minutes; tests/demo/test_demo_run.py runs it",
    "tidemark setup --s3": "fetches 690 MB; make install-s3 does the same before the tests",
}
"""Commands of sentences that this test does not run; those of other programs are listed in test_docs_run.py."""


def parts() -> Iterator[tuple[str, str]]:
    """Blocks and commands in sentences, in the order of the page, each with its kind."""
    for found in BLOCK.finditer(README.read_text(encoding="utf-8")):
        yield ("command", found[3]) if found[3] else (found[1], found[2])


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_the_tutorial_of_the_readme_says_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    landing = tmp_path / "landing" / "readings"
    landing.mkdir(parents=True)
    ran: list[str] = []
    untrue: list[tuple[str, str, str]] = []
    everything = list(parts())
    (landing / "morning.json").write_text("".join(text for kind, text in everything if kind == "json"))

    def call(command: str, shown: tuple[str, ...] = ()) -> None:
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
        elif kind in ("sh", "console"):
            for found in commands(f"```{kind}\n{text}```"):
                if found.program == "tidemark" and found.typed.partition("  #")[0].strip() not in NOT_RUN:
                    call(found.typed, found.shown)
        elif kind == "command" and text not in NOT_RUN:
            call(text)
    assert untrue == []
    usual = {"validate", "run", "rows", "explain", "status", "replay", "advise", "report", "close", "path", "init"}
    usual |= {"verify"}
    assert {*usual, "backfill", "promote", "--help"} <= set(ran)


def test_a_shown_line_that_is_not_said_is_found():
    plain_clock = "Run 2026-01-01T00:00:00.123456Z-1, as of 2026-01-01T00:00:00.123456Z: 5 rows"
    said = "Run 2026-01-01T00:00:00Z-1, as of 2026-01-01T00:00:00Z: 5 rows\n\na   b\nc"
    assert (
        missing(
            (
                "Run 2026-11-21T09:46:30Z-1, as of 2026-11-21T09:46:30Z: 5 rows",
                "a b",
            ),
            said,
        )
        == []
    )
    assert missing(("Run 2026-11-21T09:46:30Z-1, as of 2026-11-21T09:46:30Z: 6 rows",), said) != []
    assert missing(("Run 2026-11-21T09:46:30Z-1, as of 2026-11-21T09:46:30Z: 5 rows",), plain_clock) == []
    assert missing(
        (
            "c",
            "a b",
        ),
        said,
    ) == ["a b"]
    assert missing(("Run ... rows",), said) == []
