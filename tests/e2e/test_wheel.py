"""Wheels, installed where there is no clone, run pipelines once `tidemark setup` has put the jars in place."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from environments import ROOT, built, environment
from printed import README, commands, missing
from short_lived import SHORT_LIVED
from test_tutorial import BLOCK, NOT_RUN
from tidemark.demo.first_run import prepare
from tidemark.spark.session.jars import jars_folder, read_lock

pytestmark = pytest.mark.long
Called = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return built(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory, wheels: list[Path]) -> Called:
    """Calls the command `tidemark` of an environment that has the wheels, in a folder."""
    python = environment(tmp_path_factory.mktemp("env"), wheels)

    def called(folder: Path, *words: str, program: str = "tidemark") -> tuple[int, str]:
        outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TIDEMARK_JARS")}
        env = outside | SHORT_LIVED | {"COLUMNS": "120"}
        asked = [python.with_name(program), *words]
        done = subprocess.run(asked, cwd=folder, env=env, capture_output=True, text=True, check=False)  # noqa: S603
        return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr

    return called


def test_the_wheels_share_no_file_and_hold_every_module(wheels):
    held = [set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels]
    assert not held[0] & held[1]
    tracked = subprocess.run(["git", "ls-files", "jobs"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    modules = {path.removeprefix("jobs/") for path in tracked.stdout.split() if path.startswith("jobs/tidemark")}
    assert {
        name for name in modules if name.endswith((".py", ".yml", ".json", ".css", ".js", ".svg"))
    } <= set().union(*held)
    assert "tidemark/spark/session/tidemark-functions.jar" in held[1]
    assert {f"tidemark/expectations/{path.name}" for path in (ROOT / "expectations").iterdir()} <= held[0]


def test_wheels_run_pipelines_after_their_setup(call, tmp_path):
    def record(*words: str) -> tuple[int, dict]:
        status, said = call(tmp_path, *words, "--json")
        return status, json.loads(said)

    prepare(tmp_path)
    status, failed = record("run", "small.yml")
    assert (status, "`tidemark setup`" in str(failed["error"])) == (4, True)
    assert list(tmp_path.glob("warehouse/**/batches")) == [], "nothing is planned"
    status, found = record("setup")
    assert status == 0
    names = {jar.file_name for jar in read_lock(ROOT / "jars.lock")} | {"tidemark-functions.jar"}
    folder = Path(str(found["path"]))
    assert {path.name for path in folder.iterdir()} == names
    assert folder != jars_folder()
    assert record("setup") == (0, found), "what is there is left alone"
    status, ran = record("run", "small.yml")
    assert (status, [batch["rows"] for batch in ran["batches"]]) == (0, [60])
    status, replayed = record("replay", "small.yml", "--all")
    assert (status, replayed["identical"]) == (0, True)
    folder.rename(folder.with_name("away"))
    land_again(tmp_path)
    status, failed = record("run", "small.yml")
    folder.with_name("away").rename(folder)
    assert (status, "`tidemark setup`" in str(failed["error"])) == (4, True)
    assert record("status", "small.yml")[1]["standing"]["state"] == "ready", "nothing is planned"


def test_a_script_without_a_file_runs_pipelines(call, tmp_path):
    """Great Expectations imports Spark Connect, which ends a process without a file, with status 0, if gRPC is
    missing."""
    assert call(tmp_path, "setup")[0] == 0
    prepare(tmp_path)
    code = "from tidemark import Pipeline; print(len(Pipeline.load('small.yml').run()['quality']))"
    status, said = call(tmp_path, "-c", code, program="python")
    assert (status, int(said) > 0) == (0, True)


def land_again(folder: Path) -> None:
    landed = folder / "landing" / "rows.json"
    landed.with_name("again.json").write_text(landed.read_text(encoding="utf-8"), encoding="utf-8")


def test_the_tutorial_of_the_readme_runs_from_the_wheels(call, tmp_path):
    text = README.read_text(encoding="utf-8")
    (tmp_path / "landing" / "readings").mkdir(parents=True)
    blocks = [found for found in BLOCK.finditer(text) if not found[3]]
    landed = "".join(found[2] for found in blocks if found[1] == "json")
    (tmp_path / "landing" / "readings" / "morning.json").write_text(landed)
    wrong = []
    for block in blocks:
        if block[1] == "yaml":
            with (tmp_path / "toll.yml").open("a") as file:
                file.write(block[2])
        elif block[1] in ("sh", "console"):
            for found in commands(block[0]):
                typed = found.typed.partition("  #")[0].split()
                if typed[0] == "tidemark" and " ".join(typed) not in NOT_RUN:
                    status, said = call(tmp_path, *typed[1:])
                    wrong += [(typed, said)] if status or missing(found.shown, said) else []
    assert wrong == []


def test_the_demo_runs_from_the_wheels(call, tmp_path):
    assert call(tmp_path, "setup")[0] == 0
    status, said = call(tmp_path, "demo", "--json")
    assert status == 0, said
    record = json.loads(said)
    assert sum(batch["rows"] for batch in record["batches"]) >= 336_776
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
