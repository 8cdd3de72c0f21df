"""Names that PySpark uses with each call are asked of the JVM once."""

from __future__ import annotations

import pytest
from py4j.clientserver import ClientServerConnection
from py4j.protocol import Py4JError
from pyspark.sql import functions as F

from tidemark.spark.compat.jvm import running
from tidemark.spark.plans.bind import simplified


def heard(monkeypatch):
    """What is asked of the JVM from now on."""
    asked = []
    send = ClientServerConnection.send_command

    def listening(connection, command):
        asked.append(command)
        return send(connection, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", listening)
    return asked


@pytest.mark.usefixtures("spark")
def test_a_function_that_was_called_before_is_called_without_looking_for_it(monkeypatch):
    F.coalesce(F.col("a"), F.lit(1))
    asked = heard(monkeypatch)
    column = F.coalesce(F.col("a"), F.lit(1))
    assert "coalesce(a, 1)" in str(column)
    assert any(command.startswith("c\n") for command in asked)
    assert [command for command in asked if command.startswith("r\n")] == []


def test_so_are_our_own_classes(spark, monkeypatch):
    simplified(spark.range(3))
    asked = heard(monkeypatch)
    assert simplified(spark.range(3)).count() == 3
    assert any("tidemark.plans.SimplifiedPlan" in command for command in asked)
    assert [command for command in asked if command.startswith("r\n") and "tidemark" in command] == []


@pytest.mark.usefixtures("spark")
def test_so_are_packages_and_classes_of_others(monkeypatch):
    def expression() -> object:
        return running().org.apache.spark.sql.classic.ExpressionUtils.expression(F.lit(1)._jc)

    assert "expression" in expression().sql()
    asked = heard(monkeypatch)
    assert "expression" in expression().sql()
    assert [command for command in asked if command.startswith("r\n")] == []


@pytest.mark.usefixtures("spark")
def test_what_is_neither_a_class_nor_a_package_is_an_error_each_time():
    for _ in range(2):
        with pytest.raises(TypeError, match="not callable"):
            running().org.apache.spark.NoSuchClass()
        with pytest.raises(Py4JError, match="noSuchMethod"):
            running().java.lang.Math.noSuchMethod()
