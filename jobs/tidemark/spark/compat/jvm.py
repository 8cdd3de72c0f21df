"""Handles of the JVM, its data frames and columns: private attributes of PySpark and py4j.

Functions that need the running JVM raise RuntimeError without an open Spark session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.java_collections import ListConverter
from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


def active_context() -> SparkContext | None:
    """The Spark context of this process; None if there is none or it was stopped."""
    context = SparkContext._active_spark_context
    return None if context is None or context._jsc is None else context


def _open_context() -> SparkContext:
    context = active_context()
    if context is None or context._jvm is None or context._gateway is None:
        raise RuntimeError("no Spark session is open")
    return context


def running() -> Any:  # noqa: ANN401 # py4j has no types
    """The JVM of the running session."""
    return _open_context()._jvm


def hadoop_configuration() -> Any:  # noqa: ANN401 # py4j has no types
    """Hadoop's configuration of the running application."""
    jsc: Any = _open_context()._jsc
    return jsc.hadoopConfiguration()


def context_of(spark: SparkSession) -> JavaObject:
    """The JVM's SparkContext, as Scala's classes take it."""
    context: JavaObject = spark._jsparkSession.sparkContext()
    return context


def session_of(spark: SparkSession) -> JavaObject:
    """The JVM's session."""
    return spark._jsparkSession


def rows_of(frame: DataFrame) -> JavaObject:
    """The JVM's data frame."""
    return frame._jdf


def frame_of(rows: JavaObject, spark: SparkSession) -> DataFrame:
    """A data frame from the JVM's."""
    return DataFrame(rows, spark)


def scala_columns(columns: Sequence[Column]) -> JavaObject:
    """Columns as a Scala sequence."""
    return scala_sequence([column._jc for column in columns])


def scala_sequence(items: Sequence[Any]) -> JavaObject:
    """Texts, numbers or Java objects as a Scala sequence."""
    made: JavaObject = running().PythonUtils.toSeq(list(items))
    return made


def scala_map(items: Mapping[str, str]) -> JavaObject:
    """Texts by name as a Scala map."""
    made: JavaObject = running().PythonUtils.toScalaMap(dict(items))
    return made


def java_list(items: Iterable[Any]) -> JavaObject:
    """Texts, numbers or Java objects as a Java list."""
    gateway: Any = _open_context()._gateway
    made: JavaObject = ListConverter().convert(list(items), gateway._gateway_client)
    return made


def java_longs(numbers: Sequence[int]) -> JavaObject:
    """Numbers as a Java array of 64-bit integers."""
    gateway: Any = _open_context()._gateway
    made: JavaObject = gateway.new_array(running().long, len(numbers))
    for index, number in enumerate(numbers):
        made[index] = number
    return made
