"""Completion of a command line that is being typed: the candidates, and the Tab key in each shell."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from debian import program
from processes import JOBS
from tidemark import cli
from tidemark.cli import completion
from tidemark.ledger.versions import first

CONFIG = """
pipeline: toll
warehouse: ./warehouse
sources:
  readings: {landing: ./landing, format: json, schema: "car STRING, passed TIMESTAMP"}
  rates: {landing: ./rates, format: csv, schema: "toll STRING"}
streams:
  fast: {from: readings, where: "car = 'A'"}
  hourly: {from: readings, tumbling: 1h, select: {cars: count(*)}}
"""
LATEST = 60
"""Seconds after which a shell that prints nothing is taken for one that hangs."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a pipeline file, another one below it, and YAML files that are none."""
    (tmp_path / "toll.yml").write_text(CONFIG)
    (tmp_path / "compose.yml").write_text("services: {}\n")
    for name in ("landing", "rates", "sources"):
        (tmp_path / name).mkdir()
    (tmp_path / "sources" / "readings.yml").write_text("landing: ./landing\nformat: json\n")
    (tmp_path / "nightly").mkdir()
    (tmp_path / "nightly" / "trips.yaml").write_text("# trips\npipeline: trips\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def candidates(monkeypatch, capfdbinary):
    """Function that gives the candidates for the last word of a line, by the protocol of bash."""

    def ask(line: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        status = completion.answer(cli.tidemark, "bash_complete")
        said = capfdbinary.readouterr()
        assert (status, said.err) in [(0, b""), (1, b"")]
        return said.out.decode().split()

    return ask


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("tidemark ver", ["plain,versions", "plain,verify"]),
        ("tidemark rows toll.yml --fa", ["plain,--fate"]),
        ("tidemark rows toll.yml --fate dr", ["plain,dropped"]),
        ("tidemark run toll.yml --quality ", ["plain,block", "plain,warn", "plain,record"]),
        ("tidemark rows toll.yml --reason inv", ["plain,invalid_time", "plain,invalid_row"]),
        ("tidemark rows toll.yml --by reason,h", ["plain,reason,hour"]),
        ("tidemark completion ", ["plain,bash", "plain,zsh", "plain,fish"]),
        ("tidemark run ", ["plain,nightly/trips.yaml", "plain,toll.yml"]),
        ("tidemark run ./to", ["plain,./toll.yml"]),
        ("tidemark run nightly/", ["plain,nightly/trips.yaml"]),
        ("tidemark run comp", ["file,comp"]),
        ("tidemark init land", ["dir,land"]),
        ("tidemark rows toll.yml --source r", ["plain,readings", "plain,rates"]),
        ("tidemark explain toll.yml ra", ["plain,rates"]),
        ("tidemark rows toll.yml --dead-letters ", ["plain,fast", "plain,hourly"]),
        ("tidemark path toll.yml e", ["plain,events/readings", "plain,events/rates"]),
        ("tidemark path toll.yml dead", ["plain,dead_letters/hourly"]),
        ("tidemark promote toll.yml ", []),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_word_is_completed_by_what_may_stand_there(candidates, line, found):
    assert candidates(line) == found


def test_versions_are_those_of_the_pipeline(folder, candidates):
    first(folder / "warehouse" / "toll", 0)
    assert candidates("tidemark promote toll.yml ") == ["plain,1"]


@pytest.mark.parametrize("text", ["sources: [", "sources: 3\n", "pipeline: toll\nsources:\n", ""])
def test_a_file_that_is_no_pipeline_has_no_candidates_and_prints_no_error(folder, candidates, text):
    (folder / "toll.yml").write_text(text)
    for line in ("rows toll.yml --source ", "path toll.yml ", "promote toll.yml ", "rows gone.yml --source "):
        assert candidates(f"tidemark {line}") == []


def test_a_pipeline_file_with_a_mistake_still_completes_its_sources(folder, candidates):
    (folder / "toll.yml").write_text(CONFIG + "retention: soon\n")
    assert candidates("tidemark close toll.yml --source rea") == ["plain,readings"]


@pytest.mark.usefixtures("folder")
def test_tables_on_s3_are_not_looked_for(candidates, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    Path("toll.yml").write_text(CONFIG.replace("./warehouse", "s3://bucket/warehouse"))
    assert candidates("tidemark path toll.yml e") == []
    assert candidates("tidemark promote toll.yml ") == []


def test_names_are_completed_without_loading_the_product(folder):
    heavy = "{'pydantic', 'pyarrow', 'deltalake', 'pyspark', 'rich', 'sqlglot'}"
    code = f"import sys\nfrom tidemark.cli import main\ntry: main()\nfinally: print({heavy} & set(sys.modules))"
    environment = os.environ | {"PYTHONPATH": str(JOBS), completion.VARIABLE: "bash_complete"}
    for line, found in (("tidemark status t", "toll.yml"), ("tidemark close toll.yml --source ra", "rates")):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        done = subprocess.run(  # noqa: S603 - the tests' own interpreter
            [sys.executable, "-c", code],
            env=environment | words,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split("\n") == [f"plain,{found}", "set()", ""]
        assert done.stderr == ""


# in the shells themselves


@pytest.fixture
def environment(folder):
    """Environment of a shell that finds `tidemark`."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "tidemark"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tidemark "$@"\n')
    command.chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {"PYTHONPATH": str(JOBS), "PATH": path, "TERM": "dumb", "HOME": str(folder), "HISTFILE": "", "PS1": "> "}
    return {**os.environ, **own}


def pressed(shell: list[str], keys: str, awaited: str, environment: dict[str, str]) -> str:
    """Type keys into a shell on a terminal, and return what it prints up to the awaited text."""
    ours, theirs = pty.openpty()
    started = subprocess.Popen(  # noqa: S603 - a shell
        shell, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    said = ""
    try:
        os.write(ours, keys.encode())
        while awaited not in said:
            ready, _, _ = select.select([ours], [], [], LATEST)
            assert ready, f"the shell hangs after: {said}"
            said += os.read(ours, 4096).decode(errors="replace")
    finally:
        started.kill()
        started.wait()
        os.close(ours)
        os.close(theirs)
    return said


@pytest.mark.parametrize(
    ("shell", "options", "before"),
    [
        ("bash", ["--norc", "-i"], ""),
        ("zsh", ["-f", "-i"], "autoload -U compinit; compinit -u -D; "),
    ],
)
def test_tab_completes_the_command_and_its_file(environment, shell, options, before):
    load = f'{before}eval "$(tidemark completion {shell})"\n'
    said = pressed([program(shell), *options], f"{load}tidemark vali\t to\t\n", "0 warnings", environment)
    assert "toll.yml is valid (0 errors, 0 warnings" in said


def test_fish_completes_the_command_and_its_file(environment):
    asked = ("tidemark vali", "tidemark validate t", "tidemark rows toll.yml --source r", "tidemark rows --fat")
    lines = "; ".join(["tidemark completion fish | source", *(f'complete -C "{line}"' for line in asked)])
    done = subprocess.run(  # noqa: S603 - a shell
        [program("fish"), "--no-config", "-c", lines], env=environment, capture_output=True, text=True, check=True
    )
    words = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert words == ["validate", "toll.yml", "rates", "readings", "--fate"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_is_printed_as_it_is_and_in_the_record(capsys, shell):
    assert cli.invoke(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert f"{completion.VARIABLE}={shell}_complete" in printed
    assert cli.invoke(["completion", shell, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema_version": 1, "shell": shell, "script": printed}


def test_another_shell_is_refused_with_those_that_there_are(capsys):
    assert cli.invoke(["completion", "csh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
