"""Names that PySpark uses with each call are asked of the JVM once."""

from __future__ import annotations

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import functions as F


@pytest.mark.usefixtures("spark")
def test_a_function_that_was_called_before_is_called_without_looking_for_it(monkeypatch):
    F.coalesce(F.col("a"), F.lit(1))
    asked = []
    send = ClientServerConnection.send_command

    def listening(connection, command):
        asked.append(command)
        return send(connection, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", listening)
    column = F.coalesce(F.col("a"), F.lit(1))
    assert "coalesce(a, 1)" in str(column)
    assert any(command.startswith("c\n") for command in asked)
    assert [command for command in asked if command.startswith("r\n")] == []
