"""Counting what became of rows, where names of objects cannot be told apart by their hash."""

from __future__ import annotations

import pytest

from tidemark.spark import accounts

COLUMNS = (
    "_partition STRING, _offset BIGINT, _arrival_time TIMESTAMP, _event_time TIMESTAMP, _system_timestamp TIMESTAMP,"
    " _disposition STRING, _reasons ARRAY<STRING>, _file STRING, _raw STRING"
)


def events(spark, files):
    rows = []
    for number, name in enumerate(files):
        at = f"timestamp'2026-01-01 00:00:{number:02d}'"
        rows.append(f"SELECT '0', {number}L, {at}, {at}, {at}, 'on_time', array(), '{name}', NULL")
    frame = spark.sql(" UNION ALL ".join(rows))
    return spark.createDataFrame(frame.rdd, COLUMNS)


@pytest.mark.parametrize("shared", [False, True])
def test_rows_are_counted_by_object(spark, monkeypatch, shared):
    if shared:
        monkeypatch.setattr("tidemark.spark.accounts._hashed", accounts.F.length)
    told = accounts.report(events(spark, ["a", "b", "b"]), "s", ["a", "b"])
    assert told.files == {"a": (1, False), "b": (2, False)}
    assert told.partitions["0"].account.rows == 3
