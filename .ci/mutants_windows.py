"""Tests the tests of windows: makes small faults in the Python that puts rows into windows and aggregates them.

    python .ci/mutants_windows.py [MODULE ...]     modules of spark/streams, such as windows.py; default: `MODULES`
    python .ci/mutants_windows.py --kept FILE      keeps each outcome in a file, from which a later call goes on
    python .ci/mutants_windows.py session_state.py --tests e2e/test_stream_by_stream.py

Mutants are tried one after the other in a process with one JVM, in which the functions of the mutated module have the
mutant's code: each by the tests that reach it, those that found the mutants of its function before first, then the
fastest. If the process ends or hangs, the mutant is found, and another process tries the next one. Explained mutants
are in `.ci/mutants.toml`, as those of `.ci/mutants.py`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mutants import EXPLAINED, FOUND, OPTIONS, REACHED, ROOT, SURVIVED, UNUSABLE, Reached, Tally, chosen, put_in_place
from mutants import table as shown
from mutations import Mutant, marked, mutants

PACKAGE = ROOT / "jobs" / "tidemark"
STREAMS = "spark/streams"
MODULES = ("distinct.py", "due.py", "equal_values.py", "session_windows.py", "windows.py")
TESTS = (
    "spark/test_windows.py", "spark/test_session_windows.py", "spark/test_aggregates.py",
    "spark/test_equal_values.py", "spark/test_due_rows.py",
)  # fmt: skip
UNSOUND = 9
"""Status of a process in which a test fails without a mutant."""
HANGS = 300
"""Seconds without an outcome after which a process is ended; six times as many before its first."""
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings of Spark for few rows: compiling a plan takes longer than interpreting it."""
WORDS = {FOUND: "found", SURVIVED: "survived", UNUSABLE: "unusable"}


class Trial:
    """A pytest plugin that takes the place of the usual loop over tests, and tries the mutants that are left."""

    def __init__(self, paths: Sequence[Path], kept: Path, slow: float) -> None:
        self.paths, self.kept, self.slow = paths, kept, slow
        self.failed, self.why = False, ""
        self.finders: dict[str, list[str]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed
        self.why = report.longreprtext or self.why

    def pytest_runtestloop(self, session: Any) -> bool:
        tests = self.reached(session.items)
        done = tried(self.kept)
        for path in self.paths:
            for mutant in mutants(path):
                if (key := key_of(mutant)) in done:
                    continue
                begun = seconds()
                word = WORDS[self.tried(mutant, tests)]
                ended = seconds()
                keep(self.kept, key, word, ended - begun if ended else 0.0, self.last)
                if not ended:
                    os._exit(1)
        return True

    def reached(self, items: list[Any]) -> list[Reached]:
        """Run each test once, unmutated, with the statements of the modules that it reaches."""
        self.run(items[0], items[0].session)
        for key, value in SETTINGS.items():
            session_of().conf.set(key, value)
        for path in self.paths:
            put_in_place(path, compile(ast.fix_missing_locations(marked(path)), str(path), "exec"))
        found = []
        for item, following in zip(items, [*items[1:], None], strict=True):
            REACHED.clear()
            begun = time.monotonic()
            self.run(item, following if following and following.path == item.path else item.session)
            if self.failed:
                pytest.exit(f"{item.nodeid} fails without a mutant: {self.why}", returncode=UNSOUND)
            found.append(Reached(item, time.monotonic() - begun, set(REACHED)))
        for path in self.paths:
            put_in_place(path, compile(path.read_text(encoding="utf-8"), str(path), "exec"))
        return sorted((test for test in found if test.seconds < self.slow), key=lambda test: test.seconds)

    def run(self, item: Any, following: Any) -> None:
        """Run a test, after which only what it shares with the following is left in place."""
        item._initrequest()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def tried(self, mutant: Mutant, tests: list[Reached]) -> int:
        """Run the tests that reach a mutant until one fails."""
        original = compile(mutant.path.read_text(encoding="utf-8"), str(mutant.path), "exec")
        self.failed, self.last = False, ""
        place = f"{mutant.path} {mutant.function}"
        near = [test for test in tests if any(path == str(mutant.path) for path, _ in test.lines)]
        through = sorted(chosen(mutant, near), key=lambda test: test.item.nodeid not in self.finders[place])
        try:
            put_in_place(mutant.path, mutant.compiled())
            for test in through:
                self.run(test.item, test.item.session)
                if self.failed:
                    self.last = test.item.nodeid
                    self.finders[place].append(self.last)
                    return FOUND
        except Exception:  # noqa: BLE001 - a mutant that cannot even be loaded is no test of tests
            return UNUSABLE
        finally:
            put_in_place(mutant.path, original)
            forget()
        return SURVIVED


def forget() -> None:
    """Make Spark forget what a mutant has cached: rows, and plans that its code has built."""
    from tidemark.spark.streams import window_plans

    window_plans._PLANS.clear()
    session_of().catalog.clearCache()


def session_of() -> Any:
    """The session of all tests, made the active one: a mutant may have broken the connection that had it."""
    from tidemark.spark.compat.sessions import activate, first_session

    session = first_session()
    activate(session)
    return session


def key_of(mutant: Mutant) -> tuple[str, str]:
    """Module and change, as in `.ci/mutants.toml`."""
    return str(mutant.path.relative_to(PACKAGE)), f"{mutant.function or 'module'}: {mutant.change}"


def seconds() -> float:
    """CPU time of this process and its JVM; 0 if the JVM has ended."""
    from pyspark import SparkContext

    jvm = SparkContext._gateway.proc
    if jvm.poll() is not None:
        return 0.0
    fields = Path(f"/proc/{jvm.pid}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def keep(kept: Path, key: tuple[str, str], word: str, spent: float, test: str) -> None:
    with kept.open("a") as file:
        file.write(json.dumps([*key, word, round(spent, 2), test]) + "\n")


def outcomes(kept: Path) -> Iterator[tuple[str, str, str, float, str]]:
    """Module, change, outcome, seconds and the test that failed of each mutant that was tried."""
    for line in kept.read_text().splitlines() if kept.exists() else ():
        yield tuple(json.loads(line))


def try_all(paths: Sequence[Path], kept: Path, given: Sequence[str]) -> None:
    """Start processes until every mutant has an outcome."""
    wanted = [key_of(mutant) for path in paths for mutant in mutants(path)]
    while left := [key for key in wanted if key not in tried(kept)]:
        if worker(given, kept) == UNSOUND:
            raise SystemExit("a test fails without a mutant")
        if lost := [key for key in left if key not in tried(kept)]:
            keep(kept, lost[0], "found", 0.0, "the process ended or hung")


def tried(kept: Path) -> set[tuple[str, str]]:
    return {(name, label) for name, label, *_ in outcomes(kept)}


def worker(given: Sequence[str], kept: Path) -> int:
    """Run a process that tries mutants; its status, negative if it hung."""
    command = [sys.executable, __file__, *given, "--kept", str(kept), "--worker"]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL) as running:  # noqa: S603
        first = kept.stat().st_size if kept.exists() else 0
        size, since = first, time.monotonic()
        while running.poll() is None:
            now = kept.stat().st_size if kept.exists() else 0
            size, since = (size, since) if now == size else (now, time.monotonic())
            if time.monotonic() - since > (HANGS if size > first else 6 * HANGS):
                os.killpg(running.pid, signal.SIGKILL)
            time.sleep(1)
    return running.returncode


def told(paths: Sequence[Path], kept: Path) -> int:
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
    tallies = {str(path.relative_to(PACKAGE)): Tally() for path in paths}
    for name, label, word, seconds, _ in outcomes(kept):
        if (tally := tallies.get(name)) is None:
            continue
        tally.seconds += seconds
        if word == "survived" and explained.get(name, {}).pop(label, None):
            tally.explained += 1
        elif word == "survived":
            tally.survivors.append(label)
            print(f"survived  {name}  {label}")
        tally.found += word == "found"
    print("\n" + shown(tallies))
    stale = [f"{name}  {label}" for name in tallies for label in explained.get(name, {})]
    print("".join(f"explained, but found or gone: {each}\n" for each in stale))
    return bool(stale or any(each.survivors for each in tallies.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=MODULES, help="such as windows.py; default: all")
    parser.add_argument("--kept", type=Path, help="file for outcomes; what is in it is not tried again")
    parser.add_argument("--slow", type=float, default=60.0, help="seconds from which a test is left out")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="files of tests/ whose tests are used")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    paths = [PACKAGE / STREAMS / name for name in given.modules]
    os.chdir(ROOT)
    if given.worker:
        trial = Trial(paths, given.kept, given.slow)
        marks = ("-m", "not long and not soak")
        return int(pytest.main([*OPTIONS, *marks, *(f"tests/{name}" for name in given.tests)], plugins=[trial]))
    with tempfile.TemporaryDirectory() as folder:
        kept = (given.kept or Path(folder) / "outcomes").absolute()
        try_all(paths, kept, [*given.modules, "--slow", str(given.slow), "--tests", *given.tests])
        return told(paths, kept)


if __name__ == "__main__":
    sys.exit(main())
