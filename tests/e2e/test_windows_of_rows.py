"""Sessions, sliding windows and snapshots of the product are those of the oracle, run by run, to the last bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from samples import WhileClosing, at, drawn, feed
from test_streams import (
    KEPT,
    KEYED,
    Logs,
    cases,
    columns_of,
    far_apart,
    hold_replayed,
    hold_told,
    letters,
    payload,
    wanted,
    wanted_letters,
    written,
)

from oracle import SECOND, Obj, Row, Run, Source
from oracle_measured import Measured
from oracle_streams import Item, Step, Window, flow
from product import Product
from strategies import BASE, recuts, sources, wide_lawful_logs
from tidemark.runner.stream_progress import StreamProgress

_examples = iter(range(1_000_000))


def told(items: Sequence[Item]) -> dict[str, Any]:
    """What `SELECTED` says of a window's rows; the total is summed up in the order of the sort key."""
    keys = [item.payload["k"] for item in items]
    total = 0.0
    for item in items:
        total += float(item.event or 0) / 7.0
    known = [key for key in keys if key is not None]
    once = list(dict.fromkeys(known))
    return {"n": len(keys), "keys": known, "once": once, "first": keys[0], "total": total}


def added(items: Sequence[Item]) -> dict[str, Any]:
    return {"n": sum(item.payload["n"] for item in items), "ns": [item.payload["n"] for item in items]}


SELECTED = {
    "n": "count(*)",
    "keys": "collect_list(k)",
    "once": "collect_list(DISTINCT k)",
    "first": "first(k)",
    "total": "sum(unix_micros(_event_time) / 7)",
}
ADDED = {"n": "sum(n)", "ns": "collect_list(n)"}
VISITS = {"gap": "2s", "max_duration": "6s"}
CONFIGURED: dict[str, dict[str, Any]] = {
    "visits": {"from": "a", "session": VISITS, "group_by": ["k"], "select": SELECTED},
    "patient": {
        "from": "a",
        "where": "k IS NULL OR k <> 'a'",
        "session": {"gap": "3s", "max_duration": "9s"},
        "select": SELECTED,
        "allowed_lateness": "2s",
    },
    "long": {"from": "a", "session": {"gap": "3s"}, "group_by": ["k"], "select": SELECTED},
    "of_long": {"from": "long", "tumbling": "6s", "select": ADDED},
    "moving": {"from": "a", "sliding": "4s", "group_by": ["k"], "select": SELECTED, "allowed_lateness": "1s"},
    "longer": {"from": "a", "shift": "-3s"},
    "longest": {"from": "longer", "lifetime": "2s"},
    "both": {"union": ["b", "longest", "a", "b"]},
    "alive": {"from": "both", "snapshot": {}, "select": SELECTED},
    "tumbled": {"from": "b", "tumbling": "4s", "select": SELECTED},
    "of_tumbled": {"from": "tumbled", "session": {"gap": "1s", "max_duration": "10s"}, "select": ADDED},
    "of_visits": {"from": "visits", "tumbling": "6s", "select": ADDED},
    "alive_visits": {"from": "visits", "snapshot": {}, "select": ADDED},
    "idle": {"from": "a", "session": VISITS, "group_by": ["k"], "select": SELECTED, "idle_timeout": "4s"},
    "idle_long": {
        "from": "a",
        "session": {"gap": "3s"},
        "select": SELECTED,
        "allowed_lateness": "1s",
        "idle_timeout": "4s",
    },
    "long_parts": {
        "from": "longer",
        "session": {"gap": "3s"},
        "group_by": ["k"],
        "select": SELECTED,
        "partition_by": "partition",
        "allowed_lateness": "1s",
    },
    "of_long_parts": {"from": "long_parts", "tumbling": "3s", "select": ADDED, "partition_by": "partition"},
    "idle_moving": {
        "from": "longer",
        "sliding": "4s",
        "select": SELECTED,
        "allowed_lateness": "1s",
        "idle_timeout": "3s",
    },
    "idle_of_tumbled": {"from": "tumbled", "snapshot": {}, "select": ADDED, "idle_timeout": "2s"},
    "parts": {
        "from": "longer",
        "session": VISITS,
        "group_by": ["k"],
        "select": SELECTED,
        "partition_by": "partition",
        "allowed_lateness": "1s",
    },
    "of_parts": {"from": "parts", "tumbling": "3s", "select": ADDED, "partition_by": "partition"},
    "alive_parts": {"from": "parts", "snapshot": {}, "select": ADDED, "partition_by": "partition"},
    "idle_parts": {
        "from": "longest",
        "snapshot": {},
        "select": SELECTED,
        "partition_by": "partition",
        "idle_timeout": "3s",
    },
    "tumbled_parts": {"from": "a", "tumbling": "2s", "select": SELECTED, "partition_by": "partition"},
    "of_tumbled_parts": {
        "from": "tumbled_parts",
        "session": {"gap": "1s", "max_duration": "8s"},
        "select": ADDED,
        "partition_by": "partition",
    },
    "keyed": {
        "from": "a",
        "session": VISITS,
        "select": SELECTED,
        "partition_by": "substream",
        "idle_timeout": "5s",
    },
    "of_keyed": {"from": "keyed", "tumbling": "3s", "select": ADDED, "partition_by": "substream"},
    "alive_keyed": {"from": "keyed", "snapshot": {}, "select": ADDED, "partition_by": "substream"},
    "after_keyed": {"from": "keyed", "tumbling": "4s", "select": ADDED},
}
STEPS = {
    "visits": Step(("a",), measured=Measured(session=(2 * SECOND, 6 * SECOND), group_by=("k",), aggregate=told)),
    "patient": Step(
        ("a",),
        where=lambda item: item.payload["k"] != "a",
        measured=Measured(session=(3 * SECOND, 9 * SECOND), aggregate=told, allowed_lateness=2 * SECOND),
    ),
    "long": Step(("a",), measured=Measured(session=(3 * SECOND, None), group_by=("k",), aggregate=told)),
    "of_long": Step(("long",), window=Window(6 * SECOND, 6 * SECOND, aggregate=added)),
    "moving": Step(
        ("a",), measured=Measured(size=4 * SECOND, group_by=("k",), aggregate=told, allowed_lateness=SECOND)
    ),
    "longer": Step(("a",), shift=-3 * SECOND),
    "longest": Step(("longer",), lifetime=2 * SECOND),
    "both": Step(("b", "longest", "a", "b")),
    "alive": Step(("both",), measured=Measured(aggregate=told)),
    "tumbled": Step(("b",), window=Window(4 * SECOND, 4 * SECOND, aggregate=told)),
    "of_tumbled": Step(("tumbled",), measured=Measured(session=(SECOND, 10 * SECOND), aggregate=added)),
    "of_visits": Step(("visits",), window=Window(6 * SECOND, 6 * SECOND, aggregate=added)),
    "alive_visits": Step(("visits",), measured=Measured(aggregate=added)),
    "idle": Step(
        ("a",),
        measured=Measured(session=(2 * SECOND, 6 * SECOND), group_by=("k",), aggregate=told, idle_timeout=4 * SECOND),
    ),
    "idle_long": Step(
        ("a",),
        measured=Measured(
            session=(3 * SECOND, None), aggregate=told, allowed_lateness=SECOND, idle_timeout=4 * SECOND
        ),
    ),
    "long_parts": Step(
        ("longer",),
        measured=Measured(
            session=(3 * SECOND, None),
            group_by=("k",),
            aggregate=told,
            partition_by="partition",
            allowed_lateness=SECOND,
        ),
    ),
    "of_long_parts": Step(
        ("long_parts",),
        window=Window(3 * SECOND, 3 * SECOND, aggregate=added, partition_by="partition"),
    ),
    "idle_moving": Step(
        ("longer",),
        measured=Measured(size=4 * SECOND, aggregate=told, allowed_lateness=SECOND, idle_timeout=3 * SECOND),
    ),
    "idle_of_tumbled": Step(("tumbled",), measured=Measured(aggregate=added, idle_timeout=2 * SECOND)),
    "parts": Step(
        ("longer",),
        measured=Measured(
            session=(2 * SECOND, 6 * SECOND),
            group_by=("k",),
            aggregate=told,
            partition_by="partition",
            allowed_lateness=SECOND,
        ),
    ),
    "of_parts": Step(("parts",), window=Window(3 * SECOND, 3 * SECOND, aggregate=added, partition_by="partition")),
    "alive_parts": Step(("parts",), measured=Measured(aggregate=added, partition_by="partition")),
    "idle_parts": Step(
        ("longest",), measured=Measured(aggregate=told, partition_by="partition", idle_timeout=3 * SECOND)
    ),
    "tumbled_parts": Step(("a",), window=Window(2 * SECOND, 2 * SECOND, aggregate=told, partition_by="partition")),
    "of_tumbled_parts": Step(
        ("tumbled_parts",),
        measured=Measured(session=(SECOND, 8 * SECOND), aggregate=added, partition_by="partition"),
    ),
    "keyed": Step(
        ("a",),
        measured=Measured(
            session=(2 * SECOND, 6 * SECOND),
            aggregate=told,
            partition_by="substream",
            idle_timeout=5 * SECOND,
        ),
    ),
    "of_keyed": Step(("keyed",), window=Window(3 * SECOND, 3 * SECOND, aggregate=added, partition_by="substream")),
    "alive_keyed": Step(("keyed",), measured=Measured(aggregate=added, partition_by="substream")),
    "after_keyed": Step(("keyed",), window=Window(4 * SECOND, 4 * SECOND, aggregate=added)),
}
TABLES = [f"{kind}/{name}" for kind in ("streams", "dead_letters") for name, step in STEPS.items() if step.windowed]


FEWER = ("visits", "of_visits", "long", "of_long", "moving", "longer", "longest", "both", "alive")
"""One stream of each kind, and what they read."""
APART = ("keyed", "of_keyed")
ALONE = ("longer", "longest", "tumbled", "tumbled_parts", "idle", "parts", "of_parts", *APART, "alive_parts")
ALONE += ("idle_long", "long_parts", "of_long_parts")
ALONE += ("alive_keyed", "after_keyed", "idle_moving", "idle_of_tumbled")
ALONE += ("idle_parts", "of_tumbled_parts")
"""With parts or an idle timeout, and what they read: those of the fast test, and all."""
SHARED = tuple(name for name in STEPS if name not in ALONE or name in ("longer", "longest", "tumbled"))
CUT = tuple(name for name in SHARED if "long" not in (name, *STEPS[name].inputs))
"""Those that rows further back than their reach change nothing of."""


def possible(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    """Streams that can be over a source: without substreams, none are by them."""
    over = isinstance(source, Source) and source.over and source.timestamp_by
    return tuple(name for name in names if over or "keyed" not in name)


def hold_equal(folder: Path, logs_: Logs, names: Sequence[str] = tuple(STEPS), **options: Any) -> Product:
    """Every window of every run is the oracle's. With a `start`, rows are read from its reach before it."""
    names = possible(logs_["a"][0], names)
    place, steps = folder / f"case-{next(_examples)}", {name: STEPS[name] for name in names}
    sources_ = {name: source for name, (source, _) in logs_.items()}
    product = Product(place, sources_, {"streams": {name: CONFIGURED[name] for name in names}})
    said = feed(product, logs_, **options)
    start = logs_["a"][0].start
    if start is not None:
        read_from = StreamProgress(product.pipeline().spec).read_from
        assert (read_from is None) == ("long" in names)
        logs_ = {name: (replace(source, start=read_from), runs) for name, (source, runs) in logs_.items()}
    for number, run in enumerate(flow(logs_, steps, payload, start)):
        batch = said[number]["batches"][-1]["batch_id"]
        for name, step in steps.items():
            where = f"{name}, run {number + 1}"
            if step.windowed:
                shown = columns_of(name, CONFIGURED)
                found = written(product, step, name).get(batch, Counter())
                assert found == wanted(step, run[name], shown), where
                assert letters(product, name, batch) == wanted_letters(run[name]), where
            hold_told(said[number]["streams"][name], run[name], where)
    return product


def often_idle(source: Source, waits: Sequence[int] = (4, 9)) -> Logs:
    """Logs of two runs that bring rows, of far more rows than one, each with idle runs after it while windows are
    open, so much later."""
    logs_ = drawn(cases(source).filter(lambda found: len(found["a"][1]) > 2), 3)[-1]
    return {name: (given, tuple(_with_idle(runs, waits))) for name, (given, runs) in logs_.items()}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("files", "closing"), [(2, (1,)), pytest.param(1, (1, 2), marks=pytest.mark.long)], ids=["once", "twice"]
)
def test_windows_of_rows_of_runs_that_are_cut_and_crash_equal_the_oracle_and_replay(tmp_path, files, closing):
    crashes = [WhileClosing(number) for number in closing]
    hold_replayed(hold_equal(tmp_path, far_apart(KEPT), FEWER, max_files=files, crashes=crashes))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_windows_of_rows_with_parts_and_idle_timeouts_equal_the_oracle_and_replay(tmp_path):
    product = hold_equal(tmp_path, often_idle(KEYED, (9,)), APART)
    assert all(product.table(f"streams/{name}") for name in APART)
    hold_replayed(product)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("names", "log", "source"),
    [
        pytest.param(SHARED, far_apart, KEYED, id="keyed"),
        pytest.param(ALONE, often_idle, KEPT, id="by time alone or by part, kept"),
    ],
)
def test_windows_of_rows_equal_the_oracle_and_replay(tmp_path, names, log, source):
    hold_replayed(hold_equal(tmp_path, log(source), names))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("names", "count"), [pytest.param(SHARED, 1, id="shared"), pytest.param(ALONE, 1, id="by time alone or by part")]
)
def test_windows_of_rows_of_any_sources_equal_the_oracle(tmp_path, names, count):
    for logs_ in drawn(sources().flatmap(cases), count):
        hold_replayed(hold_equal(tmp_path, logs_, names))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("names", [CUT, ("long", "of_long")], ids=["from their reach on", "from all rows on"])
def test_windows_of_rows_from_a_start_on_equal_the_oracle(tmp_path, names):
    starts = st.integers(8, 20).map(lambda seconds: BASE + seconds * SECOND)
    started = st.builds(replace, sources(law4=True), start=starts)
    for logs_ in drawn(started.flatmap(cases), 1):
        hold_equal(tmp_path, logs_, names)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_law_1_windows_of_rows_are_the_same_however_the_log_is_cut_into_runs(tmp_path):
    (log,) = drawn(wide_lawful_logs(replace(KEPT, partitions=()), partitions=4), 1)
    told_ = []
    for runs in drawn(recuts(log.objects), 2):
        streams = {
            name: {**keys, "from": "a"}
            for name, keys in CONFIGURED.items()
            if name in ("visits", "patient", "long", "moving")
        }
        product = Product(tmp_path / f"case-{next(_examples)}", {"a": log.source}, {"streams": streams})
        product.feed("a", runs)
        product.pipeline().close(as_of=max(run.as_of for run in runs))
        told_.append({table: Counter(map(_without_batch, product.table(table))) for table in TABLES})
    assert told_[0] == told_[1]
    assert told_[0]["streams/visits"]


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_windows_of_a_stream_that_is_added_later_are_those_of_one_that_was_there(tmp_path):
    source = replace(KEPT, partitions=(), single=True)
    runs = (run_of("a", 12, 1, 2, 6, 7, 7.5, 9, 10), run_of("b", 40, 11, 30, 35))
    whole = hold_equal(tmp_path, {"a": (source, runs)}, ("visits", "long", "moving"))
    before = {"streams": {"all": {"from": "a"}}}
    later = Product(tmp_path / f"case-{next(_examples)}", whole.sources, before)
    (said,) = feed(later, {"a": (source, runs[:1])})
    begins = datetime.fromisoformat(said["streams"]["all"]["watermark"])
    later.settings = {"streams": before["streams"] | whole.settings["streams"]}
    later.write()
    feed(later, {"a": (source, runs[1:])})
    for table in ("streams/visits", "streams/long", "streams/moving"):
        found = Counter(map(_without_batch, later.table(table)))
        assert found == Counter(_without_batch(row) for row in whole.table(table) if row["_window_end"] > begins)
        assert any(row["_window_start"] < begins for row in later.table(table))


def _with_idle(runs: Sequence[Run], waits: Sequence[int]) -> Iterator[Run]:
    half = len(runs) // 2
    for several in (runs[:half], runs[half:]):
        as_of = max(run.as_of for run in runs[: half if several == runs[:half] else None])
        yield Run(as_of, tuple(obj for run in several for obj in run.objects))
        for wait in waits:
            yield Run(as_of + wait * SECOND)


def run_of(uri: str, as_of: int, *seconds: float) -> Run:
    """A run that brings points of one group at these times."""
    rows = tuple(Row(event=at(second), arrival=at(as_of), substream="a") for second in seconds)
    return Run(at(as_of), (Obj(uri, at(as_of), rows),))


def _without_batch(row: dict[str, Any]) -> str:
    return repr(sorted((key, value) for key, value in row.items() if key != "_batch_id"))
