"""The Java module: its own tests pass, its packages form no circle, and one Python module names its classes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from tidemark.spark.session import compiler
from tidemark.spark.session.compiler import MODULE, SOURCES, compile_java, java_command, spark_jars
from tidemark.spark.session.jars import jars_folder, read_lock

ROOT = MODULE.parent
TOOLS = jars_folder().with_name("tools")
CLASSES = {path.relative_to(SOURCES / "tidemark").with_suffix("").as_posix() for path in SOURCES.rglob("*.java")}


def test_the_java_tests_pass(tmp_path):
    tests = sorted((MODULE / "src" / "test" / "java").rglob("*Test.java"))
    console = next(TOOLS.glob("*console-standalone*.jar"))
    classpath = [*jars_folder().glob("*.jar"), *spark_jars(jars_folder()), console]
    compile_java(tests, tmp_path / "classes", classpath, TOOLS)
    listed = os.pathsep.join(map(str, [tmp_path / "classes", *classpath]))
    called = [
        java_command(),
        "-jar",
        str(console),
        "execute",
        "-cp",
        listed,
        "--scan-classpath",
        str(tmp_path / "classes"),
    ]
    done = subprocess.run([*called, "--details=tree"], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    found = re.search(r"(\d+) tests successful", done.stdout)
    assert found is not None
    assert int(found[1]) >= len(tests) > 0


def test_classes_are_named_through_the_one_module_and_exist():
    named = re.compile(r'(?:java_class|invoked|call)\(\s*"(\w+)\.(\w+)"')
    found = set()
    for path in (ROOT / "jobs").rglob("*.py"):
        text = path.read_text()
        found |= {"/".join(each) for each in named.findall(text)}
        if path.name != "jvm_functions.py":
            assert not re.search(r"(jvm|running\(\))\.tidemark\b", text), path
    assert found
    assert found <= CLASSES


def test_packages_form_no_circle():
    needs = {}
    for path in SOURCES.rglob("*.java"):
        named = set(re.findall(r"^import (?:static )?tidemark\.(\w+)\.", path.read_text(), re.MULTILINE))
        needs.setdefault(path.parent.name, set()).update(named - {path.parent.name})
    while needs:
        lowest = {name for name, below in needs.items() if not below & set(needs)}
        assert lowest, f"a circle among {needs}"
        needs = {name: below for name, below in needs.items() if name not in lowest}


def test_maven_builds_against_the_versions_that_are_installed():
    space = "{http://maven.apache.org/POM/4.0.0}"
    built = ElementTree.parse(MODULE / "pom.xml").getroot()  # noqa: S314 # the project's own
    versions = {
        each.findtext(f"{space}artifactId"): each.findtext(f"{space}version")
        for each in built.iter(f"{space}dependency")
    }
    locked = {
        jar.coordinate.split(":")[1]: jar.coordinate.split(":")[2]
        for lock in (ROOT / "jars.lock", MODULE / "tools.lock")
        for jar in read_lock(lock)
    }
    spark = re.search(r"^pyspark==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert spark is not None
    assert versions["spark-sql_2.13"] == spark[1]
    assert versions["delta-spark_4.2_2.13"] == locked["delta-spark_4.2_2.13"]
    assert versions["junit-jupiter"] == locked["junit-platform-console-standalone"]


def test_a_wheel_brings_the_jar(tmp_path):
    called = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(called, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extract(f"tidemark/spark/session/{compiler.JAR}", tmp_path)
    assert (
        compiler.read_fingerprint(tmp_path / "tidemark" / "spark" / "session" / compiler.JAR)
        == compiler.fingerprint()
    )


def test_a_wheel_uses_the_jar_that_it_brings(tmp_path, monkeypatch):
    built = next(jars_folder().glob(compiler.JAR))
    monkeypatch.setattr(compiler, "SOURCES", tmp_path / "no sources")
    monkeypatch.setattr(compiler, "PREBUILT", built)
    monkeypatch.setattr(compiler, "compile_java", None)
    (tmp_path / "jars").mkdir()
    found = compiler.compile_into(tmp_path / "jars", Path("no tools"))
    assert found.read_bytes() == built.read_bytes()
    assert compiler.is_current(found)
