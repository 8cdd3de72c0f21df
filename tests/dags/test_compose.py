"""docker-compose.yml, as far as it can be held to something without an engine that runs containers."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from airflow_home import AirflowHome
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT / "tests" / "data" / "compose-spec.json"
"""Of the Compose Specification (Apache License 2.0), its schema as of 2026-06-23."""
ONCE = {"airflow-init"}
_VARIABLE = re.compile(r"\$\{(\w+)(.*?)\}")
_KNOWN = """
import json
from airflow.configuration import conf
told = conf.configuration_description
print(json.dumps({section: sorted(told[section]["options"]) for section in told}))
"""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return json.loads(json.dumps(YAML(typ="safe").load(ROOT / "docker-compose.yml")))


@pytest.fixture(scope="module")
def made_env(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("env")
    for _ in range(2):
        subprocess.run(["make", "-s", "-f", ROOT / "Makefile", "env"], cwd=folder, check=True)  # noqa: S603, S607
    return folder / ".env"


def test_it_is_what_the_specification_allows(compose):
    jsonschema.Draft7Validator(json.loads(SPECIFICATION.read_text())).validate(compose)


def test_a_misspelled_key_would_be_found(compose):
    wrong = compose | {"services": {"s": {"image": "a:1", "helthcheck": {}}}}
    assert not jsonschema.Draft7Validator(json.loads(SPECIFICATION.read_text())).is_valid(wrong)


def test_every_image_is_pinned(compose):
    tags = {service["image"].rpartition(":")[2] for service in compose["services"].values()}
    tags |= {line.split()[1].rpartition(":")[2] for line in dockerfile("FROM")}
    assert all(re.search(r"\d+\.\d+|\d{4}-\d\d-\d\d", tag) for tag in tags), tags


def test_every_service_that_stays_is_looked_after(compose):
    stay = {name: service for name, service in compose["services"].items() if name not in ONCE}
    assert all("test" in service["healthcheck"] for service in stay.values())
    assert all(service["restart"] == "unless-stopped" for service in stay.values())


def test_no_password_stands_in_it_and_each_is_made_at_random(compose, made_env):
    made = dict(line.split("=", 1) for line in made_env.read_text().splitlines())
    assert stat.S_IMODE(made_env.stat().st_mode) == 0o600
    assert len(set(made.values())) == len(made) == 7
    assert all(len(value) == 44 for value in made.values())
    asked = _VARIABLE.findall((ROOT / "docker-compose.yml").read_text())
    assert {name for name, _ in asked} == made.keys()
    assert {rest for _, rest in asked} == {":?run make env first"}
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD$|SECRET|KEY|TOKEN", name):
                assert "${" in value, name


def test_only_the_page_is_reached_from_this_machine_and_from_no_other(compose):
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:8080:8080"]


def test_every_variable_for_airflow_is_a_setting_that_it_has(compose, tmp_path):
    known = AirflowHome(tmp_path).python(_KNOWN)
    for service in compose["services"].values():
        for name in service.get("environment", {}):
            if name.startswith("AIRFLOW__"):
                _, section, option = name.lower().split("__")
                assert option in known[section], name


def test_every_command_of_our_image_is_there(compose):
    ours = [each for each in compose["services"].values() if each["image"].startswith("tidemark:")]
    commands = [service["command"] for service in ours]
    assert {words[0] for words in commands} == {"airflow", "spark-class", "bash"}
    for word in ("airflow", "spark-class"):
        assert (Path(sys.executable).parent / word).is_file()


@pytest.mark.long
def test_airflow_knows_every_command_that_it_is_given(compose, tmp_path):
    home = AirflowHome(tmp_path)
    for service in compose["services"].values():
        words = service.get("command", [])
        if words[:1] == ["airflow"]:
            assert "usage" in home.command(*words[1:], "--help").lower()


def test_the_dockerfile_copies_what_is_there():
    copied = [word for line in dockerfile("COPY") for word in line.split()[2:-1]]
    assert {"jobs", "dags", "requirements.lock", "jars.lock", "Makefile"} <= set(copied)
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_can_be_built_from_what_was_copied_before_each_step(tmp_path):
    """Replays the Dockerfile's steps in their order. Where `make install` runs, the files that its targets need and
    the build of the package are tried; downloads are left out."""
    image, tried = tmp_path / "image", 0
    for step in dockerfile("COPY", "RUN"):
        match step.split():
            case ["COPY", _, *names, target]:
                for name in names:
                    copy(ROOT / name, image / target / ("" if (ROOT / name).is_file() else "."))
            case ["RUN", "make", *targets]:
                ran("make", "--dry-run", *targets, cwd=image)
                build = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
                ran(*build, "--target", str(tmp_path / "installed"), "--editable", "jobs", cwd=image)
                ran(*build, "--target", str(tmp_path / "installed"), "--editable", ".", cwd=image)
                tried += 1
    assert tried == 1
    made = {path.name.partition("-")[0] for path in (tmp_path / "installed").glob("*.dist-info")}
    assert made == {"tidemark_light", "tidemark_spark"}


def copy(source: Path, target: Path) -> None:
    """A file into a folder, or what is in a folder, as COPY does it; without what .dockerignore leaves out."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def ran(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603 - of the image
    assert done.returncode == 0, done.stderr[-2000:]


def dockerfile(*instructions: str) -> list[str]:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    return [line for line in lines if line.startswith(tuple(f"{each} " for each in instructions))]
