"""docker-compose.yml, as far as it can be held to something without an engine that runs containers."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import stat
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from airflow_home import AirflowHome
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT / "tests" / "data" / "compose-spec.json"
"""Of the Compose Specification (Apache License 2.0), its schema as of 2026-06-23."""
DEPLOY = ROOT / "docs" / "deploy"
ONCE = {"airflow-init", "folders", "s3-init"}
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


@pytest.mark.parametrize("name", ["compose.fab.yml", "compose.tls.yml"])
def test_examples_of_more_settings_fit_the_services(compose, name):
    """Each key that an example changes is of a service that is there, or makes a whole one."""
    more = json.loads(json.dumps(YAML(typ="safe").load(DEPLOY / name)))
    jsonschema.Draft7Validator(json.loads(SPECIFICATION.read_text())).validate(more)
    for service, keys in more["services"].items():
        assert service in compose["services"] or {"image", "healthcheck", "mem_limit", "logging"} <= keys.keys()
    mounts = [each.split(":")[0] for keys in more["services"].values() for each in keys.get("volumes", [])]
    assert all((ROOT / path).exists() for path in mounts if path != "./certificates")


def test_another_auth_manager_is_installed_from_a_lock_file():
    (lock,) = {
        keys["build"]["args"]["AUTH_LOCK"]
        for keys in YAML(typ="safe").load(DEPLOY / "compose.fab.yml")["services"].values()
    }
    lines = (ROOT / lock).read_text().splitlines()
    packages = [line for line in lines if "==" in line]
    assert packages
    assert sum("--hash=" in line for line in lines) >= len(packages)
    there = {line.partition("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()}
    assert not there & {line.partition("==")[0] for line in packages}


def test_the_values_of_the_helm_chart_name_what_the_image_has():
    values = YAML(typ="safe").load(DEPLOY / "values.yaml")
    given = {each["name"]: each["value"] for each in values["env"]}
    command = json.loads(given["AIRFLOW_CONN_SPARK_DEFAULT"])["extra"]["tidemark"]
    inside = re.search(r"local:///opt/tidemark/(\S+)", command)
    assert (ROOT / inside[1]).is_file()
    assert (ROOT / given["AIRFLOW__CORE__DAGS_FOLDER"].removeprefix("/opt/tidemark/")).is_dir()
    assert values["airflowVersion"] == version("apache-airflow")


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
    assert len(set(made.values())) == len(made) == 9
    assert all(len(value) >= 20 for value in made.values())  # at least 80 random bits
    assert not [name for name, value in made.items() if name.startswith("S3_") and "=" in value]
    assert len(base64.urlsafe_b64decode(made["AIRFLOW_FERNET_KEY"])) == 32
    asked = _VARIABLE.findall((ROOT / "docker-compose.yml").read_text())
    assert {name for name, _ in asked} == made.keys()
    assert {rest for _, rest in asked} == {":?run make env first"}
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD$|SECRET|KEY|TOKEN", name):
                assert "${" in value, name


def test_passwords_that_were_made_before_are_kept(made_env):
    before = made_env.read_text()
    missing = next(line for line in before.splitlines() if line.startswith("S3_ACCESS_KEY="))
    made_env.write_text(before.replace(missing + "\n", ""))
    subprocess.run(["make", "-s", "-f", ROOT / "Makefile", "env"], cwd=made_env.parent, check=True)  # noqa: S603, S607
    after = made_env.read_text()
    assert after.startswith(before.replace(missing + "\n", ""))
    assert after.count("S3_ACCESS_KEY=") == 1


def test_only_this_machine_reaches_the_pages_and_the_s3_server(compose):
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert ports == {
        "api-server": ["127.0.0.1:8080:8080"],
        "s3": ["127.0.0.1:9000:9000"],
        "spark-master": ["127.0.0.1:8081:8081"],
    }


def test_every_service_is_limited_in_memory_and_logs(compose):
    services = {name: each for name, each in compose["services"].items() if name != "s3-init"}
    assert [name for name, each in services.items() if not {"mem_limit", "logging"} <= each.keys()] == []


def test_services_start_after_what_they_need_is_healthy_or_done(compose):
    for name, service in compose["services"].items():
        for needed, how in service.get("depends_on", {}).items():
            done = how["condition"] == "service_completed_successfully"
            assert done == (needed in ONCE), (name, needed)
            assert done or how["condition"] == "service_healthy", (name, needed)
    after_page = {name for name, each in compose["services"].items() if "api-server" in each.get("depends_on", {})}
    assert after_page == {"scheduler", "dag-processor", "triggerer", "cleaner"}


def test_services_use_a_key_of_their_own_for_the_bucket_alone(compose):
    with_root = {name for name, each in compose["services"].items() if "S3_ROOT" in json.dumps(each)}
    assert with_root == {"s3", "s3-init"}
    (script,) = compose["services"]["s3-init"]["command"]
    policy = json.loads(re.search(r"echo '(.*?)' > /tmp/policy.json", script, re.DOTALL)[1])
    (statement,) = policy["Statement"]
    assert statement["Resource"] == ["arn:aws:s3:::tidemark", "arn:aws:s3:::tidemark/*"]


def test_scripts_are_what_a_shell_understands(compose):
    scripts = [words[-1] for each in compose["services"].values() if "\n" in (words := each.get("command", [""]))[-1]]
    assert len(scripts) == 3
    for script in scripts:
        ran("bash", "-n", "-c", script.replace("$$", "$"), cwd=ROOT)


def test_the_folders_are_made_for_the_user_that_services_run_as(compose, tmp_path):
    (image,) = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if "useradd" in line]
    words = compose["services"]["folders"]["command"]
    user = re.search(r"--uid (\d+)", image)
    assert f"--owner={user[1]}" in words
    unowned = [word.replace("/data", str(tmp_path / "data")) for word in words if "--owner" not in word]
    ran(*(word for word in unowned if "--group" not in word), cwd=tmp_path)
    used = {
        value
        for name, value in compose["services"]["scheduler"]["environment"].items()
        if name.startswith("TIDEMARK")
    }
    for place in {each for each in used if each.startswith("/data/")} | {"/data/landing"}:
        assert (tmp_path / place.removeprefix("/")).is_dir(), place


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
    assert {words[0] for words in commands} == {"airflow", "spark-class", "bash", "install"}
    for word in ("airflow", "spark-class"):
        assert (Path(sys.executable).parent / word).is_file()


@pytest.mark.long
def test_airflow_knows_every_command_that_it_is_given(compose, tmp_path):
    home = AirflowHome(tmp_path)
    for service in compose["services"].values():
        words = service.get("command", [])
        if words[:1] == ["airflow"]:
            assert "usage" in home.command(*words[1:], "--help").lower()
    (cleaning,) = re.findall(r"airflow (db clean .*)", compose["services"]["cleaner"]["command"][-1])
    home.command("db", "migrate")
    home.command(*shlex.split(re.sub(r'"\$\$\(.*?\)"', "2020-01-01", cleaning)))


def test_the_dockerfile_copies_what_is_there():
    copied = [word for line in dockerfile("COPY") for word in line.split()[2:-1]]
    assert {"jobs", "dags", "requirements.lock", "jars.lock", "Makefile"} <= set(copied)
    assert all(list(ROOT.glob(name)) for name in copied)


def test_the_image_can_be_built_from_what_was_copied_before_each_step(tmp_path):
    """Replays the Dockerfile's steps in their order. Where `make install` runs, the files that its targets need and
    the build of the package are tried; downloads are left out."""
    image, tried = tmp_path / "image", 0
    for step in dockerfile("COPY", "RUN"):
        match step.split():
            case ["COPY", _, *names, target]:
                for path in (found for name in names for found in ROOT.glob(name)):
                    copy(path, image / target / ("" if path.is_file() else "."))
            case ["RUN", "make", *targets]:
                ran("make", "--dry-run", *targets, cwd=image)
                build = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
                ran(*build, "--target", str(tmp_path / "installed"), "--editable", "jobs", cwd=image)
                ran(*build, "--target", str(tmp_path / "installed"), "--editable", ".", cwd=image)
                tried += 1
            case ["RUN", "test", "-z", *_]:
                assert list((image / "docs" / "deploy").glob("*.lock"))
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
