"""Streams that are added later have the outputs that they would have had from the first run on, from a time on that
each records: none lacks a row of a stream that was added with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samples import feed
from test_joins import dense
from test_streams import hold_replayed

from product import Product, micros

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick")]
COUNTED, SUMMED = {"select": {"n": "count(*)"}}, {"select": {"n": "sum(n)", "w": "count(*)"}}
STREAMS: dict[str, dict[str, Any]] = {
    "tumbled": {"from": "a", "tumbling": "2s", **COUNTED},
    "of_tumbled": {"from": "tumbled", "tumbling": "6s", **SUMMED},
    "of_of_tumbled": {"from": "of_tumbled", "hopping": {"size": "12s", "hop": "6s"}, **SUMMED},
    "visits": {"from": "a", "session": {"gap": "1s", "max_duration": "6s"}, "group_by": ["k"], **COUNTED},
    "of_visits": {"from": "visits", "hopping": {"size": "4s", "hop": "2s"}, **SUMMED},
    "alive": {"from": "visits", "snapshot": {}, **SUMMED},
    "later": {"from": "tumbled", "shift": "1s", "publish": True},
    "looking": {"from": "later", "preceding": {"within": "5s", "select": {"before": "sum(n)"}}, "publish": True},
    "parted": {"from": "a", "tumbling": "2s", "partition_by": "partition", **COUNTED},
    "of_parted": {
        "from": "parted",
        "session": {"gap": "1s", "max_duration": "6s"},
        "partition_by": "partition",
        **SUMMED,
    },
    "divided": {"from": "a", "session": {"gap": "1s", "max_duration": "6s"}, "partition_by": "partition", **COUNTED},
    "unvisited": {"join": ["tumbled", "visits"], "how": "anti", "on": ["n"], "select": {"n": "tumbled.n"}},
}


def written(product: Product, name: str) -> list[tuple[Any, ...]]:
    """Rows of a stream: end, start, values; without the batches that wrote them."""
    rows = product.table(f"streams/{name}")
    times = (
        ("_window_end", "_window_start") if rows and "_window_end" in rows[0] else ("_end_time", "_system_timestamp")
    )
    values = [key for key in ("_partition", "k", "n", "w", "before") if rows and key in rows[0]]
    return sorted((*(micros(row[time]) for time in times), *(str(row[key]) for key in values)) for row in rows)


def test_outputs_of_streams_that_were_added_lack_nothing(tmp_path: Path) -> None:
    logs = dense(9, runs=4)
    sources = {name: source for name, (source, _) in logs.items()}
    full, added = Product(tmp_path / "full", sources, {"streams": STREAMS}), Product(tmp_path / "added", sources)
    feed(full, logs)
    feed(added, {name: (source, runs[:2]) for name, (source, runs) in logs.items()})
    added.settings["streams"] = STREAMS
    added.write()
    feed(added, {name: (source, runs[2:]) for name, (source, runs) in logs.items()})
    ledger = added.pipeline().ledger
    (last,) = ledger.batches(ledger.last().committed_through, ledger.last().committed_through)
    begins = {name: end.state.begins for name, end in last.streams.items()}
    for name in STREAMS:
        begun = begins[name]
        assert begun is not None
        expected = [row for row in written(full, name) if row[0] > begun]
        assert expected, name
        assert written(added, name) == expected, name
        assert len(expected) < len(written(full, name)), name
    hold_replayed(added)
