"""Versions and settings that results may depend on, besides rows and configuration; recorded with every batch.

Nothing here imports Spark, so that a run without rows can record it without a JVM.
"""

from __future__ import annotations

import json
from importlib.metadata import version

import tidemark
from tidemark.config.models.sources import READING
from tidemark.spark.compat.plain import ASKED, is_asked_for
from tidemark.spark.session.compiler import fingerprint
from tidemark.spark.session.zone_database import database

ARITHMETIC = "spark.tidemark.arithmetic"
"""Setting that names the rule for whole numbers. `EXACT`: a result that does not fit its type is null. `WRAPPING`: it
wraps, as in batches that recorded no rule."""
EXACT, WRAPPING = "exact", "wrapping"

RESULT_SETTINGS = {
    ARITHMETIC: EXACT,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.orc.filterPushdown": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.json.enableExactStringParsing": "false",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.optimizer.enableJsonExpressionOptimization": "false",
    "spark.sql.optimizer.enableCsvExpressionOptimization": "false",
    "spark.sql.execution.replaceHashWithSortAgg": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
"""Settings that results or the readability of tables depend on; recorded with every batch. Without `java8API`,
filters and functions would use Java's older dates, which lack 1582-10-05 to 1582-10-14."""

PAGES = {"delta.parquet.format.version": "2.12.0"}
"""Table property: the version of Parquet that tables are made with (docs/decisions/parquet-pages.md); recorded, too.
Pages of the second version need statistics of each column: without them they state a wrong number of nulls, which not
all readers overlook."""

_PACKAGES = ("pyspark", "delta-spark", "deltalake")
_MODULE, _ZONES = "Java module", "zone database"
_DIGITS = 12


def engine() -> str:
    """The versions and settings in force, as JSON. It has `plain` only where the environment chooses public ways: a
    missing class follows from the versions."""
    versions = {"tidemark": tidemark.__version__} | {name: version(name) for name in _PACKAGES}
    versions |= {_MODULE: fingerprint()[:_DIGITS], _ZONES: database()}
    known = {"versions": versions, "settings": RESULT_SETTINGS | PAGES, "reading": READING}
    return json.dumps(known | ({"plain": True} if is_asked_for() else {}))


def reading_of(recorded: str) -> int:
    """Version of the reading rules of a recorded engine; 1 if it recorded none."""
    return int(json.loads(recorded).get("reading", 1))


def arithmetic_of(recorded: str) -> str:
    """Rule for whole numbers of a recorded engine; `WRAPPING` if it recorded none."""
    return str(json.loads(recorded).get("settings", {}).get(ARITHMETIC, WRAPPING))


def changed(recorded: str) -> list[str]:
    """Differences between a recorded engine and this one, a sentence each. Rules of reading and of arithmetic are
    left out: a replay uses the recorded ones."""
    now, then = json.loads(engine()), json.loads(recorded)
    del now["reading"], now["settings"][ARITHMETIC]
    then["settings"] = PAGES | then.get("settings", {})  # earlier batches had these, too, unrecorded
    for name in {_MODULE, _ZONES} - then["versions"].keys():
        del now["versions"][name]
    for each in (now, then):
        each["plain"] = {ASKED: each.get("plain", False)}
    return [
        f"{name} was {then.get(part, {}).get(name)}, is {value}"
        for part, values in now.items()
        for name, value in values.items()
        if then.get(part, {}).get(name) != value
    ]
