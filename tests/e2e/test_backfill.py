"""Backfills build versions beside the live one, and promotion lets readers see them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from airflow_home import AirflowHome
from deltalake import DeltaTable
from samples import at, fork, obj
from test_streams import payload, told

import oracle_versions
from oracle import SECOND, Obj, Outcome, Row, Run, Source, judge
from oracle_streams import Step, StepRun, Window, flow
from product import Product, expected, micros, verdicts
from strategies import objects
from tidemark.cli import invoke
from tidemark.commands.maintain import retain_versions
from tidemark.errors import ConfigError, UsageError

PARTITIONS = ("p0", "p1", "p2")
SOURCE = Source(
    early=(3 * SECOND, "drop"),
    late=(4 * SECOND, "drop"),
    out_of_order=(2 * SECOND, "adjust"),
    landing_delay=3 * SECOND,
    partitions=PARTITIONS,
)
CHANGED = replace(SOURCE, late=(2 * SECOND, "drop"), out_of_order=(SECOND, "adjust"))
SET = ["sources.a.late_arrival.tolerance=2s", "sources.a.out_of_order.tolerance=1s"]
STREAMS: dict[str, Any] = {
    "good": {"from": "a", "publish": True},
    "per_4s": {
        "from": "a",
        "hopping": {"size": "4s", "hop": "4s"},
        "select": {"n": "count(*)", "keys": "collect_list(k)", "least": "min(k)", "first": "first(k)"},
    },
}
STEPS = {
    "good": Step(("a",), publish=True),
    "per_4s": Step(("a",), window=Window(4 * SECOND, 4 * SECOND, aggregate=told)),
}
RUNS = 4
MORE = 2
T0, T1 = at(12), at(19)

pytestmark = pytest.mark.usefixtures("quick")


def runs(number: int = RUNS) -> tuple[Run, ...]:
    return tuple(Run(at(10 + 5 * n), (obj(f"{n:03d}", 10 + 5 * n),)) for n in range(number))


def product_in(folder: Path, **hooks: Any) -> Product:
    return Product(folder, {"a": SOURCE}, {"streams": STREAMS}, hooks)


@pytest.fixture(scope="module")
def live(request, tmp_path_factory) -> Product:
    request.getfixturevalue("quick")
    product = product_in(tmp_path_factory.mktemp("live"))
    product.feed("a", runs())
    return product


@pytest.fixture
def product(live, tmp_path) -> Product:
    """A copy of the live pipeline."""
    return fork(live, tmp_path / "copy")


def table(product: Product, version: int, name: str) -> list[dict[str, Any]]:
    place = product.folder / "warehouse" / "tested" / f"v{version}" / name
    return DeltaTable(place).to_pyarrow_table().to_pylist()


def events(product: Product, version: int) -> list[tuple[Any, ...]]:
    found = table(product, version, "events/a")
    for row in found:
        row.update({key: micros(value) for key, value in row.items() if key.endswith(("_time", "_timestamp"))})
    return verdicts(sorted(found, key=lambda row: (row["_partition"], row["_offset"])))


def windows(product: Product, version: int) -> Counter[Any]:
    rows = table(product, version, "streams/per_4s")
    own = ("_window_start", "_window_end")
    return Counter((*(micros(row[key]) for key in own), row["n"], tuple(row["keys"]), row["first"]) for row in rows)


def points(product: Product, version: int) -> Counter[Any]:
    rows = table(product, version, "streams/good")
    return Counter((micros(row["_system_timestamp"]), row["_partition"], row["_offset"], row["k"]) for row in rows)


def whole(source: Source, number: int = RUNS) -> tuple[Outcome, list[dict[str, StepRun]]]:
    """What the oracle makes of the first runs under one source's policies."""
    return judge(source, runs(number)), flow({"a": (source, runs(number))}, STEPS, payload)


def hold_oracle(product: Product, version: int, begin: int, end: int | None, number: int = RUNS) -> None:
    """The version's tables are what the oracle merges of a whole run before and a whole run now."""
    (old, flowed), (new, flowing) = whole(SOURCE), whole(CHANGED, number)
    merged = oracle_versions.rows(old, new, begin, end)
    assert events(product, version) == expected(merged)
    made = {
        name: [[item for run in each for item in run[name].written] for each in (flowed, flowing)] for name in STEPS
    }
    wanted = oracle_versions.outputs(*made["per_4s"], begin, end)
    assert windows(product, version) == Counter(
        (item.start, item.end, item.payload["n"], tuple(item.payload["keys"]), item.payload["first"])
        for item in wanted
    )
    stands = oracle_versions.points(*made["good"], merged)
    known = Counter((item.start, item.partition, item.offset, item.payload["k"]) for item in stands)
    if end is not None:
        passed = int(flowed[-1]["good"].watermark or 0)
        keys = {(row["_partition"], row["_offset"]): row["k"] for row in table(product, 1, "events/a")}
        due = oracle_versions.passed_points(merged, passed)
        known = Counter(
            (row.system_timestamp, row.partition, row.offset, keys[row.partition, row.offset]) for row in due
        )
    else:  # what the new policies have not passed yet waits for the next run
        known = Counter({key: n for key, n in known.items() if key in points(product, version) or key[0] < begin})
        released = [item for run in flowing for item in run["good"].written if item.start >= begin]
        assert all(
            points(product, version)[item.start, item.partition, item.offset, item.payload["k"]] for item in released
        )
    assert points(product, version) == known


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def hold_ledger(product: Product, version: int) -> None:
    """Counts and digests are those of the tables: batch by batch, and rows in = the sum of fates."""
    kept = Counter((row["_batch_id"], row["_disposition"]) for row in table(product, version, "events/a"))
    for batch in table(product, version, "batches"):
        fates = {fate: batch[fate] for fate in ("on_time", "adjusted", "dropped", "quarantined")}
        assert {fate: kept[batch["batch_id"], fate] for fate in fates} == fates
        assert batch["rows"] == sum(fates.values())


@pytest.mark.parametrize(
    ("begin", "end"), [(T0, T1), pytest.param(at(-100), None, marks=pytest.mark.long)], ids=["bounded", "all"]
)
def test_the_same_policies_differ_in_nothing_and_leave_the_live_version_as_it_is(product, begin, end):
    before = content(product.folder / "warehouse" / "tested" / "v1")
    found = product.pipeline().backfill(begin, end)
    assert found["identical"], found["difference"]
    assert windows(product, found["version"]) == windows(product, 1)
    assert events(product, found["version"]) == events(product, 1)
    assert content(product.folder / "warehouse" / "tested" / "v1") == before
    pipeline = product.pipeline()
    pipeline.promote(found["version"])
    assert pipeline.replay(all_batches=True)["identical"]


def test_other_policies_come_to_the_oracles_rows_and_windows_within_the_range_and_no_others(product, capsys):
    before = content(product.folder / "warehouse" / "tested" / "v1")
    config = str(product.config)

    def said(*arguments: str) -> dict[str, Any]:
        assert invoke([*arguments, "--json"]) == 0
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    times = ["--from", "2026-01-01T00:00:12Z", "--to", "2026-01-01T00:00:19Z"]
    found = said("backfill", config, *times, *[part for text in SET for part in ("--set", text)])
    assert {"version", "input_rows", "difference"} <= found.keys()
    assert found["version"] == 2
    assert found["difference"]["rows"]["a"]["changed"] > 0
    assert found["input_rows"] < len(events(product, 1))
    hold_oracle(product, found["version"], T0, T1)
    hold_ledger(product, found["version"])
    assert content(product.folder / "warehouse" / "tested" / "v1") == before
    hold_difference(product, found)
    listed = said("versions", config)
    assert listed["live"] == 1
    assert {"version", "path", "from", "to", "fingerprint"} <= listed["versions"][1].keys()
    assert listed["versions"][0]["fingerprint"] != listed["versions"][1]["fingerprint"] == found["fingerprint"]
    assert invoke(["versions", config]) == 0
    assert "live" in capsys.readouterr().out
    assert invoke(["promote", config, "2"]) == 0
    assert "sources.a.late_arrival.tolerance" in capsys.readouterr().out
    assert said("versions", config)["live"] == 2


def hold_difference(product: Product, found: dict[str, Any]) -> None:
    """The difference is what a comparison of the two versions' tables says."""
    was, is_ = Counter(windows(product, 1)), Counter(windows(product, found["version"]))
    told_ = found["difference"]["streams"].get("per_4s", {"gone": 0, "new": 0})
    assert (told_["gone"], told_["new"]) == ((was - is_).total(), (is_ - was).total())
    hold_windows(told_.get("windows", []), was - is_, is_ - was)
    changed = [(a, b) for a, b in zip(events(product, 1), events(product, found["version"]), strict=True) if a != b]
    rows = table(product, found["version"], "difference/rows")
    assert len(rows) == len(changed) == found["difference"]["rows"]["a"]["changed"]
    before = {(row["_partition"], row["_offset"]): row["_disposition_before"] for row in rows}
    assert before == {a[:2]: a[5] for a, _ in changed}


def hold_windows(told_: list[dict[str, Any]], gone: Counter[Any], new: Counter[Any]) -> None:
    """The windows that are told are those that changed, with the values of both versions."""
    assert len(told_) == len({key[:2] for key in (*gone, *new)}) <= 20
    for side, wanted in (("before", gone), ("after", new)):
        found = {
            (micros(datetime.fromisoformat(each["start"])), each[side]["n"], tuple(each[side]["keys"]))
            for each in told_
            if each[side] is not None
        }
        assert found == {(key[0], key[2], key[3]) for key in wanted}


def test_a_promoted_version_goes_on_from_its_state_and_the_earlier_one_can_be_brought_back(product):
    pipeline = product.pipeline()
    made = pipeline.backfill(T0, None, SET)
    hold_oracle(product, made["version"], T0, None)
    hold_ledger(product, made["version"])
    late = runs(RUNS + MORE)[RUNS:]
    product.feed("a", late[:1])  # a run of the live version, which the new one does not have yet
    log = product.folder / "warehouse" / "tested" / "versions"
    commits = DeltaTable(log).version()
    assert [row["origin"] for row in DeltaTable(log).to_pyarrow_table().sort_by("version").to_pylist()] == [None, 1]
    found = pipeline.promote(made["version"])
    assert found["brought_up"] == [RUNS + 1]
    both = [Counter((row["batch_id"], row["expectation"]) for row in table(product, n, "quality")) for n in (1, 2)]
    assert both[0] == both[1] != Counter()
    tokens = [row["plan"] for n in (1, 2) for row in table(product, n, "batches") if row["batch_id"] == RUNS + 1]
    assert len(set(tokens)) == 2, "what a promotion that died had planned is no part of the next one's plan"
    assert DeltaTable(log).version() == commits + 1
    assert sorted(text.partition(":")[0] for text in found["edit"]) == [text.partition("=")[0] for text in SET]
    with pytest.raises(ConfigError) as refused:
        product.run(late[1].as_of)
    assert "version 2 is live" in refused.value.hint
    hold_discovery(product, late[1].as_of)
    changed = replace_source(product)
    changed.land("a", late[1].objects)
    changed.run(late[1].as_of)
    hold_oracle(changed, made["version"], T0, None, RUNS + MORE)
    replayed = changed.pipeline().replay(all_batches=True)
    assert replayed["identical"], replayed
    assert {batch["input"] for batch in replayed["batches"]} == {"landing", "stored"}
    undone = product.pipeline().promote(1)
    assert undone["brought_up"] == [RUNS + 2]
    assert events(product, 1) == expected(judge(SOURCE, runs(RUNS + MORE)))
    assert product.pipeline().replay()["identical"]
    assert product.pipeline().promote(1)["brought_up"] == []


def test_a_second_backfill_without_a_run_between_records_what_it_made(product):
    first = product.pipeline().backfill(T0, None, SET)
    product.pipeline().promote(first["version"])
    hold_ledger(product, first["version"])
    again = product.pipeline().backfill(T0)  # under the policies of the file, which are those of before
    assert again["difference"]["rows"]["a"]["changed"] > 0
    product.pipeline().promote(again["version"])
    hold_ledger(product, again["version"])
    assert events(product, again["version"]) == events(product, 1)
    late = runs(RUNS + 1)[RUNS:]
    product.feed("a", late)
    product.version = again["version"]
    assert events(product, again["version"]) == expected(judge(SOURCE, runs(RUNS + 1)))
    replayed = product.pipeline().replay(all_batches=True)
    assert replayed["identical"], replayed


def test_a_stream_without_a_row_gets_those_of_the_range(tmp_path):
    late = replace(SOURCE, late=(5 * SECOND, "drop"), partitions=("0",))
    product = Product(tmp_path, {"a": late}, {"streams": STREAMS})
    product.feed("a", [Run(at(20), tuple(objects("a", 0, late=20))), Run(at(20), (), close=True)])
    assert table(product, 1, "streams/good") == table(product, 1, "streams/per_4s") == []
    built = product.pipeline().backfill(at(4), None, ["sources.a.late_arrival.action=adjust"])["version"]
    within = [row[4] for row in events(product, built) if row[4] is not None]
    assert len(within) > 5
    assert sorted(key[0] for key in points(product, built).elements()) == sorted(within)
    assert sum(row["n"] for row in table(product, built, "streams/per_4s")) == len(within)


def test_rows_that_policies_before_the_last_backfill_had_moved_into_the_range_are_judged_again(tmp_path):
    """The row that arrives at 30 s was moved to 25 s under the first policies. Rows outside of the first backfill's
    range still have these, and the second range has the row, though none can be so late under the policies since."""
    order = (9 * SECOND, "adjust")
    wide = replace(SOURCE, late=(5 * SECOND, "adjust"), out_of_order=order, over=False, partitions=("0",))
    rows = [Row("0", at(20 if time == 30 else time), at(time), None) for time in range(1, 41)]
    product = Product(tmp_path, {"a": wide}, {"streams": STREAMS})
    product.feed("a", [Run(at(41), (Obj("one", at(40), tuple(rows)),)), Run(at(41), (), close=True)])
    product = Product(tmp_path, {"a": replace(wide, late=(SECOND, "adjust"))}, product.settings)
    for begin, end in ((2, 5), (24, 27)):
        product.version = product.pipeline().backfill(at(begin), at(end))["version"]
        product.pipeline().promote(product.version)
    assert [row["_system_timestamp"] for row in product.events("a") if row["_arrival_time"] == at(30)] == [at(29)]


DISCOVERED = """
import json, sys, types
from datetime import UTC, datetime
from tidemark.airflow import steps
run = types.SimpleNamespace(data_interval_end=datetime.fromtimestamp({as_of} / 1e6, UTC), run_id="r")
steps.get_current_context = lambda: dict(dag_run=run)
try:
    print(json.dumps(steps.discover({config!r})))
except Exception as error:
    print(json.dumps([type(error).__name__, *str(error).splitlines()]))
"""


def hold_discovery(product: Product, as_of: int) -> None:
    """The task `discover` fails without a retry, and says which keys to edit to which values, or what else to do."""
    code = DISCOVERED.format(as_of=as_of, config=str(product.config))
    failed, *lines = AirflowHome(product.folder / "airflow").python(code)
    assert failed == "AirflowFailException"
    edits = [
        f"{product.config}: {key}: was {value!r}, is now " for key, _, value in (each.partition("=") for each in SET)
    ]
    assert [line.startswith(edit) for line, edit in zip(lines, edits, strict=False)] == [True, True], lines
    edit = f"write into {product.config} what each key was, and run again"
    build = f"build a version under the file as it is, and promote it: tidemark backfill {product.config} --from T0"
    assert lines[2:] == [f"version 2 is live, and was made under other settings: {edit}; or {build}"]


def replace_source(product: Product) -> Product:
    """The same pipeline with a file that says what the version was made under."""
    return Product(product.folder, {"a": CHANGED}, product.settings)


@pytest.mark.long
def test_a_bounded_version_goes_on_from_the_live_state(product):
    pipeline = product.pipeline()
    made = pipeline.backfill(T0, T1, SET)
    pipeline.promote(made["version"])
    changed = replace_source(product)
    again = changed.pipeline().backfill(T0, T1)
    assert again["identical"], again["difference"]
    changed.pipeline().promote(again["version"])
    late = runs(RUNS + 1)[RUNS:]
    changed.feed("a", late)
    old = {row[:2] for row in events(product, 1)}
    assert len([row for row in events(product, again["version"]) if row[:2] not in old]) == 12
    for _ in range(2):
        replayed = changed.pipeline().replay(all_batches=True)
        assert replayed["identical"], replayed
        assert {batch["input"] for batch in replayed["batches"]} == {"landing", "stored"}
        retain_versions(changed.pipeline().root, 1)


@pytest.mark.long
def test_only_files_of_the_days_of_the_slice_are_read(tmp_path):
    day = 86_400
    days = tuple(Run(at(day * n + 30), (obj(f"{n}", day * n + 20),)) for n in range(1, 4))
    product = product_in(tmp_path / "days")
    product.feed("a", days)
    asked = (at(day * 2), at(day * 2 + 60), SET)
    root = product.folder / "warehouse" / "tested"
    whole_ = product.pipeline().backfill(*asked)
    kept = {path.name for path in root.glob("v1/events/a/_arrival_date=2026-01-03/*.parquet")}
    for path in root.glob("v1/events/a/**/*.parquet"):
        if path.name not in kept:
            path.unlink()
            path.write_bytes(b"nobody may read this")
    again = product.pipeline().backfill(*asked)
    assert kept
    assert again["difference"] == whole_["difference"]
    assert again["input_rows"] == whole_["input_rows"] > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"settings_": ["sources.a.late_arival=off"]}, "late_arrival"),
        ({"settings_": ["quality.max_dropped=1%"]}, "no backfill is needed"),
        ({"settings_": ["sources.a.landing=elsewhere"]}, "no backfill is needed"),
        ({"settings_": ["sources.b.over=k"]}, "name one of the sources: a"),
        ({"settings_": ["sources.a.timestamp_by"]}, "is not KEY=VALUE"),
        ({"settings_": ["sources.a.timestamp_by=a"]}, "rows in the tables were read by it"),
        ({"settings_": ["streams.good.from=b"]}, "streams.good.from"),
        ({"to": at(5)}, "is not after --from"),
        ({"to": at(1000)}, "later than the live version has come"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_built_is_refused(live, options, says):
    with pytest.raises((UsageError, ConfigError), match=says):
        live.pipeline().backfill(T0, **options)


def test_without_a_committed_run_there_is_nothing_to_build(tmp_path):
    product = product_in(tmp_path / "none")
    with pytest.raises(UsageError, match="no run is committed"):
        product.pipeline().backfill(T0)
    assert product.pipeline().versions() == {"live": None, "versions": []}
