"""Conventions of the project, each held by one test that says what to change."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import tidemark
from tidemark.config.formats import FORMATS
from tidemark.core.services import SERVICES
from tidemark.errors import TidemarkError
from tidemark.spark.session import compiler, jars

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "jobs"
PACKAGE = JOBS / "tidemark"
MODULES = sorted(
    ".".join(path.relative_to(JOBS).with_suffix("").parts).removesuffix(".__init__") for path in PACKAGE.rglob("*.py")
)
LONGEST_MODULE = 300
LONGEST_FUNCTION = 30
LONGEST_AUDIT = 1000

ROOMS = {
    "core": {"core"},
    "records": {"core", "records"},
    "config": {"core", "config", "errors"},
    "storage": {"core", "config", "storage", "errors"},
    "spark": {"core", "config", "storage", "records", "spark", "errors"},
    "ledger": {"core", "config", "storage", "ledger", "errors"},
    "quality": {"core", "config", "quality", "errors"},
    "report": {"core", "config", "records", "report", "errors"},
    "proposal": {"core", "config", "storage", "records", "proposal", "errors"},
    "landing": {"core", "config", "storage", "ledger", "landing", "errors"},
    "runner": {"core", "config", "storage", "records", "spark", "ledger", "quality", "landing", "runner", "errors"},
}
"""What a module of each room may import of the package."""

ABOVE = {"pipeline", "cli", "demo", "airflow", "dashboard"}
"""What `commands` may not import: they are made of commands."""

AIRFLOW = {"airflow", "dashboard"}
"""Rooms that know Airflow. No other room imports them."""

SHOWN = tuple(
    "tidemark." + each
    for each in (
        "airflow.folders",
        "commands.dashboard",
        "config.pipeline_files",
        "core",
        "dashboard",
        "errors",
        "records",
        "report",
    )
)
"""What the dashboard may import of the package: it reads through the report, and through the pages made for it."""

PURE = {
    "pydantic",
    "pyspark",
    "delta",
    "deltalake",
    "duckdb",
    "pyarrow",
    "pandas",
    "numpy",
    "ruamel",
    "sqlglot",
    "click",
}
SPARK = {"pyspark", "py4j", "delta"}


def room_of(module: str) -> str:
    """The part of the package that a module is in: `tidemark.core.times` is in `core`."""
    return module.split(".")[1] if module.count(".") else ""


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports anywhere in it, types included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: name the module in full"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_airflow(name: str) -> bool:
    """True for Airflow's own modules, and for the room that has Airflow in it."""
    return name.split(".", maxsplit=1)[0] == "airflow" or name.startswith("tidemark.airflow")


def path_of(module: str) -> Path:
    path = JOBS.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def loaded_by(*modules: str) -> set[str]:
    """The modules that importing these brings in, in a process of its own."""
    code = f"import sys, {', '.join(modules)}\nprint(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(JOBS)}
    done = subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def modules_in(room: str) -> list[str]:
    return [module for module in MODULES if room_of(module) == room]


# the arrows: core <- {config, records} <- storage <- {spark, ledger, quality, report, proposal} <- landing <- runner
# <- context <- commands <- pipeline <- cli, and report <- plugins


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_is_below_it(room):
    for module in modules_in(room):
        for name in imported(path_of(module)):
            if name.startswith("tidemark."):
                assert room_of(name) in ROOMS[room], f"{module} imports {name}: move one of them to another room"


def test_commands_import_nothing_that_is_made_of_them():
    for module in modules_in("commands"):
        for name in imported(path_of(module)):
            if name.startswith("tidemark."):
                assert room_of(name) not in ABOVE, f"{module} imports {name}"


@pytest.mark.parametrize("room", ROOMS)
def test_importing_a_room_loads_no_other_than_those_below_it(room):
    loaded = {room_of(name) for name in loaded_by(*modules_in(room)) if name.startswith("tidemark.")}
    assert loaded <= ROOMS[room]


def test_core_is_pure():
    loaded = loaded_by(*modules_in("core"))
    assert not PURE & loaded
    outside = {name.split(".")[0] for module in modules_in("core") for name in imported(path_of(module))}
    assert outside <= sys.stdlib_module_names | {"tidemark"}
    assert not outside & {"os", "io", "pathlib", "time", "random", "socket", "subprocess", "threading"}, (
        "no clock, no I/O"
    )


def test_only_the_spark_room_knows_spark():
    for module in MODULES:
        if room_of(module) != "spark":
            found = {name for name in imported(path_of(module)) if name.split(".")[0] in SPARK}
            assert not found, f"{module} imports {found}: only tidemark.spark may"


def compared(path: Path) -> Iterator[ast.Compare]:
    """Comparisons with the name of a file format."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            constants = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            if constants & FORMATS.keys():
                yield node


@pytest.mark.parametrize("room", ["config", "storage", "spark", "ledger", "quality", "proposal", "landing", "runner"])
def test_no_module_asks_for_the_name_of_a_format(room):
    for module in modules_in(room):
        found = [f"{node.lineno}: {ast.unparse(node)}" for node in compared(path_of(module))]
        assert not found, f"{module}: {found}: ask for a fact of `config.formats.Format`, or call its `FormatReader`"


def test_only_the_quality_room_knows_great_expectations():
    for module in MODULES:
        if room_of(module) != "quality":
            found = {name for name in imported(path_of(module)) if name.split(".")[0] == "great_expectations"}
            assert not found, f"{module} imports {found}: only tidemark.quality may"


def test_only_its_own_rooms_know_airflow():
    for module in MODULES:
        if room_of(module) not in AIRFLOW:
            names = set(imported(path_of(module)))
            assert not {name for name in names if name.split(".")[0] == "airflow"}, module
            assert not {room_of(name) for name in names if name.startswith("tidemark.")} & AIRFLOW, module


def test_a_room_may_be_called_airflow_beside_airflow():
    """`jobs/` is on Python's path, never the package's own folder, where `airflow` would be the room."""
    assert "airflow.sdk" in loaded_by("tidemark.airflow.folders", "airflow.sdk")


def test_commands_that_read_import_no_spark():
    commands = ("tidemark.pipeline", "tidemark.commands.init", "tidemark.cli.commands.runs", "tidemark.cli.text.runs")
    loaded = loaded_by(*commands, *modules_in("report"))
    assert not (SPARK | {"great_expectations"}) & loaded


def test_a_run_with_nothing_to_do_loads_little(tmp_path):
    """What is slow to import, and needed for other verbs or for rows alone, would make it twice as slow."""
    (tmp_path / "landing").mkdir()
    (tmp_path / "pipeline.yml").write_text(
        "pipeline: idle\nwarehouse: ./warehouse\n"
        "sources: {a: {landing: ./landing, format: json, schema: 'v STRING'}}\n"
    )
    code = "import sys; from tidemark.cli import invoke; invoke(['run', sys.argv[1]]); print('loaded', *sys.modules)"
    ran = subprocess.run(  # noqa: S603 - the tests' own interpreter
        [sys.executable, "-c", code, str(tmp_path / "pipeline.yml")],
        env=os.environ | {"PYTHONPATH": str(JOBS)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ran.stdout.split("loaded ")[1].split())
    assert "pyarrow.dataset" in loaded
    slow = SPARK | {"great_expectations", "pandas", "duckdb", "matplotlib", "boto3", "sqlglot"}
    slow |= {"tidemark.commands.backfill.from_events"}
    assert not slow & loaded


def test_the_dashboard_reads_through_the_report():
    for module in modules_in("dashboard"):
        for name in imported(path_of(module)):
            if name.startswith("tidemark.") and name != "tidemark.config":
                assert name.startswith(SHOWN), f"{module} imports {name}: let `tidemark.commands.dashboard` read it"
    assert not SPARK & loaded_by("tidemark.dashboard.app")


def test_only_the_host_of_the_dashboard_knows_airflow():
    airflow = [module for module in modules_in("dashboard") if any(is_airflow(n) for n in imported(path_of(module)))]
    assert airflow == ["tidemark.dashboard.airflow_host", "tidemark.dashboard.plugin"]
    assert "airflow" not in loaded_by("tidemark.dashboard.app")


def test_the_audit_is_small_and_imports_nothing_of_what_it_checks():
    files = sorted((JOBS / "tidemark_verify").glob("*.py"))
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= LONGEST_AUDIT
    outside = {name.split(".")[0] for path in files for name in imported(path)}
    assert outside <= sys.stdlib_module_names | {"tidemark_verify", "pyarrow", "numpy"}
    standalone = {name.split(".")[0] for name in imported(JOBS / "tidemark_verify" / "verify.py")}
    assert standalone <= sys.stdlib_module_names, "an auditor runs verify.py with Python alone"
    assert "tidemark" not in loaded_by("tidemark_verify.check")


# files


def tracked() -> list[Path]:
    """The text files of the project, generated and installed ones left out."""
    skipped = {
        ".git",
        ".venv",
        ".hypothesis",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        "__pycache__",
        "demo",
        "warehouse",
    }
    found = []
    for folder, folders, files in os.walk(ROOT):
        top = Path(folder) == ROOT
        folders[:] = [name for name in folders if name not in skipped or (name == "demo" and not top)]
        found += [
            Path(folder) / name
            for name in files
            if name not in skipped and not name.endswith((".pyc", ".parquet", ".gz", ".orc", ".png"))
        ]
    return found


def test_files_name_no_place_of_one_machine_and_no_registry():
    homes = "|".join(["/" + "root/", "/" + "home/", "/" + "Users/", "/" + "work/"])
    hosts = "|".join(
        ["pypi" + r"\.org", "python" + "hosted", r"repo1?\." + "maven", "maven" + r"\.org/maven2", "index-" + "url"]
    )
    wrong = re.compile(f"(?<![\\w.])(?:{homes})|{hosts}")
    for path in tracked():
        found = wrong.search(path.read_text(encoding="utf-8", errors="replace"))
        assert found is None, f"{path.relative_to(ROOT)} names {found[0] if found else ''}"


@pytest.mark.parametrize("folder", ["jobs", "dags", "tests", "bench"])
def test_modules_are_short(folder):
    for path in (ROOT / folder).rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        limit = LONGEST_MODULE if folder in {"jobs", "dags"} else 2 * LONGEST_MODULE
        assert lines <= limit, f"{path.relative_to(ROOT)} has {lines} lines: split it by what its parts do"


def code() -> Iterator[Path]:
    """The modules of both packages, and the DAG files."""
    yield from (*PACKAGE.rglob("*.py"), *(JOBS / "tidemark_verify").rglob("*.py"), *(ROOT / "dags").rglob("*.py"))


def test_functions_are_short():
    for path in code():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                assert lines <= LONGEST_FUNCTION, f"{path.relative_to(ROOT)}: {node.name} has {lines} lines"


def test_every_module_says_what_it_is_for():
    for path in code():
        text = path.read_text(encoding="utf-8")
        assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{path.relative_to(ROOT)} has no docstring"


def test_nothing_is_passed_over_in_silence():
    for path in code():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                silent = all(isinstance(each, ast.Pass) for each in node.body)
                assert not silent, f"{path.relative_to(ROOT)}:{node.lineno}: handle the error, or suppress it by name"


# installation


def project(folder: Path = ROOT) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(told: dict) -> list[str]:
    """What a distribution and its extras need."""
    return [*told["dependencies"], *chain.from_iterable(told["optional-dependencies"].values())]


def normal(requirement: str) -> str:
    return re.sub(r"[._-]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def test_the_version_is_the_same_everywhere():
    assert project()["version"] == project(JOBS)["version"] == tidemark.__version__
    ours = [each for each in requirements(project()) if normal(each) == "tidemark-light"]
    assert {each.partition("==")[2] for each in ours} == {tidemark.__version__}
    assert f"## {tidemark.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_lock_holds_every_dependency_with_hashes_and_no_index():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {normal(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    names = {normal(each) for each in (*requirements(project()), *requirements(project(JOBS)))}
    assert names - {"tidemark-light"} <= locked, "regenerate requirements.lock"
    for block in re.split(r"\n(?=\S)", text):
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert "://" not in text


def test_the_page_of_dependencies_is_that_of_the_locks():
    found = runpy.run_path(str(ROOT / ".ci" / "dependencies.py"))
    assert found["PAGE"].read_text(encoding="utf-8") == found["page"](), "run .ci/dependencies.py"


def test_what_security_promises_names_tests_that_are_there():
    named = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [each for each in named if not (ROOT / each).is_file()] == []


def test_the_readme_names_the_commands_that_the_makefile_has():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", makefile, re.MULTILINE))
    named = {
        "help",
        "install",
        "install-s3",
        "install-azure",
        "install-gcs",
        "demo",
        "airflow",
        "env",
        "test",
        "test-long",
        "test-spark",
        "soak",
    }
    named |= {"test-matrix", "build"}
    assert targets == named | {"mutants", "lint", "site", "bench", "bench-full", "bench-check"}
    assert set(re.findall(r"`make ([a-z0-9-]+)`", readme)) | {"help"} >= targets - {"help"}


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_the_example_of_the_readme_gives_what_it_says(tmp_path, monkeypatch):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(json|yaml)\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    blocks = {kind: "".join(text for each, text in found if each == kind) for kind in ("json", "yaml")}
    landing = tmp_path / "landing" / "readings"
    landing.mkdir(parents=True)
    (landing / "morning.json").write_text(blocks["json"])
    (tmp_path / "toll.yml").write_text(blocks["yaml"])
    monkeypatch.chdir(tmp_path)
    pipeline = tidemark.Pipeline.load("toll.yml")
    assert pipeline.warnings == []
    (batch,) = pipeline.run()["batches"]
    assert [batch[name] for name in ("rows", "on_time", "adjusted", "dropped", "quarantined")] == [5, 2, 1, 1, 1]
    fates = {row["offset"]: (row["disposition"], row["reasons"]) for row in pipeline.rows()["rows"]}
    assert [fates[offset] for offset in range(5)] == [
        ("on_time", []),
        ("on_time", []),
        ("adjusted", ["out_of_order"]),
        ("dropped", ["late"]),
        ("quarantined", ["invalid_time"]),
    ]
    for sentence in pipeline.explain("readings", "0", 2)["sentences"][1:]:
        assert sentence in readme, "the README tells another story than `explain`"
    assert pipeline.replay(all_batches=True)["identical"]
    assert pipeline.table("events/readings").count_rows() == 5
    pipeline.close()
    assert pipeline.table("streams/fast").to_table()["car"].to_pylist() == ["C"]
    (minute,) = pipeline.table("streams/per_minute").to_table().to_pylist()
    assert (minute["cars"], minute["fastest"]) == (3, 71.0)


def test_ci_runs_the_tests_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "for suite in test test-spark test-matrix test-long; do" in script, "long tests in the time that is left"
    assert 'make "$suite" ARGS="$options" CORNERS=one || {' in script, "a suite that fails must fail here"
    assert "\nmake lint ||" in script
    assert "export TIDEMARK_BROWSER=required" in script, "a missing browser must fail there"


# Delta's jars and Java


def test_the_jars_that_jobs_use_are_those_of_the_lock():
    from tidemark.spark.session.jars import installed_jars

    locked = {jar.file_name: jar for jar in jars.read_lock(ROOT / "jars.lock")}
    found = {path.name: path for path in installed_jars() if path.name != compiler.JAR}
    assert found.keys() == locked.keys(), "run `make install`"
    for name, path in found.items():
        assert jars.is_sound(path, locked[name]), f"{path} differs from jars.lock"


@pytest.mark.parametrize("service", SERVICES)
def test_the_jars_for_object_storage_are_those_of_their_lock(service):
    locked = {jar.file_name: jar for jar in jars.read_lock(ROOT / f"jars-{service}.lock")}
    found = {path.name: path for path in jars.store_jars([service])}
    assert found.keys() == locked.keys(), f"run `make install-{service}`"
    for name, path in found.items():
        assert jars.is_sound(path, locked[name]), f"{path} differs from jars-{service}.lock"


def test_jars_that_are_there_are_not_resolved_again(tmp_path, monkeypatch):
    lock = tmp_path / "jars.lock"
    lock.write_text(
        "# a comment\na.b:c:1.0 sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
    )
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "a.b_c-1.0.jar").write_text("test")
    (folder / "a.b_c-0.9.jar").write_text("of an older lock")
    monkeypatch.setattr(jars, "_resolve", lambda missing: pytest.fail(f"{missing} is there"))
    assert jars.install(lock, folder) == [folder / "a.b_c-1.0.jar"]
    assert [path.name for path in folder.iterdir()] == ["a.b_c-1.0.jar"]


def test_a_folder_with_other_files_is_refused_and_keeps_them(tmp_path, monkeypatch):
    """TIDEMARK_JARS may name a person's own folder, and the compiler's folder lies beside it."""
    lock = tmp_path / "jars.lock"
    lock.write_text(f"a.b:c:1.0 sha256:{'0' * 64}\n")
    monkeypatch.setattr(jars, "_resolve", lambda missing: pytest.fail(f"{missing} are resolved"))
    for name in ("mine.jar", "letters"):
        folder = tmp_path / name / "jars"
        folder.mkdir(parents=True)
        for each in ("a.b_c-0.9.jar", compiler.JAR, name):
            (folder / each).write_text("kept")
        with pytest.raises(TidemarkError, match=f"a folder of jars has other files in it: {name}"):
            jars.install(lock, folder)
        assert len(list(folder.iterdir())) == 3


def test_the_java_module_is_compiled_anew_when_its_sources_change(tmp_path, monkeypatch):
    sources, tools = tmp_path / "jvm", jars.jars_folder().with_name("tools")
    sources.mkdir()
    monkeypatch.setattr(compiler, "SOURCES", sources)
    (sources / "One.java").write_text("package tidemark; public class One { static int one() { return 1; } }")
    jar = compiler.compile_into(tmp_path, tools)
    first = jar.read_bytes()
    assert compiler.is_current(jar)
    monkeypatch.setattr(compiler, "compile_java", lambda *_: pytest.fail("it is current"))
    assert compiler.compile_into(tmp_path, tools).read_bytes() == first
    monkeypatch.undo()
    monkeypatch.setattr(compiler, "SOURCES", sources)
    (sources / "One.java").write_text("package tidemark; public class One { static int one() { return")
    assert not compiler.is_current(jar)
    with pytest.raises(TidemarkError, match=r"(?s)does not compile: .*One\.java"):
        compiler.compile_into(tmp_path, tools)


def test_a_class_that_has_a_public_way_is_left_out_where_it_does_not_compile(tmp_path, monkeypatch, capsys):
    folder = jars.jars_folder()
    without_delta = [jar for jar in compiler.spark_jars(folder) if not jar.name.startswith("io.delta_delta-spark_")]
    assert len(without_delta) == len(compiler.spark_jars(folder)) - 1
    monkeypatch.setattr(compiler, "spark_jars", lambda _: without_delta)
    jar = compiler.compile_into(tmp_path, folder.with_name("tools"))
    assert compiler.is_current(jar)
    assert compiler.left_out(jar) == ["tidemark.plans.TableAppend"]
    assert compiler.left_out(folder / compiler.JAR) == []
    with zipfile.ZipFile(jar) as packed, zipfile.ZipFile(folder / compiler.JAR) as whole:
        missing = set(whole.namelist()) - set(packed.namelist())
    assert {name.rpartition("/")[2].partition("$")[0].removesuffix(".class") for name in missing} == {"TableAppend"}
    monkeypatch.setattr(jars, "install", lambda *_: None)
    monkeypatch.setattr(jars, "install_ours", lambda _: jar)
    assert jars.main(["install", "jars.lock", str(tmp_path)]) == 0
    assert "TableAppend did not compile here" in capsys.readouterr().err


def test_jars_that_are_missing_or_older_than_the_code_are_told(tmp_path, monkeypatch):
    from tidemark.spark.session.jars import installed_jars

    monkeypatch.setenv("TIDEMARK_JARS", str(tmp_path))
    with pytest.raises(TidemarkError, match="older than the code"):
        installed_jars()


def test_a_jar_with_another_sum_is_refused(tmp_path, monkeypatch):
    lock, found = tmp_path / "jars.lock", tmp_path / "found.jar"
    lock.write_text(f"a.b:c:1.0 sha256:{'0' * 64}\n")
    found.write_text("test")
    monkeypatch.setattr(jars, "_resolve", lambda missing: [found for _ in missing])
    monkeypatch.setattr(jars, "require_java", lambda: None)
    with pytest.raises(TidemarkError, match=r"a\.b:c:1\.0 is not the jar of the lock file"):
        jars.install(lock, tmp_path / "jars")
    assert not list((tmp_path / "jars").iterdir())


def java_home(folder: Path, answer: str) -> dict[str, str]:
    """An environment with a stand-in for Java that answers so."""
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder), "PATH": os.environ["PATH"]}


@pytest.mark.parametrize("answer", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19 LTS'])
def test_java_that_spark_runs_on_is_accepted(tmp_path, answer):
    jars.require_java(java_home(tmp_path, answer))


@pytest.mark.parametrize(
    ("answer", "version"),
    [('java version "1.8.0_402"', "version 8"), ('openjdk version "11.0.2"', "version 11")],
)
def test_another_java_is_one_line_that_says_what_to_install(tmp_path, answer, version):
    with pytest.raises(TidemarkError, match=f"needs Java 17, 21 or 25; this one is .*{version}") as caught:
        jars.require_java(java_home(tmp_path, answer))
    assert caught.value.hint.startswith("install Java 17")


def test_a_java_that_does_not_start_is_one_line_with_what_it_says(tmp_path):
    said = "Error occurred during initialization of VM\nCould not reserve enough space"
    with pytest.raises(TidemarkError, match=f"Java does not start: {said}".replace("\n", " ")) as caught:
        jars.require_java(java_home(tmp_path, said))
    assert caught.value.hint.startswith("make `java -version` work")


def test_no_java_is_one_line_that_says_what_to_install(tmp_path):
    with pytest.raises(TidemarkError, match="Spark needs Java, and none was found"):
        jars.require_java({"PATH": str(tmp_path)})
    done = subprocess.run(
        [sys.executable, "-m", "tidemark.spark.session.jars", "check"],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(JOBS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
