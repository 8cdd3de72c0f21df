"""Columns of tables by the columns that they are made from."""

from __future__ import annotations

from tidemark.config.column_lineage import events_lineage, streams_lineage

SCHEMA = "id STRING, t TIMESTAMP, v DOUBLE, place STRUCT<lane: STRING>"
STREAMS = {
    "fast": {
        "from": "readings",
        "where": "v > 1",
        "select": {"id": "id", "V2": "v * 2", "lane": "place.lane", "one": "1"},
    },
    "other": {
        "from": "readings",
        "select": {"id": "upper(id)", "V2": "hour(t) * 1.5D", "lane": "place.lane", "one": "2"},
    },
    "all": {"union": ["fast", "other"]},
    "hours": {"from": "all", "tumbling": "1h", "group_by": ["id"], "select": {"n": "count(*)", "most": "max(v2)"}},
    "days": {"from": "hours", "tumbling": "1d", "select": {"top": "max(most)", "since": "min(_window_start)"}},
    "pairs": {
        "join": ["fast", "hours"],
        "on": ["id"],
        "select": {"id": "fast.id", "both": "fast.V2 + hours.most", "at": "hours._system_timestamp"},
    },
}


def made(lineage):
    return {
        name: (sorted((each.source, each.name) for each in column.inputs), column.derivation.value)
        for name, column in lineage.items()
    }


def test_columns_of_events_come_from_landed_ones_under_their_names_in_files(files):
    source = files.source(
        schema=SCHEMA,
        header_columns={"Time": "t"},
        timestamp_by="t",
        late_arrival={"tolerance": "1h", "action": "adjust"},
        partition={"column": "place.lane"},
        partitions=["a"],
        over=["upper(id)"],
    )
    found = made(events_lineage(source))
    assert found["id"] == ([("readings", "id")], "identity")
    assert found["t"] == found["_event_time"] == ([("readings", "Time")], "identity")
    assert found["_partition"] == ([("readings", "place")], "transformation")
    assert found["_substream"] == ([("readings", "id")], "transformation")
    assert "_arrival_time" not in found


def test_columns_may_have_names_that_are_words_of_the_grammar(files):
    source = files.source(
        schema="when TIMESTAMP, case STRING, select STRING, not BOOLEAN",
        timestamp_by="when",
        late_arrival={"tolerance": "1h", "action": "adjust"},
        partition={"column": "case"},
        partitions=["a"],
        over=["upper(`select`)"],
    )
    found = made(events_lineage(source))
    assert found["_event_time"] == ([("readings", "when")], "identity")
    assert found["_partition"] == ([("readings", "case")], "identity")
    assert found["_substream"] == ([("readings", "select")], "transformation")


def test_columns_of_streams_come_from_events_through_all_steps(files):
    late = {"tolerance": "1h", "action": "adjust"}
    spec = files.spec({"streams": STREAMS}, schema=SCHEMA, timestamp_by="t", late_arrival=late)
    found = {name: made(lineage) for name, lineage in streams_lineage(spec).items()}
    assert found["all"]["id"] == ([("readings", "id")], "transformation")
    assert found["all"]["V2"] == ([("readings", "t"), ("readings", "v")], "transformation")
    assert found["all"]["lane"] == found["fast"]["lane"]
    assert found["fast"]["id"] == ([("readings", "id")], "identity")
    assert found["fast"]["V2"] == ([("readings", "v")], "transformation")
    assert found["fast"]["lane"] == ([("readings", "place")], "transformation")
    assert found["fast"]["one"] == ([], "transformation")
    assert found["hours"] == {
        "id": ([("readings", "id")], "transformation"),
        "n": ([], "aggregation"),
        "most": ([("readings", "t"), ("readings", "v")], "aggregation"),
    }
    assert found["days"] == {
        "top": ([("readings", "t"), ("readings", "v")], "aggregation"),
        "since": ([("readings", "_end_time"), ("readings", "_system_timestamp")], "aggregation"),
    }
    assert found["pairs"] == {
        "id": ([("readings", "id")], "identity"),
        "both": ([("readings", "t"), ("readings", "v")], "aggregation"),
        "at": ([("readings", "_end_time"), ("readings", "_system_timestamp")], "aggregation"),
    }
