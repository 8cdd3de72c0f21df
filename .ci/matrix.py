"""Tests the distributions on each Python, with the lowest and the newest packages: `make test-matrix`.

    .venv/bin/python .ci/matrix.py [CORNER ...]

A corner is a version of Python and a lock file of `.ci/matrix/`: `3.13-newest`. Its environment, in `.venv/matrix`,
holds the wheels of this clone and the packages of the lock file; pyspark alone is linked from the environment that
runs this, since it is large and of one version. Without arguments all corners are tested whose Python is found, on
PATH or among pyenv's versions; `one` is the newest of these with the lowest packages, since the other tests run on
an older one with packages that are new. The lock files are made from
both projects by

    uv pip compile pyproject.toml jobs/pyproject.toml tools.in --universal
        --extra azure --extra demo --extra gcs --extra report --extra s3
        --python-version 3.11 --resolution lowest-direct --generate-hashes --no-header --no-annotate
        --no-emit-package tidemark-light -o .ci/matrix/lowest.lock

and `--resolution highest` with `newest.lock`; `airflow-lowest.lock` has the extras airflow and openlineage instead.
(Airflow's newest are in requirements.lock.) `tools.in` has the lines of pytest, pytest-xdist, hypothesis,
croniter, jsonschema, polars, packaging, hatchling, editables, setuptools and wheel of requirements.lock.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / ".ci" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13")
sys.path.insert(0, str(ROOT / "tests"))

from environments import built, link  # noqa: E402

FAST = (
    "tests/config",
    "tests/landing",
    "tests/ledger",
    "tests/quality",
    "tests/report",
    "tests/test_arguments.py",
    "tests/test_cli.py",
    "tests/test_distributions.py",
    "tests/test_records.py",
)
WITH_AIRFLOW = (
    "tests/dags/test_dag_files.py",
    "tests/dags/test_forms.py",
    "tests/dags/test_placement.py",
    "tests/plugins",
    "--ignore",
    "tests/plugins/test_dashboard_in_airflow.py",  # of a browser
    "--deselect",  # of the clone's jobs and archive of classes
    "tests/dags/test_dag_files.py::test_a_submitted_job_has_the_class_path_of_the_archive_of_classes",
)
"""Tests of a corner that has Airflow."""
OPTIONS = (
    "-m",
    "not spark and not long and not soak",
    "-n",
    "2",
    "--dist",
    "worksteal",
    "--override-ini",
    "addopts=-q",
    "--ignore",
    "tests/report/test_report_first_screen.py",  # of a browser, for which the corners have no package
)
SMOKE = "from tidemark.demo.first_run import run; import pathlib, sys; run(pathlib.Path(sys.argv[1]))"
"""Runs a small pipeline, replays it and reads its rows."""


def interpreter(version: str) -> Path | None:
    """Python of a version: on PATH, or the newest of pyenv's."""
    found = shutil.which(f"python{version}")
    if found is not None and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:  # noqa: S603
        return Path(found)
    return max((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"), default=None)


def corners() -> list[str]:
    """Every corner."""
    return [f"{version}-{lock.stem}" for version in PYTHONS for lock in sorted(LOCKS.glob("*.lock"))]


def farthest() -> str:
    """The corner that is least like the environment of the other tests: the newest Python that is found here, with
    the lowest packages."""
    found = (version for version in reversed(PYTHONS) if interpreter(version))
    return f"{next(found, PYTHONS[-1])}-lowest"


def installed(corner: str, python: Path, wheels: list[Path]) -> Path:
    """Python of a corner's environment, made if it is missing, with these wheels. Raises CalledProcessError if
    something cannot be installed, after it was said on standard error."""
    version, _, lock = corner.partition("-")
    folder = Path(sys.prefix) / "matrix" / corner
    inside = folder / "bin" / "python"
    if not inside.exists():
        run(str(python), "-m", "venv", str(folder))
    link(distribution("pyspark"), folder / "lib" / f"python{version}" / "site-packages")
    pip = [str(inside), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
    text = (LOCKS / f"{lock}.lock").read_text(encoding="utf-8")
    tools = folder / "build-tools.lock"
    tools.write_text("".join(re.findall(r"^(?:setuptools|wheel)==.*\n(?: .*\n?)+", text, re.MULTILINE)))
    run(*pip, "--require-hashes", "-r", str(tools))
    run(*pip, "--require-hashes", "--no-build-isolation", "-r", str(LOCKS / f"{lock}.lock"))
    run(*pip, "--force-reinstall", *map(str, wheels))
    return inside


def run(*command: str, folder: Path = ROOT) -> None:
    """Run a command in a folder, without this process's packages. Raises CalledProcessError if it fails."""
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TIDEMARK_JARS")}
    subprocess.run(command, cwd=folder, env=environ, check=True)  # noqa: S603 - commands of this file


def tested(corner: str, python: Path, wheels: list[Path]) -> None:
    """Test a corner: one small run by the wheels, outside of the clone, then fast tests."""
    inside = installed(corner, python, wheels)
    with tempfile.TemporaryDirectory() as empty:
        run(str(inside.with_name("tidemark")), "setup", folder=Path(empty))
        run(str(inside), "-c", SMOKE, empty, folder=Path(empty))
    run(str(inside), "-m", "pytest", *OPTIONS, *(WITH_AIRFLOW if "-airflow-" in corner else FAST))


def main(asked: list[str]) -> int:
    """Test corners; status 1 if one fails, is not known or has no Python here."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = built(Path(folder))
        for corner in [farthest()] if asked == ["one"] else asked or corners():
            python = interpreter(corner.partition("-")[0])
            if corner not in corners() or (python is None and asked):
                print(
                    f"{corner} can't be tested: there are {', '.join(corners())}, with a Python each", file=sys.stderr
                )
                return 1
            if python is None:
                print(f"== {corner}: left out, this Python was not found", flush=True)
                continue
            print(f"== {corner}", flush=True)
            try:
                tested(corner, python, wheels)
            except subprocess.CalledProcessError as failed:
                print(f"{corner}: {Path(failed.cmd[0]).name} failed, see above", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
