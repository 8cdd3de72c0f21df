"""Tests the Java tests: makes small faults in the classes that judge rows, and runs the Java tests on each.

    python .ci/mutants_java.py [CLASS ...]     such as RowJudge; default: all of jvm/src/main/java/tidemark/rows

Faults are textual: one operator, constant or statement of a line is changed. Explained ones are in
`.ci/mutants.toml`, as those of `.ci/mutants.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from mutants import EXPLAINED, Tally, table

from tidemark.spark.session.compiler import MODULE, SOURCES, compile_java, java_command, spark_jars
from tidemark.spark.session.jars import jars_folder

ROWS = SOURCES / "tidemark" / "rows"
TESTS = MODULE / "src" / "test" / "java"
RUNNER = Path(__file__).with_name("MutantRunner.java")
CHANGES = (
    (r" < ", " <= "), (r" < ", " >= "), (r" > ", " >= "), (r" > ", " <= "), (r" <= ", " < "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "),
    (r" \* ", " / "), (r" / ", " * "), (r" % ", " / "), (r"\+\+", "--"), (r"--", "++"), (r"\+= ", "-= "),
    (r"-= ", "+= "), (r"\|= ", "= "), (r"(?<=[( ])!(?=[\w(])", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"Math\.max", "Math.min"), (r"Math\.min", "Math.max"), (r"(?<![\w.])0(?![\w.])", "1"),
    (r"(?<![\w.])1(?![\w.])", "2"), (r"(?<![\w.])1(?![\w.])", "0"), (r"(?<![\w.])2(?![\w.])", "1"),
    (r"\? (.+) : (.+?)(?=[;)])", r"? \2 : \1"), (r"(?<=if )\(.*\)(?= \{$)", "(true)"),
    (r"(?<=if )\(.*\)(?= \{$)", "(false)"), (r"^(\s+)(?:this\.)?[\w.]+(?:\[.+\])? (?:[-+|]?=) .*;$", r"\1;"),
    (r"^(\s+)[\w.]+\(.*\);$", r"\1;"), (r"^(\s+)[\w.]+(?:\+\+|--);$", r"\1;"),
)  # fmt: skip
"""A pattern and what takes its place, once for each place of a line where it matches."""
LEFT = re.compile(
    r"^\s*(\*|/\*|//|@|import |package |private static final|.*serialVersionUID)|Column function\(|UserDefined"
)


def mutants(path: Path) -> Iterator[tuple[str, str]]:
    """Each mutant of a class: what changes, with the number of the line, and the whole text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    inside = False  # a method that makes a column, which only Spark can call
    for place, line in enumerate(lines):
        inside = (inside or bool(re.search(r"(Column|UserDefinedFunction) function\(", line))) and line != "    }"
        if inside or LEFT.search(line):
            continue
        for pattern, other in CHANGES:
            for match in re.finditer(pattern, line):
                new = line[: match.start()] + match.expand(other) + line[match.end() :]
                text = "\n".join([*lines[:place], new, *lines[place + 1 :]])
                if new != line:
                    yield f"{line.strip()} -> {new.strip()}", text


def tried(paths: list[Path], folder: Path) -> Iterator[tuple[Path, str, str, float]]:
    """Class, change, outcome and seconds of each mutant."""
    classpath = [*jars_folder().glob("*.jar"), *spark_jars(jars_folder())]
    tools = jars_folder().with_name("tools")
    jars = [path for path in classpath if path.name != "tidemark-functions.jar"] + list(tools.glob("*.jar"))
    tests = sorted((TESTS / "tidemark" / "rows").glob("*Test.java"))
    compile_java([*SOURCES.rglob("*.java"), *tests], folder / "classes", jars, tools)
    compile_java([RUNNER], folder / "runner", jars, tools)
    made = [(path, *each) for path in paths for each in mutants(path)]
    for number, (path, _, text) in enumerate(made):
        (folder / str(number)).mkdir()
        (folder / str(number) / path.name).write_text(text, encoding="utf-8")
    listed = "\n".join(str(folder / str(number) / path.name) for number, (path, _, _) in enumerate(made))
    (folder / "list").write_text(listed, encoding="utf-8")
    names = [f"tidemark.rows.{test.stem}" for test in tests]
    path = os.pathsep.join(map(str, [folder / "runner", *jars]))
    command = [java_command(), "-cp", path, "MutantRunner", str(folder / "classes"), str(folder / "list"), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:  # noqa: S603
        begun = time.monotonic()
        for each, line in zip(made, running.stdout or (), strict=True):
            yield each[0], each[1], line.strip(), time.monotonic() - begun
            begun = time.monotonic()


def main() -> int:
    paths = [ROWS / f"{name}.java" for name in sys.argv[1:]] or sorted(ROWS.glob("*.java"))
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
    tallies: dict[str, Tally] = {path.name: Tally() for path in paths}
    with tempfile.TemporaryDirectory() as folder:
        for path, change, outcome, seconds in tried(paths, Path(folder)):
            tally = tallies[path.name]
            tally.seconds += seconds
            if outcome == "survived" and explained.get(path.name, {}).pop(change, None):
                tally.explained += 1
            elif outcome == "survived":
                tally.survivors.append(change)
                print(f"survived  {path.name}  {change}", flush=True)
            tally.found += outcome == "found"
    print("\n" + table(tallies))
    stale = [f"{name}  {change}" for name in tallies for change in explained.get(name, {})]
    print("".join(f"explained, but found or gone: {each}\n" for each in stale))
    return bool(stale or any(each.survivors for each in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
