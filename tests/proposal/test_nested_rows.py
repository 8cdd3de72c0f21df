"""What `init` proposes where files name columns otherwise, or nest rows in documents."""

from __future__ import annotations

import json

import pytest
from landing_files import lines, put
from test_init import HOURS, ROWS, at, landing, only, texts

__all__ = ["landing"]


def test_members_that_no_column_can_be_named_after_are_mapped(landing):
    put(landing / "a.json", lines(row | {"_offset": 1, "Event, type: x": 2} for row in texts(0)), at(0))
    record, written = only(landing)
    assert record["left_out"] == {}
    assert written["header_columns"] == {"_offset": "offset", "Event, type: x": "Event_type_x"}
    assert written["schema"].endswith("offset BIGINT, Event_type_x BIGINT")


def test_a_header_that_no_schema_can_have_is_mapped(landing):
    put(landing / "a.csv", "User Name,Event Type,Page\n" + "".join(f"u{n},click,/p{n}\n" for n in range(9)))
    record, written = only(landing)
    assert written["schema"] == "User_Name STRING, Event_Type STRING, Page STRING"
    assert written["header_columns"] == {"User Name": "User_Name", "Event Type": "Event_Type"}
    assert written["options"]["header"] == "true"
    assert record["sampled"]["rows"] == 9


@pytest.mark.parametrize(
    ("wrap", "keys"),
    [
        (lambda rows: json.dumps({"v": {"a": "[{"}, "Records": rows}, indent=1), {"rows": "Records[]"}),
        (
            lambda rows: json.dumps({"Records": rows[:9]}) + "\n" + json.dumps({"Records": rows[9:]}),
            {"rows": "Records[]"},
        ),
        (lambda rows: json.dumps(rows, indent=2), {"rows": "[]"}),
        (lambda rows: "[" + ",\n".join(map(json.dumps, rows)) + "]", {"rows": "[]"}),
        (lambda rows: "".join(json.dumps(row, indent=4) + "\n" for row in rows), {"options": {"multiLine": "true"}}),
    ],
    ids=["records", "records on lines", "array", "array of lines", "documents over lines"],
)
def test_rows_in_documents_are_found(landing, wrap, keys):
    put(landing / "a.json", wrap(texts(0)), at(0))
    record, written = only(landing)
    assert {key: written.get(key) for key in keys} == keys
    assert written["schema"] == "event_time TIMESTAMP, received_at TIMESTAMP, device STRING"
    assert written["timestamp_by"] == "event_time"
    assert (record["sampled"]["rows"], record["sampled"]["unread"]) == (ROWS, 0)


def test_the_first_rows_of_a_document_longer_than_the_sample_are_found(landing):
    rows = [row | {"text": "x" * 2000} for hour in HOURS for row in texts(hour)]
    put(landing / "a.json", json.dumps({"Records": rows}, indent=1), at(0))
    record, written = only(landing)
    assert written["rows"] == "Records[]"
    assert record["sampled"]["rows"] > ROWS
