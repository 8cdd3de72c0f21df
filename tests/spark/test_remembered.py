"""Names that PySpark uses with each call are asked of the JVM once."""

from __future__ import annotations

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import functions as F

from tidemark.spark.plans.static_plan import unadapted


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
    unadapted(spark.range(3), 1)
    asked = heard(monkeypatch)
    assert unadapted(spark.range(3), 1).count() == 3
    assert any("tidemark.Unadapted" in command for command in asked)
    assert [command for command in asked if command.startswith("r\n") and "tidemark" in command] == []
