"""Runs tidemark in a Spark session of its own beside the caller's, and restores the caller's when a verb ends.

A caller's session keeps its settings, catalog and functions. Settings of the whole JVM (the default time zone and
locale, checksums of local files) are changed for the length of a verb.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tidemark.config.scheduling.placement import HARMLESS
from tidemark.errors import TidemarkError
from tidemark.spark.compat.jvm import active_context, running
from tidemark.spark.compat.sessions import (
    DELTA_CLASS,
    activate,
    first_session,
    forget_ended_jvm,
    verify_checksums,
)
from tidemark.spark.session.compiler import FINGERPRINT, JAR, fingerprint
from tidemark.spark.session.jars import jars_folder
from tidemark.spark.session.versions import require_spark

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Static settings without which a session cannot write Delta tables."""

_CATALOGS = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "spark.sql.hive.")
"""Settings that say where tables with names are."""
_OF_TABLES = "spark.databricks.delta.properties.defaults."
"""Settings that give new tables other properties."""
_own: dict[SparkContext, SparkSession] = {}
"""tidemark's session, by the application that runs."""
_zones: list[Any] = []
"""The JVM's default time zone before tidemark set another; empty unless it has."""
_locales: list[Any] = []
"""The JVM's default locales before tidemark set another: of texts, formats and names; empty unless it has."""


def refuse_connect() -> None:
    """Raise TidemarkError where PySpark is set to use a Spark Connect server: our functions run in a JVM of ours."""
    if os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        raise TidemarkError(
            "tidemark can't run through Spark Connect: its functions run in the JVM of the driver",
            where="SPARK_REMOTE",
            hint="unset SPARK_REMOTE; TIDEMARK_MASTER=spark://HOST:PORT names a cluster, or use spark-submit",
        )


def session_of_caller() -> SparkSession | None:
    """The session of this process, whoever opened it; None if there is none."""
    context = active_context()
    return None if context is None else SparkSession.getActiveSession() or first_session() or SparkSession(context)


def own_session(beside: SparkSession, keep: Collection[str]) -> SparkSession:
    """Return tidemark's session, one in each application, and make it the active one.

    Settings that results or tables may depend on have Spark's defaults, whatever spark-defaults.conf or the caller
    gave the application, except those to `keep`. Raises TidemarkError if the application lacks Delta or our
    functions.
    """
    context = beside.sparkContext
    if context not in _own:
        _ensure_equipped(beside)
        _own.clear()
        _zones.clear()
        _locales.clear()
        _own[context] = _with_defaults(beside.newSession(), keep)
    activate(_own[context])
    _use_english()
    return _own[context]


def use_utc() -> None:
    """Make UTC the default time zone of the JVM until the verb ends."""
    zones = running().java.util.TimeZone
    if not _zones:
        _zones.append(zones.getDefault())
    zones.setDefault(zones.getTimeZone("UTC"))


def _with_defaults(session: SparkSession, keep: Collection[str]) -> SparkSession:
    for key in session.conf.getAll:
        ours = key in keep or key.startswith((*HARMLESS, *_CATALOGS))
        if not ours and (
            key.startswith(_OF_TABLES) or (key.startswith("spark.sql.") and session.conf.isModifiable(key))
        ):
            session.conf.unset(key)
    return session


def _use_english() -> None:
    """Make English the default locale of the JVM until the verb ends. Spark's lower(), upper() and initcap() follow
    the default (Turkish, Greek, Dutch), and Delta writes the numbers in its files' names in the default's digits."""
    locales = running().java.util.Locale
    if not _locales:
        _locales.extend([locales.getDefault(), *map(locales.getDefault, _categories())])
    locales.setDefault(locales.US)


def _categories() -> tuple[Any, Any]:
    category = getattr(running().java.util, "Locale$Category")
    return category.FORMAT, category.DISPLAY


def session_before() -> SparkSession | None:
    """The session that is active before a verb, for `put_back` after the verb; None without one. A JVM that has ended
    is forgotten, so that the verb can start another."""
    forget_ended_jvm()
    return None if active_context() is None else SparkSession.getActiveSession()


def put_back(session: SparkSession | None, whole: bool = True) -> None:
    """Make the session that was active before a verb (None: the application's first) the active one again and, if
    `whole`, restore the JVM's settings. Changes nothing if tidemark's own session was active or the JVM ended."""
    if active_context() not in _own or session in _own.values():
        return
    with suppress(ConnectionError, Py4JNetworkError):
        _put_back(session, whole)


def _put_back(session: SparkSession | None, whole: bool) -> None:
    if whole and _zones:
        running().java.util.TimeZone.setDefault(_zones.pop())
        verify_checksums(True)
    if whole and _locales:
        _put_back_locales()
    root = session or first_session()
    if root is not None:
        activate(root)


def _put_back_locales() -> None:
    locales, (whole, *parts) = running().java.util.Locale, _locales
    locales.setDefault(whole)
    for category, before in zip(_categories(), parts, strict=True):
        locales.setDefault(category, before)
    _locales.clear()


def _ensure_equipped(session: SparkSession) -> None:
    require_spark(session.version, f"application {session.sparkContext.appName}")
    missing = [f"{key}={value}" for key, value in _DELTA.items() if value not in str(session.conf.get(key, ""))]
    loader = running().java.lang.Thread.currentThread().getContextClassLoader()
    for name in ("tidemark.count.EventCounts", DELTA_CLASS):
        try:
            loader.loadClass(name)
        except Py4JJavaError:
            missing.append(f"the class {name}")
    found = loader.getResourceAsStream(FINGERPRINT)
    if found is not None and bytes(found.readAllBytes()).decode() != fingerprint():
        missing.append(f"the {JAR} of this tidemark, and has one of another")
    if missing:
        raise TidemarkError(
            f"the Spark session of this process can't be used: it lacks {', '.join(missing)}",
            where=f"application {session.sparkContext.appName}",
            hint=f"stop it, so that tidemark starts its own, or start it with these settings and spark.jars="
            f"{jars_folder() / '*.jar'} (each file by name, commas between)",
        )
