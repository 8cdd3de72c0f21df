"""What is found of rows that break the rules of the events table is what the rules say, row by row."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from landed import source_of
from pyspark.sql import functions as F

from tidemark.core.quality import RowRule
from tidemark.spark.columns import OBJECT
from tidemark.spark.tables.fate_counter import FateCounter

ARRIVAL = 1_700_000_000_000_000
KINDS = (
    ("on_time", []),
    ("adjusted", ["late"]),
    ("adjusted", ["late", "out_of_order"]),
    ("dropped", ["late"]),
    ("quarantined", ["invalid_time"]),
)
LATE, EARLY = 5_000_000, 3_000_000
NEAR = (None, ARRIVAL - LATE - 1, ARRIVAL - LATE, ARRIVAL, ARRIVAL + EARLY, ARRIVAL + EARLY + 1)
BOTH = {
    "arrival_time": "arrived",
    "late_arrival": {"tolerance": f"{LATE}us", "action": "adjust"},
    "early_arrival": {"tolerance": f"{EARLY}us", "action": "adjust"},
}
TOLD = {"every": 10, "violations": "drop", "row": "tells"}
EDGE = {"kind": "kind", "start": "start", "end": "end", "end_time": "until", "match": ["p"]}
SOURCES = {
    "both": BOTH,
    "kept": BOTH | {"out_of_order": {"tolerance": "1s", "action": "keep"}},
    "late": BOTH | {"early_arrival": "off"},
    "early": BOTH | {"late_arrival": "off"},
    "edges": {"punctuation": TOLD, "shape": {"edge": EDGE}},
}


def broken(kind, times, policy, *, ends, tells):
    """The rules that one row breaks."""
    (fate, reasons), (arrival, event, stamp, watermark) = kind, times
    late, early, keep = policy
    if fate == "on_time" and stamp != event and not ends:
        yield RowRule.EVENT_TIME
    if (fate, len(reasons)) == ("adjusted", 1) and stamp == event:
        yield RowRule.MOVED
    if (fate in ("on_time", "adjusted")) != (stamp is not None):
        yield RowRule.JUDGED
    if stamp is None:
        return
    too_late = late is not None and arrival is not None and stamp < arrival - late
    too_early = early is not None and arrival is not None and stamp > arrival + early
    if too_late or (too_early and stamp != watermark):
        yield RowRule.WITHIN
    if not keep and not ends and not tells and watermark is not None and stamp < watermark:
        yield RowRule.NOT_BEHIND


@pytest.mark.parametrize("name", SOURCES)
def test_each_row_that_breaks_a_rule_is_found(spark, name):
    keys = {"timestamp_by": "t"} | SOURCES[name]
    schema = "p STRING, t TIMESTAMP, arrived TIMESTAMP, kind STRING, until TIMESTAMP, tells BOOLEAN"
    source = source_of(Path("landing"), schema, **keys)
    late, early = (each and each.micros for each in (source.policy.late, source.policy.early))
    policy = (late, early, name == "kept")
    edges = name == "edges"
    rows, expected = [], {rule: [] for rule in RowRule}
    marks = [(False, False), (True, False), (False, True)] if edges else [(False, False)]
    drawn = product(KINDS, (None, ARRIVAL), (None, ARRIVAL), NEAR, (None, *NEAR[2:]), marks)
    for offset, (kind, arrival, event, stamp, watermark, (ends, tells)) in enumerate(drawn):
        times = (arrival, event, stamp, watermark)
        rows.append(("0", offset, *times, ARRIVAL if ends else None, *kind, "f", None, 0, tells))
        for rule in broken(kind, times, policy, ends=ends, tells=tells):
            expected[rule].append(offset)
    names = ("_arrival_time", "_event_time", "_system_timestamp", "_watermark", "_end_time")
    frame = spark.createDataFrame(
        rows,
        f"_partition STRING, _offset BIGINT, {', '.join(f'{each} BIGINT' for each in names)}, _disposition STRING,"
        f" _reasons ARRAY<STRING>, _file STRING, _raw STRING, {OBJECT} INT, tells BOOLEAN",
    ).withColumns({each: F.timestamp_micros(each) for each in names})
    tally = FateCounter(spark, source, ["f"])
    tally.counted(frame).foreach(lambda _: None)
    found = tally.counts().partitions["0"].broken
    assert {rule: (each.rows, each.offsets) for rule, each in found.items()} == {
        rule: (len(offsets), tuple(offsets[:5])) for rule, offsets in expected.items() if offsets
    }
    assert found, "no row breaks a rule"
