"""The help of commands: its examples run as they are printed, in the folder of README's tutorial."""

from __future__ import annotations

import re
import shlex

import pytest

from printed import README, fault
from tidemark import cli
from tidemark.cli.examples import EXAMPLES

COMMANDS = [(name, line) for name, lines in EXAMPLES.items() for line in lines]
NOT_RUN = {
    "release": "needs a run that quality blocks; tests/test_docs_run.py has one",
    "abandon": "needs a run that cannot be finished; tests/test_docs_run.py has one",
    "demo": "takes minutes; tests/demo/test_demo_run.py runs the demo",
    "serve": "stays until it is ended; tests/test_serve.py and tests/e2e/test_warm.py have servers",
    "setup": "installs what the tests run on",
    "completion": "tests/test_completion.py evaluates the scripts",
}
LAST = ("tidemark", "close", "promote")
"""Commands after which others would be refused: no object is taken, or the file is no longer the live version's."""


def called(line: str) -> str:
    """The command of an example as a program is given it: without the shell around it, and its remark."""
    inner = re.search(r'"\$\((.*)\)"', line)
    return (inner[1] if inner else line.partition(" |")[0]).replace("\\\n", " ").partition(" #")[0].strip()


@pytest.mark.parametrize("command", ["tidemark", *cli.tidemark.commands])
def test_help_ends_with_examples_on_lines_that_fit_a_terminal(capsys, command):
    assert cli.invoke(["--help"] if command == "tidemark" else [command, "--help"]) == 0
    ended = capsys.readouterr().out.partition("  Examples:\n")[2]
    assert ended == "".join(f"    {line}\n" for each in EXAMPLES[command] for line in each.splitlines())
    assert 1 <= len(EXAMPLES[command]) <= 3
    assert max(map(len, ended.splitlines())) <= 80


@pytest.mark.parametrize(("command", "line"), COMMANDS, ids=[line for _, line in COMMANDS])
def test_the_command_line_takes_each_example(command, line):
    typed = called(line)
    assert fault(typed, whole=True) is None
    assert command in ("tidemark", typed.split()[1])


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_each_example_runs_in_the_folder_of_the_tutorial(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(json|yaml)\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "landing" / "readings").mkdir(parents=True)
    for kind, place in (("json", "landing/readings/morning.json"), ("yaml", "toll.yml")):
        (tmp_path / place).write_text("".join(text for each, text in blocks if each == kind))
    first = ["init", "validate", "run"]
    between = [name for name in EXAMPLES if name not in (*first, *LAST, *NOT_RUN)]
    for line in [line for name in (*first, *between, "close", "promote") for line in EXAMPLES[name]]:
        status = cli.invoke(shlex.split(called(line))[1:])
        said = capsys.readouterr()
        assert (line, status, said.err) == (line, 0, said.err)
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"landing.yml", "proposed.yml", "toll.html", "toll-report.html", "dropped.csv", "toll-audit.zip"}


def test_without_a_command_the_help_is_printed_and_the_status_is_0(capsys):
    assert cli.invoke(["--help"]) == 0
    asked = capsys.readouterr()
    assert (cli.invoke([]), capsys.readouterr()) == (0, asked)
    assert "Commands:\n  init " in asked.out


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("statsu toll.yml", "No such command 'statsu'. Did you mean 'status'?"),
        ("rows toll.yml --fate lost", "'lost' is not one of 'on_time', 'adjusted', 'dropped', 'quarantined'"),
        ("rows toll.yml --partitoin 0", "No such option '--partitoin'. Did you mean '--partition'?"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(capsys, line, why):
    assert cli.invoke(line.split()) == 2
    assert why in capsys.readouterr().err
