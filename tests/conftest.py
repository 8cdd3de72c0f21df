"""What all tests share: one Spark session, made when a test first asks for it, and the marks of whole folders."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.internal.conjecture.providers import Constants, HypothesisProvider

from interpreted import COMPILED, INTERPRETED, forget_tables, settings
from tidemark.config.scheduling.placement import CONF_VARIABLE
from tidemark.errors import TidemarkError
from tidemark.spark.session.jars import require_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER = "local[2]"
TESTS = Path(__file__).parent
SPARK_FOLDERS = {"spark", "e2e"}

logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs when objects are collected, after all output is closed
os.environ.setdefault("TIDEMARK_MASTER", MASTER)
os.environ.setdefault(CONF_VARIABLE, '{"spark.driver.memory": "3g"}')  # several sessions share the machine
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:+UseParallelGC")  # less work than the collector of a large heap
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("same")
HypothesisProvider._local_constants = Constants()
"""The same examples each time, so that a change alone makes a test fail; others with `--hypothesis-seed=N`. Without
the constants that Hypothesis finds in modules: examples would follow from which were loaded by the tests before."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--verify` checks every warehouse that a test leaves, and that it is what a trace of the model leaves.
    `--until` is for a run with little time: modules come in an order that `--order` chooses."""
    parser.addoption("--verify", action="store_true", help="check the warehouses that tests leave")
    parser.addoption("--until", type=float, help="seconds since 1970 after which no test begins; others are skipped")
    parser.addoption("--order", default="", help="any text: another order of modules for each")


@pytest.fixture(autouse=True)
def sound_warehouses(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With `--verify` a test fails if a warehouse that it leaves is not sound, or is not what a trace of the model of
    the protocol leaves (tests/sound_warehouses.py)."""
    if not request.config.getoption("verify"):
        yield
        return
    import sound_warehouses

    made = sound_warehouses.noticed(monkeypatch.setattr)
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if not sound_warehouses.damaged(request.node.name):
        assert list(sound_warehouses.faults(made, folder, request.node.name)) == []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the folders that need Java are marked `spark`, so that `-m "not spark"` runs the others alone."""
    for item in items:
        if SPARK_FOLDERS & set(item.path.relative_to(TESTS).parts[:-1]):
            item.add_marker(pytest.mark.spark)
    if order := config.getoption("order"):
        items.sort(key=lambda item: sha256(f"{order} {item.path.relative_to(TESTS)}".encode()).digest())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without Java such a test fails with the one line that says what to install; it is never skipped."""
    until = item.config.getoption("until")
    if until is not None and time.time() > until:
        pytest.skip("there was no time left")
    if item.get_closest_marker("spark") is None:
        return
    try:
        require_java()
    except TidemarkError as error:
        pytest.fail(f"{error.message} ({error.where}): {error.hint}", pytrace=False)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run in which every test was skipped has tested nothing: the same status as no test at all."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == pytest.ExitCode.OK and reporter is not None and not session.config.option.collectonly:
        ran = sum(len(reporter.stats.get(outcome, [])) for outcome in ("passed", "failed", "xfailed", "xpassed"))
        session.exitstatus = exitstatus if ran else pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The product's own session, one for all tests."""
    from tidemark.spark.session.session import open_session

    session = open_session(MASTER)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, for tests of many small runs."""
    with settings(spark, INTERPRETED):
        yield spark


@pytest.fixture
def compiled(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, for a test of compiled code: plans are compiled, in a module with `quick`, too."""
    with settings(spark, COMPILED):
        yield spark


@pytest.fixture
def public_ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All public ways instead of private parts of Spark and Delta, as TIDEMARK_PLAIN=1 chooses them."""
    from tidemark.spark.compat.plain import ASKED
    from tidemark.spark.session.session import open_session

    monkeypatch.setenv(ASKED, "1")
    open_session(MASTER)
    yield
    monkeypatch.delenv(ASKED)
    open_session(MASTER)


@pytest.fixture(params=["private", "public"])
def ways(request: pytest.FixtureRequest) -> str:
    """The test runs twice: with private parts of Spark and Delta, and with the public ways."""
    if request.param == "public":
        request.getfixturevalue("public_ways")
    return str(request.param)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Delta forgets the tables of a test when that ends."""
    yield
    forget_tables()


@pytest.fixture(autouse=True)
def plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks of runs are judged without Great Expectations, unless a test is about them (`expectations`)."""
    if "expectations" in request.fixturenames:
        return
    import plain_checks

    plain_checks.use(monkeypatch.setattr)


@pytest.fixture(scope="session", autouse=True)
def faults() -> Iterator[list[str]]:
    """Faults of the records that commands print and verbs return: each is validated against its command's schema."""
    import checked_records

    with pytest.MonkeyPatch.context() as patch:
        yield checked_records.use(patch.setattr)


@pytest.fixture(autouse=True)
def sound_records(faults: list[str]) -> Iterator[None]:
    """A test fails if one of its records is not as its schema says."""
    yield
    found = faults.copy()
    faults.clear()
    assert found == []


@pytest.fixture
def expectations() -> None:
    """Great Expectations judges the runs of a test."""


@pytest.fixture
def scattered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays from events read them in an order of their own, as from merged files that are read in pieces."""
    from pyspark.sql import functions as F

    from tidemark.spark.columns import ROW
    from tidemark.spark.rebuild import replay

    def mixed(*given: Any) -> DataFrame:
        return whole(*given).repartition(5, ROW).sortWithinPartitions(F.xxhash64(ROW))

    whole = replay.rows_of_events
    monkeypatch.setattr(replay, "rows_of_events", mixed)
