"""Forms of an operator's verbs: what Airflow asks for, and the commands that follow from it."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from airflow_home import AirflowHome
from click.testing import CliRunner

from tidemark.cli.commands.runs import tidemark
from tidemark.cli.output import for_log, progress_bars
from tidemark.records import LOG_VARIABLE

ARGUMENTS = """
import json
from tidemark.airflow.operate import verbs as operate
from tidemark.airflow.operate.forms import FORMS
by_name = {verb.name: verb for verb in FORMS}
made = lambda name, **values: operate.arguments_of(by_name[name], "toll.yml", values, "ann")
empty = lambda verb: {name: each.dump()["value"] for name, each in ((f.name, f.param()) for f in verb.fields)}
print(json.dumps(dict(
    replay=made("replay", **empty(by_name["replay"])),
    some=made("replay", from_batch=2, to_batch=3, input="events"),
    all=made("replay", all=True),
    release=made("release", run="--help", reason="-- a sensor; `rm`"),
    abandon=made("abandon", run="r1", reason="full", published=True),
    exclude=made("exclude", uri="2026/01/07.json", reason="test data"),
    verify=made("verify", all=False, head=""),
    close=made("close", source="readings", as_of=None),
    advise=made("advise", source=None, target_dropped="1%"),
    repair=made("repair"),
)))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return AirflowHome(tmp_path_factory.mktemp("airflow")).python(ARGUMENTS)


def test_a_form_becomes_the_arguments_of_a_command(made):
    assert {name: shlex.join(each[1:]) for name, each in made.items() if name not in ("release", "abandon")} == {
        "replay": "--json",
        "some": "--json --from-batch=2 --to-batch=3 --input=events",
        "all": "--json --all",
        "exclude": "--json --wait '--reason=test data (by ann, in Airflow)' -- 2026/01/07.json",
        "verify": "--json --wait",
        "close": "--json --source=readings",
        "advise": "--json --target-dropped=1%",
        "repair": "--json --wait",
    }


def test_a_reason_has_the_name_of_the_user_and_no_value_is_taken_for_an_option(made):
    assert made["release"][1:] == ["--json", "--reason=-- a sensor; `rm` (by ann, in Airflow)", "--", "--help"]
    assert made["abandon"][1:] == ["--json", "--reason=full (by ann, in Airflow)", "--published", "--", "r1"]


def test_each_form_asks_for_what_its_command_takes(made):
    """Click parses the arguments, and the command then lacks its pipeline file."""
    for name, arguments in made.items():
        verb = name if name in tidemark.commands else "replay"
        done = CliRunner().invoke(tidemark, [verb, *arguments], obj=True)
        assert type(done.exception).__name__ == "ConfigError", (name, done.output)


def test_a_log_has_progress_as_lines(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    for value, said in (("", ""), ("1", "micro-batches judged: 2 of 12\nmerge: 0 of 3\n")):
        monkeypatch.setenv(LOG_VARIABLE, value)
        assert for_log() is bool(said)
        with progress_bars() as progress:
            progress("judge", 2, 12)
            progress("merge", 0, 3)
        assert capsys.readouterr().err == said


RECORD = """
import json, logging, sys
from tidemark.airflow import command
from tidemark.airflow.operate.verbs import TidemarkVerbOperator
class Found:
    host, port, extra_dejson = None, None, dict(tidemark=sys.executable + " {script}")
command.connection = lambda name: Found()
command.pinned.load = lambda config, content: None
pushed = dict()
class Instance:
    xcom_push = lambda self, key, value: pushed.update({{key: value}})
operator = TidemarkVerbOperator(task_id="verify", job="verify", application_args=["toll.yml", "--json"])
try:
    found = operator.execute(dict(ti=Instance()))
except SystemExit as end:
    found = end.code
print(json.dumps([found, pushed]))
"""


@pytest.mark.parametrize("status", [0, 1])
def test_the_record_of_a_verb_is_kept_also_if_its_check_failed(tmp_path, status):
    record = {"schema_version": 1, "sound": not status}
    script = tmp_path / "elsewhere.py"
    script.write_text(f"import json, sys\nprint('text')\nprint(json.dumps({record!r}))\nsys.exit({status})\n")
    found = AirflowHome(tmp_path).python(RECORD.format(script=script))
    assert found == ([1, {"return_value": record}] if status else [record, {}])


def test_json_for_a_log_comes_with_the_text_for_people(tmp_path, monkeypatch, capfd):
    from tidemark.cli.invocation import invoke

    monkeypatch.setenv(LOG_VARIABLE, "1")
    assert invoke(["validate", str(tmp_path / "no.yml"), "--json"]) == 2
    said = capfd.readouterr()
    assert json.loads(said.out)["valid"] is False
    assert "no.yml" in said.err


PROMOTED = """
import json, types
import tidemark.commands.schedule as schedule
from datetime import UTC, datetime
from tidemark.airflow import steps
from tidemark.errors import ConfigError, Problem
def refuse(*_):
    raise ConfigError([Problem("toll.yml", "sources.a.over", "was b, is now c")], hint="edit these keys: see CONFIG")
schedule.foresee = refuse
steps.pinned.load = lambda config, content: types.SimpleNamespace(context=None)
run = types.SimpleNamespace(data_interval_end=datetime.now(UTC), run_id="r")
steps.get_current_context = lambda: dict(dag_run=run)
try:
    steps.discover("toll.yml")
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def test_a_refused_change_says_which_keys_to_edit(tmp_path):
    said = "toll.yml: sources.a.over: was b, is now c\nedit these keys: see toll.yml"
    assert AirflowHome(tmp_path).python(PROMOTED) == ["AirflowFailException", said]
