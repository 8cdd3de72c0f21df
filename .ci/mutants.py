"""Tests the tests: makes small faults in `jobs/tidemark/core`, one at a time, and runs the tests that reach them.

    python .ci/mutants.py [MODULE ...]     prints each fault that no test finds, then a table by module
    python .ci/mutants.py --slow 5         leaves out tests that take longer than 5 seconds

All tests are collected once. Each mutant is tried in a fork of that process, in which the functions of the mutated
module have the mutant's code. So a mutant costs no more than its tests, fastest first, up to the first that fails.
Mutants that no test need find are in `.ci/mutants.toml`, each with the reason; one that is found there by mistake
fails the run, too. No test that starts Spark is used.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import inspect
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import Phase, settings
from mutations import Mutant, marked, mutants

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "jobs" / "tidemark" / "core"
EXPLAINED = ROOT / ".ci" / "mutants.toml"
TESTS = ("core", "quality/test_measures.py", "config/test_punctuation_rules.py")
OPTIONS = (
    "-p",
    "no:terminal",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-o",
    "addopts=",
    "--ignore-glob=*/test_oracle_*",
)
SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test."""
MOST_EXAMPLES = 30
FOUND, SURVIVED, UNUSABLE = 0, 1, 2
REACHED: set[tuple[str, int]] = set()
"""Statements that were reached, by file and line."""
PLAIN = int | float | str | tuple | list | dict | set | frozenset | re.Pattern | datetime


@dataclass
class Reached:
    """A test with the seconds it took, and the statements that it reached, by file and line."""

    item: Any
    seconds: float
    lines: set[tuple[str, int]]


@dataclass
class Tally:
    """Outcome for one module."""

    found: int = 0
    explained: int = 0
    survivors: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Trial:
    """A pytest plugin that takes the place of the usual loop over tests."""

    def __init__(self, paths: Sequence[Path], slow: float, workers: int) -> None:
        self.paths, self.slow, self.workers = paths, slow, workers
        self.failed = False
        self.tallies: dict[str, Tally] = {}
        self.stale: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        first, *_, last = session.items
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=last)  # what all tests share is made once
        gc.freeze()  # pages of collected tests stay shared with all forks
        reached = self.reached(session.items)
        explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
        running: dict[int, tuple[float, float, str, str]] = {}
        for path in self.paths:
            name = str(path.relative_to(CORE))
            self.tallies[name] = Tally()
            for mutant in mutants(path):
                if len(running) == self.workers:
                    self.wait(running, explained)
                tests = chosen(mutant, reached)
                limit = 20 + 5 * sum(test.seconds for test in tests)
                label = f"{mutant.function or 'module'}: {mutant.change}"
                running[self.fork(mutant, tests)] = time.monotonic(), limit, name, label
        while running:
            self.wait(running, explained)
        known = {f"{name} {label}" for name in self.tallies for label in explained.get(name, {})}
        self.stale += sorted(known)
        return True

    def reached(self, items: list[Any]) -> list[Reached]:
        """Run each test once, unmutated, in a fork. Raises SystemExit if one fails."""
        kept = Path(tempfile.mkdtemp())
        if (child := os.fork()) == 0:
            self.alone()
            for path in sorted(CORE.rglob("*.py")):
                put_in_place(path, compile(ast.fix_missing_locations(marked(path)), str(path), "exec"))
            found = [self.traced(item, items[place + 1 :][:1]) for place, item in enumerate(items)]
            (kept / "lines").write_text(json.dumps(found))
            os._exit(self.failed)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit("a test fails without a mutant, or needs another one to have run before it")
        found = json.loads((kept / "lines").read_text())
        shutil.rmtree(kept)
        tests = [
            Reached(item, seconds, {(path, line) for path, line in lines})
            for item, (seconds, lines) in zip(items, found, strict=True)
        ]
        return sorted((test for test in tests if test.seconds < self.slow), key=lambda t: t.seconds)

    def traced(self, item: Any, following: list[Any]) -> tuple[float, list[tuple[str, int]]]:
        """The seconds that a test takes and the statements that it reaches."""
        REACHED.clear()
        begun = time.monotonic()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=(following or [None])[0])
        if self.failed:
            sys.stderr.write(f"{item.nodeid} fails without a mutant\n")
            os._exit(1)
        return time.monotonic() - begun, sorted(REACHED)

    def alone(self) -> Path:
        """Give a fork its own process group, silence, and a folder for its files."""
        os.setpgid(0, 0)
        folder = Path(tempfile.gettempdir()) / f"mutant-{os.getpid()}"
        folder.mkdir()
        self.factory._basetemp = folder
        return folder

    def pytest_collection_finish(self, session: Any) -> None:
        self.factory = session.config._tmp_path_factory
        for test in [item.obj for item in session.items if hasattr(item.obj, "hypothesis")]:
            known = getattr(test, SETTINGS, settings.default)
            setattr(test, SETTINGS, settings(known, max_examples=min(MOST_EXAMPLES, known.max_examples)))

    def fork(self, mutant: Mutant, tests: list[Reached]) -> int:
        """Begin to try a mutant. The process ends with 0 if a test found it."""
        if (child := os.fork()) != 0:
            return child
        self.alone()
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        try:
            put_in_place(mutant.path, mutant.compiled())
        except Exception:  # noqa: BLE001 - a mutant that cannot even be loaded is no test of tests
            os._exit(UNUSABLE)
        try:
            for place, test in enumerate(tests):
                following = tests[place + 1].item if place + 1 < len(tests) else None
                test.item.config.hook.pytest_runtest_protocol(item=test.item, nextitem=following)
                if self.failed:
                    break
        except BaseException:  # noqa: BLE001 - whatever ends the tests has found the mutant
            os._exit(FOUND)
        os._exit(FOUND if self.failed else SURVIVED)

    def wait(self, running: dict[int, tuple[float, float, str, str]], explained: dict[str, dict[str, str]]) -> None:
        """Wait until one of the running mutants has ended or is over its limit (it hangs: found)."""
        while True:
            for child, (begun, limit, name, label) in running.items():
                ended, status = os.waitpid(child, os.WNOHANG)
                seconds = time.monotonic() - begun
                if ended or seconds > limit:
                    if not ended:
                        os.killpg(child, signal.SIGKILL)
                        os.waitpid(child, 0)
                    del running[child]
                    shutil.rmtree(Path(tempfile.gettempdir()) / f"mutant-{child}", ignore_errors=True)
                    self.count(name, label, os.waitstatus_to_exitcode(status), explained)
                    self.tallies[name].seconds += seconds
                    return
            time.sleep(0.005)

    def count(self, name: str, label: str, code: int, explained: dict[str, dict[str, str]]) -> None:
        tally = self.tallies[name]
        if code == SURVIVED and explained.get(name, {}).pop(label, None):
            tally.explained += 1
        elif code == SURVIVED:
            tally.survivors.append(label)
            print(f"survived  {name}  {label}", flush=True)
        elif code != UNUSABLE:
            tally.found += 1


def chosen(mutant: Mutant, tests: list[Reached]) -> list[Reached]:
    """The tests that reach a mutant; outside of functions, where no call shows it, all."""
    through = [test for test in tests if (str(mutant.path), mutant.line) in test.lines]
    return through or tests * mutant.outside


def put_in_place(path: Path, code: Any) -> None:
    """Give the functions and constants of a loaded module what they are in other code for it."""
    name = ".".join(path.relative_to(ROOT / "jobs").with_suffix("").parts).removesuffix(".__init__")
    old = importlib.import_module(name)
    vars(old)["__reached__"] = REACHED.add
    new = ModuleType(name)
    exec(code, vars(new))  # noqa: S102 - our own module, with one change
    for key, value in vars(new).items():
        before = vars(old)[key]
        if isinstance(value, PLAIN) and not key.startswith("__") and value != before:
            for module in [each for each in sys.modules.values() if vars(each).get(key) is before]:
                setattr(module, key, value)
    for (_, one), (_, other) in zip(functions(old, name), functions(new, name), strict=True):
        one.__code__, one.__defaults__ = other.__code__, other.__defaults__
        one.__kwdefaults__ = other.__kwdefaults__


def functions(holder: Any, module: str) -> Iterator[tuple[str, FunctionType]]:
    """Functions that a module defines, those of its classes too, with their names."""
    for name, value in sorted(vars(holder).items(), key=lambda each: each[0]):
        plain = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(plain, FunctionType) and module in (plain.__module__, getattr(holder, "__module__", "")):
            yield name, inspect.unwrap(plain)
        elif isinstance(value, type) and value.__module__ == module:
            yield from functions(value, module)


def table(tallies: dict[str, Tally]) -> str:
    lines = ["| module | mutants | found | explained | survivors | seconds |", "|---|--:|--:|--:|--:|--:|"]
    whole = Tally()
    for name, each in [*tallies.items(), ("**all**", whole)]:
        number = each.found + each.explained + len(each.survivors)
        row = (number, each.found, each.explained, len(each.survivors), round(each.seconds))
        if number:
            lines.append(f"| {name} | " + " | ".join(str(cell) for cell in row) + " |")
        whole.found, whole.explained = whole.found + each.found, whole.explained + each.explained
        whole.survivors, whole.seconds = whole.survivors + each.survivors, whole.seconds + each.seconds
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="such as windows.py or advice/grid.py; default: all")
    parser.add_argument("--slow", type=float, default=60.0, help="seconds from which a test is left out")
    parser.add_argument("--workers", type=int, default=2, help="mutants that are tried at once")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="folders of tests/ whose tests are used")
    given = parser.parse_args()
    paths = [CORE / name for name in given.modules] or sorted(CORE.rglob("*.py"))
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutants", derandomize=True, deadline=None, phases=phases)
    trial = Trial(paths, given.slow, given.workers)
    os.chdir(ROOT)
    marks = ("-m", "not spark and not long and not soak and not browser", "--hypothesis-profile=mutants")
    pytest.main([*OPTIONS, *marks, *(f"tests/{name}" for name in given.tests)], plugins=[trial])
    print("\n" + table(trial.tallies))
    for each in trial.stale:
        print(f"explained, but found or gone: {each}")
    return bool(trial.stale or not trial.tallies or any(each.survivors for each in trial.tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
