"""Streams and windows of the product are those of the oracle, run by run: rows, dead letters, counts, watermarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from samples import WhileClosing, at, drawn, feed

from oracle import SECOND, Run, Source
from oracle_streams import COMPLETE, Item, Step, StepRun, Window, flow, held
from product import Product, micros
from strategies import BASE, logs, sources

Logs = dict[str, tuple[Source, tuple[Run, ...]]]
REACH = 14 * SECOND
"""Of the pipeline below: its longest path leads through windows of 6 s and of 8 s."""
_examples = iter(range(1_000_000))
WITHOUT_A = "k IS NULL OR k <> 'a'"


def told(items: Sequence[Item]) -> dict[str, Any]:
    """What `SELECTED` says of a window's rows."""
    keys = [item.payload["k"] for item in items]
    known = [key for key in keys if key is not None]
    return {
        "n": len(keys),
        "keys": known,
        "kinds": len(set(known)),
        "others": [key for key in known if key != "a"],
        "least": min(known, default=None),
        "first": keys[0],
    }


def added(items: Sequence[Item]) -> dict[str, Any]:
    return {"n": sum(item.payload["n"] for item in items), "ns": [item.payload["n"] for item in items]}


SELECTED = {
    "n": "count(*)",
    "keys": "collect_list(k)",
    "kinds": "count(DISTINCT k)",
    "others": "collect_list(k) FILTER (WHERE k <> 'a')",
    "least": "min(k)",
    "first": "first(k)",
}
ADDED = {"n": "sum(n)", "ns": "collect_list(n)"}
LIST = "CASE k WHEN 'a' THEN array(k, NULL, 'x') WHEN 'b' THEN array() WHEN 'null' THEN NULL ELSE array('y', k) END"
OF_ELEMENT = {"k": "k", "ks": "ks", "place": "_index"}
OF_ELEMENTS = {"n": "count(*)", "ks": "collect_list(coalesce(ks, '-'))", "places": "collect_list(_index)"}


def listed(key: str | None) -> list[str | None] | None:
    known: dict[str | None, list[str | None] | None] = {"a": ["a", None, "x"], "b": [], "null": None}
    return known.get(key, ["y", key])


def of_elements(items: Sequence[Item]) -> dict[str, Any]:
    values = ["-" if item.payload["ks"] is None else item.payload["ks"] for item in items]
    return {"n": len(items), "ks": values, "places": [item.payload["_index"] for item in items]}


COMPUTED = {"lone": "nullif(k, 'b')", "halved": "unix_micros(_system_timestamp) div 2000000 % 2"}


def computed(item: Item) -> dict[str, Any]:
    key = item.payload["k"]
    return {
        "lone": None if key == "b" else key,
        "halved": abs(item.start) // 2_000_000 % 2 * (1 if item.start > 0 else -1),
    }


WINDOWS = {
    "tumbling": Window(4 * SECOND, 4 * SECOND, aggregate=told),
    "overlapping": Window(6 * SECOND, 2 * SECOND, offset=SECOND, aggregate=told, group_by=("k",)),
    "by_expressions": Window(6 * SECOND, 3 * SECOND, aggregate=told, group_by=tuple(COMPUTED), computed=computed),
    "gaps": Window(2 * SECOND, 5 * SECOND, offset=1, aggregate=told),
    "lateness": Window(4 * SECOND, 4 * SECOND, aggregate=told, allowed_lateness=3 * SECOND),
    "idle": Window(3 * SECOND, 3 * SECOND, aggregate=told, idle_timeout=4 * SECOND),
    "by_partition": Window(3 * SECOND, 3 * SECOND, aggregate=told, partition_by="partition"),
    "by_substream": Window(3 * SECOND, 3 * SECOND, aggregate=told, partition_by="substream"),
    "idle_parts": Window(3 * SECOND, 3 * SECOND, aggregate=told, partition_by="partition", idle_timeout=4 * SECOND),
}


def declared(window: Window, below: str, select: dict[str, str]) -> dict[str, Any]:
    """The step's keys in the configuration."""
    shape = {"size": f"{window.size}us", "hop": f"{window.hop}us", "offset": f"{window.offset}us"}
    keys: dict[str, Any] = {"from": below, "hopping": shape, "select": select}
    if window.group_by:
        keys["group_by"] = [{each: COMPUTED[each]} if each in COMPUTED else each for each in window.group_by]
    if window.allowed_lateness:
        keys["allowed_lateness"] = f"{window.allowed_lateness}us"
    if window.idle_timeout:
        keys["idle_timeout"] = f"{window.idle_timeout}us"
    if window.partition_by:
        keys["partition_by"] = window.partition_by
    return keys


def pipeline(keyed: bool) -> tuple[dict[str, dict[str, Any]], dict[str, Step]]:
    """One stream of each kind over the sources `a` (`keyed`: with substreams) and `b`, as configured, and as the
    oracle has it."""
    outer = Window(8 * SECOND, 4 * SECOND, aggregate=added)
    given_: dict[str, dict[str, Any]] = {
        "all": {"from": "a", "publish": True},
        "some": {"from": "a", "where": WITHOUT_A, "select": {"key": "k"}, "publish": True},
        "shifted": {"from": "a", "shift": "-3s"},
        "longer": {"from": "shifted", "lifetime": "2s", "publish": True},
        "both": {"union": ["b", "longer", "a", "b"], "publish": True},
        "of_both": declared(WINDOWS["tumbling"], "both", SELECTED),
        "outer": declared(outer, "overlapping", ADDED),
        "lists": {"from": "a", "select": {"k": "k", "ks": LIST}},
        "elements": {"from": "lists", "unnest": "KS", "where": "_index <> 1", "select": OF_ELEMENT, "publish": True},
        "of_elements": declared(WINDOWS["tumbling"], "unlisted", OF_ELEMENTS),
        "unlisted": {"from": "lists", "unnest": "ks"},
    }
    steps = {
        "all": Step(("a",), publish=True),
        "some": Step(
            ("a",), lambda item: item.payload["k"] != "a", lambda item: {"key": item.payload["k"]}, publish=True
        ),
        "shifted": Step(("a",), shift=-3 * SECOND),
        "longer": Step(("shifted",), lifetime=2 * SECOND, publish=True),
        "both": Step(("b", "longer", "a", "b"), publish=True),
        "of_both": Step(("both",), window=WINDOWS["tumbling"]),
        "outer": Step(("overlapping",), window=outer),
        "lists": Step(("a",), select=lambda item: {"k": item.payload["k"], "ks": listed(item.payload["k"])}),
        "elements": Step(
            ("lists",),
            lambda item: item.payload["_index"] != 1,
            lambda item: {"k": item.payload["k"], "ks": item.payload["ks"], "place": item.payload["_index"]},
            publish=True,
            unnest="ks",
        ),
        "of_elements": Step(("unlisted",), window=replace(WINDOWS["tumbling"], aggregate=of_elements)),
        "unlisted": Step(("lists",), unnest="ks"),
    }
    for name, window in WINDOWS.items():
        if keyed or window.partition_by != "substream":
            given_[name] = declared(window, "a", SELECTED)
            steps[name] = Step(("a",), window=window)
    return given_, steps


@st.composite
def cases(draw: st.DrawFn, a: Source) -> Logs:
    """The logs of both sources, with runs at the same times."""
    log = draw(logs(a, rows=(25, 60), runs=(3, 5)))
    runs = log.runs
    b = replace(draw(sources()), start=a.start)
    other = draw(logs(b, rows=(10, 30), runs=(len(runs), len(runs))))
    last = max(run.as_of for run in runs)
    left = [replace(obj, modified=min(obj.modified, last)) for run in other.runs for obj in run.objects]
    taken: list[Run] = []
    reached = 0
    for run in runs:
        reached = max(reached, run.as_of)
        taken.append(Run(run.as_of, tuple(obj for obj in left if obj.modified <= reached)))
        left = [obj for obj in left if obj.modified > reached]
    return {"a": (a, runs), "b": (b, tuple(taken))}


def payload(_: str, row: Any) -> dict[str, Any]:
    return {"k": row.substream}


def plain(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else tuple(value) if isinstance(value, list) else value


def written(product: Product, step: Step, name: str) -> dict[int, Counter[Any]]:
    """By batch, the rows of a stream's table in the form of `wanted`."""
    found: dict[int, Counter[Any]] = {}
    for row in product.table(f"streams/{name}"):
        values = {key: plain(value) for key, value in row.items()}
        own = ("_window_start", "_window_end") if step.windowed else ("_system_timestamp", "_end_time", "_offset")
        shown = (*[values[key] for key in own], values.get("_partition"), values.get("_substream"))
        content = tuple(sorted((key, value) for key, value in values.items() if not key.startswith("_")))
        found.setdefault(row["_batch_id"], Counter())[shown, content] += 1
    return found


def wanted(step: Step, run: StepRun, columns: Sequence[str]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for item in run.written:
        times = (held(item.start), held(item.end))
        own = times if step.windowed else (*times, item.offset)
        values = {key: plain(value) for key, value in item.payload.items() if key in columns}
        found[(*own, item.partition, item.substream if step.windowed else None), tuple(sorted(values.items()))] += 1
    return found


def columns_of(name: str, configured: dict[str, dict[str, Any]]) -> list[str]:
    keys = configured[name]
    selected = list(keys.get("select", {"k": "k"}))
    groups = [name for each in keys.get("group_by", []) for name in ([each] if isinstance(each, str) else each)]
    return [*groups, *selected]


def rows_with(columns: Sequence[str], rows: Counter[Any]) -> Counter[Any]:
    """Rows with these columns alone."""
    found: Counter[Any] = Counter()
    for (own, content), times in rows.items():
        found[own, tuple(pair for pair in content if pair[0] in columns)] += times
    return found


def letters(product: Product, name: str, batch: int) -> Counter[Any]:
    names = ("_source", "_partition", "_offset", "_event_time", "_watermark", "_window_start", "_window_end")
    rows = [row for row in product.table(f"dead_letters/{name}") if row["_batch_id"] == batch]
    return Counter(tuple(plain(row[key]) for key in names) for row in rows)


def wanted_letters(run: StepRun) -> Counter[Any]:
    return Counter(
        (
            dead.item.source,
            dead.item.partition,
            dead.item.offset,
            dead.item.event,
            None if dead.item.watermark is None else held(dead.item.watermark),
            *map(held, dead.window),
        )
        for dead in run.dead_letters
    )


def hold_equal(folder: Path, logs_: Logs, **options: Any) -> Product:
    """Every stream of every run is the oracle's. With a `start`, rows are read from its reach before it."""
    a = logs_["a"][0]
    keyed = isinstance(a, Source) and a.over and a.timestamp_by
    configured, steps = pipeline(keyed)
    product = Product(
        folder / f"case-{next(_examples)}",
        {name: source for name, (source, _) in logs_.items()},
        {"streams": configured},
    )
    said = feed(product, logs_, **options)
    start = logs_["a"][0].start
    if start is not None:
        logs_ = {name: (replace(source, start=start - REACH), runs) for name, (source, runs) in logs_.items()}
    oracle_runs = flow(logs_, steps, payload, start)
    for name, step in steps.items():
        if not (step.publish or step.window):
            continue
        found = written(product, step, name)
        for number, run in enumerate(oracle_runs):
            batch = said[number]["batches"][-1]["batch_id"]
            where = f"{name}, run {number + 1}"
            shown = columns_of(name, configured)
            narrowed = {key: rows_with(shown, rows) for key, rows in found.items()}
            assert narrowed.get(batch, Counter()) == wanted(step, run[name], shown), where
            assert letters(product, name, batch) == wanted_letters(run[name]), where
            hold_told(said[number]["streams"][name], run[name], where)
    return product


def hold_told(told_: dict[str, Any], run: StepRun, where: str) -> None:
    assert told_["rows"] == len(run.written), where
    assert told_["outside"] == run.outside, where
    assert told_["dead_letters"] == len(run.dead_letters), where
    assert told_["complete"] == (run.watermark == COMPLETE), where
    if run.watermark is None or run.watermark != COMPLETE:
        text = told_["watermark"]
        found = None if text is None else micros(datetime.fromisoformat(text))
        assert found == (None if run.watermark is None else held(int(run.watermark))), (where, text, run.watermark)


def of_all_runs(product: Product, step: Step, name: str) -> Counter[Any]:
    """The rows of a stream's table, whatever run wrote them."""
    return sum(written(product, step, name).values(), Counter())


def hold_start(
    folder: Path, make: Callable[[Path, Logs], Product], logs_: Logs, seconds: int, steps: Mapping[str, Step]
) -> tuple[Product, list[dict[str, Any]]]:
    """Law 4: what a pipeline with a `start` has is what one from the beginning has after it. Returns the former, and
    what its runs said."""
    started = {name: (replace(source, start=at(seconds)), runs) for name, (source, runs) in logs_.items()}
    product, full = make(folder / "started", started), make(folder / "full", logs_)
    said = feed(product, started)
    feed(full, logs_)
    for name, step in steps.items():
        later = {row: times for row, times in of_all_runs(full, step, name).items() if row[0][1] > at(seconds)}
        assert of_all_runs(product, step, name) == later, name
    return product, said


def hold_runs(
    product: Product,
    said: Sequence[dict[str, Any]],
    runs: Sequence[Mapping[str, StepRun]],
    steps: Mapping[str, Step],
    columns: Callable[[str], list[str]],
) -> Counter[str]:
    """Each stream of every run is the oracle's; returns how many rows each wrote and left outside."""
    found: Counter[str] = Counter()
    for name, step in steps.items():
        rows = written(product, step, name)
        for number, run in enumerate(runs):
            where = f"{name}, run {number + 1}"
            batch = said[number]["batches"][-1]["batch_id"]
            assert rows.get(batch, Counter()) == wanted(step, run[name], columns(name)), where
            hold_told(said[number]["streams"][name], run[name], where)
            found[name] += len(run[name].written)
            found[f"outside {name}"] += run[name].outside
    return found


KEPT = Source(early=None, late=None, out_of_order=(2 * SECOND, "keep"), partitions=("0", "1"))
PLAIN = Source(late=(3 * SECOND, "adjust"), out_of_order=(2 * SECOND, "adjust"), partitions=("0", "1"))
KEYED = replace(PLAIN, over=True, out_of_order=(SECOND, "keep"))
STARTED = replace(PLAIN, partitions=("0", "1", "2"), start=BASE + 12 * SECOND)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("source", [KEPT, STARTED], ids=["kept", "started"])
def test_streams_and_windows_equal_the_oracle_and_replay(tmp_path, source):
    hold_replayed(hold_equal(tmp_path, far_apart(source)))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("files", "closing"), [(2, (3,)), pytest.param(1, (3, 1), marks=pytest.mark.long)], ids=["once", "twice"]
)
def test_streams_and_windows_of_runs_that_are_cut_and_crash_equal_the_oracle_and_replay(tmp_path, files, closing):
    crashes = [WhileClosing(number) for number in closing]
    hold_replayed(hold_equal(tmp_path, far_apart(KEYED), max_files=files, crashes=crashes))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_streams_and_windows_of_any_sources_equal_the_oracle(tmp_path):
    for logs_ in drawn(sources().flatmap(cases), 1):
        hold_replayed(hold_equal(tmp_path, logs_))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_law_4_outputs_from_a_start_on_are_those_of_a_run_from_the_beginning(tmp_path):
    starts = st.integers(8, 20).map(lambda seconds: BASE + seconds * SECOND)
    started = st.builds(replace, sources(law4=True), start=starts)
    for logs_ in drawn(started.flatmap(cases), 1):
        hold_equal(tmp_path, logs_)


def far_apart(source: Source) -> Logs:
    """Logs of three runs, of which the first and the last bring rows: those of the last are half a minute later, so
    that windows of both sources close."""
    return drawn(cases(source), 2)[1]


def hold_replayed(product: Product) -> None:
    """Every batch comes out again, or what differs is told."""
    batches = product.pipeline().replay(all_batches=True)["batches"]
    assert [difference for batch in batches for difference in batch["differences"]] == []
