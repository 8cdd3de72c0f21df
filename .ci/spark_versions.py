"""Runs part of the tests on versions of Spark beside the locked one: `make test-spark`.

    .venv/bin/python .ci/spark_versions.py [VERSION ...]

Each version has a lock file in .ci/spark/, and one of jars there if Delta's jars of jars.lock do not fit it. It is
installed into a virtual environment of its own, which takes everything else from the one that runs this.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / ".ci" / "spark"
JARS = "jars.lock"
TWO = ("-n", "2", "--dist", "worksteal")
TESTS = (
    "tests/spark/test_digest.py",
    "tests/spark/test_json_line.py",
    "tests/spark/test_aggregates.py",
    "tests/spark/test_expressions_in_spark.py",
    "tests/spark/test_format_seam.py",
    "tests/e2e/test_judging.py",
    "tests/e2e/test_prepared.py",
    "tests/e2e/test_closing_plans.py",
    "tests/e2e/test_stored_state.py",
)
"""Digests, each private way of Spark, row-by-row comparison, and state that earlier versions stored."""
LEFT_OUT = "not every_other_combination_of_policies"
"""Combinations of policies are judged by our own classes: those on the locked Spark are enough."""


def versions() -> list[str]:
    """Versions that have a lock file."""
    return sorted(path.stem for path in LOCKS.glob("*.lock") if not path.name.endswith(JARS))


def installed(version: str) -> Path:
    """Python of the environment with this version of Spark, made if it is missing; our classes are compiled against
    it. Raises CalledProcessError if something cannot be installed, after it was said on standard error."""
    folder = Path(sys.prefix) / "spark" / version
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "shared.pth").write_text("\n".join([*shared, str(ROOT / "jobs")]) + "\n")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python), "install"]
    run(*pip, "--no-deps", "--require-hashes", "--no-build-isolation", "-r", str(LOCKS / f"{version}.lock"))
    own = LOCKS / f"{version}.{JARS}"
    jars = folder / "share" / "tidemark" / "jars"
    lock = own if own.exists() else ROOT / JARS
    run(str(python), "-m", "tidemark.spark.session.jars", "install", str(lock), str(jars))
    return python


def run(*command: str) -> None:
    """Run a command in the project's folder. Raises CalledProcessError if it fails."""
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - commands of this file


def main(asked: list[str]) -> int:
    """Run the tests on these versions, else on the newest; status 1 if one fails or is not known."""
    for version in asked or versions()[-1:]:
        if version not in versions():
            print(f"there is no lock file for Spark {version}: there are {', '.join(versions())}", file=sys.stderr)
            return 1
        print(f"== Spark {version}", flush=True)
        try:
            options = ("-m", "not soak", "-k", LEFT_OUT, "--override-ini", "addopts=-q")
            run(str(installed(version)), "-m", "pytest", *options, *TWO, *TESTS)
        except subprocess.CalledProcessError as failed:
            print(f"Spark {version}: {Path(failed.cmd[0]).name} failed, see above", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
