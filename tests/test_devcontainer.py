"""The devcontainer has what `make install` needs, as far as that can be held without an engine for containers."""

from __future__ import annotations

import json
import re

from printed import ROOT, fault
from tidemark.spark.session.jars import JAVA_VERSIONS

FOLDER = ROOT / ".devcontainer"
SETTINGS = json.loads((FOLDER / "devcontainer.json").read_text(encoding="utf-8"))


def dockerfile(path: str) -> tuple[str, set[str]]:
    """The image that a Dockerfile begins with, and the packages that it installs."""
    text = (ROOT / path).read_text(encoding="utf-8").replace("\\\n", " ")
    packages = re.search(r"apt-get install --yes --no-install-recommends ([^&]*)", text)[1].split()
    return re.search(r"^FROM (\S+)", text, re.MULTILINE)[1], set(packages)


def test_it_has_the_python_of_the_makefile_and_a_java_that_spark_runs_on():
    image, packages = dockerfile(f".devcontainer/{SETTINGS['build']['dockerfile']}")
    called = set(re.findall(r"python(\d\.\d+) -m", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert called == {re.match(r"python:(\d\.\d+)\.\d+-", image)[1]}
    (java,) = (int(found[1]) for each in packages if (found := re.fullmatch(r"openjdk-(\d+)-jre-headless", each)))
    assert java in JAVA_VERSIONS


def test_it_is_the_image_of_docker_compose_with_tools_for_people():
    image, packages = dockerfile("Dockerfile")
    ours, more = dockerfile(".devcontainer/Dockerfile")
    assert ours == image
    assert more >= packages - {"tini"} | {"git"}


def test_it_runs_a_target_of_the_makefile_and_names_files_that_there_are():
    assert fault(SETTINGS["postCreateCommand"], whole=True) is None
    settings = SETTINGS["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"].endswith("/.venv/bin/python")
    for schema, files in settings["yaml.schemas"].items():
        assert (ROOT / schema).is_file()
        assert all((ROOT / name).is_file() for name in files if "/" in name)


def test_it_names_no_address_of_a_network():
    assert [path.name for path in FOLDER.iterdir() if "://" in path.read_text(encoding="utf-8")] == []
