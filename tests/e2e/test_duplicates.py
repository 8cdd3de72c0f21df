"""Requirements and duplicates (time rules: before judging), of rows that meet their bounds, through all ways in which
rows are judged: runs, micro-batches, recovery after a crash, replays, backfills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from samples import Crash

import oracle
import oracle_punctuation as punctuated
from oracle import SECOND, Obj, Row, Run, Source
from product import Product, expected, verdicts
from strategies import TICK, at
from strategies_punctuation import log_of
from tidemark.commands.maintain import maintain
from tidemark.spark.judge.engine import Engine

pytestmark = pytest.mark.usefixtures("quick")
EXACT = ("_watermark", "_substream")
WITHIN = 10 * SECOND
STRICT = Source(
    early=(5 * SECOND, "adjust"),
    late=(20 * SECOND, "adjust"),
    out_of_order=(2 * SECOND, "adjust"),
    partitions=("p", "q"),
    require=True,
    by=("k", "decade"),
    within=WITHIN,
)
MARKED = punctuated.Source(
    violations="adjust", shape="edge", count=3, rows=True, partitions=("p", "q"), by=("k", "decade"), within=WITHIN
)
NUMBERS = {"by": ["double(k)"], "within": "10s"}


def rows(seed: int, second: int) -> tuple[Row, ...]:
    """Rows of two partitions that arrive within ten seconds; arrivals that are a whole bound apart are common."""
    dice = Random(seed)  # noqa: S311 - the same rows each time
    made = []
    for _ in range(30):
        arrival = at(second + dice.choice((0, 1, 5, 9, 10))) - dice.choice((0, 0, TICK))
        key = dice.choice(("a", "a", "c", "d", "e", "b", None))
        event = arrival - dice.choice((0, 1, 8, 25)) * SECOND
        made.append(Row(dice.choice("ppq"), event, arrival, key, broken=dice.random() < 0.05))
    return tuple(made)


def run(number: int) -> Run:
    """A run of three objects."""
    seconds = [30 * number + 10 * place for place in range(3)]
    objects = [Obj(f"{number}{second}", at(second + 10), rows(second, second)) for second in seconds]
    return Run(at(30 * number + 31), tuple(objects))


RUNS = tuple(map(run, range(3)))
MARKED_RUNS = log_of(MARKED, 7, RUNS, ("p", "q"), 15)[1]
TEXTS = ("NaN", "-nan", "0.0", "-0.0", "1e0", "x", "x", None, None, "NaN", "0", "-0")
"""Numbers as text. Not a number are x and -nan, which are no duplicates."""


def fed(product: Product, number: int, **options: Any) -> None:
    for name, runs in (("strict", RUNS), ("marked", MARKED_RUNS)):
        product.land(name, runs[number].objects)
    if number == 0:
        numbers = tuple(Row(None, at(5), at(5), text) for text in TEXTS)
        product.land("numbers", [Obj("numbers", at(10), numbers)])
    product.run(RUNS[number].as_of, **options)


def hold(product: Product, strict: Source = STRICT, count: int = 3) -> None:
    wanted = oracle.judge(strict, RUNS[:count])
    assert verdicts(product.events("strict"), *EXACT) == expected(wanted, *EXACT)
    (found,) = punctuated.judge({"marked": (MARKED, MARKED_RUNS[:count])}).values()
    assert verdicts(product.events("marked"), "_watermark") == expected(found, "_watermark")


def made(folder: Any) -> Product:
    single = Source(late=(20 * SECOND, "adjust"), single=True)
    product = Product(folder, {"strict": STRICT, "marked": MARKED, "numbers": single})
    product.write(numbers={"deduplicate": NUMBERS})
    return product


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Three runs: the second in three micro-batches, and after a crash between its events and its keys."""
    product = made(tmp_path_factory.mktemp("duplicates"))
    fed(product, 0)
    product.hooks = {"on_checkpoint": after_events}
    with pytest.raises(Crash):
        fed(product, 1, max_files=1)
    product.hooks = {}
    product.run(RUNS[1].as_of)
    fed(product, 2)
    return product


def after_events(step: str) -> None:
    if step == "events":
        raise Crash(step)


def test_rows_are_the_oracles(product):
    hold(product)
    reasons = Counter(reason for row in product.events("strict") for reason in row["_reasons"])
    assert min(reasons[name] for name in ("duplicate", "require.known", "require.plain", "invalid_row", "late")) > 2
    marked = Counter(reason for row in product.events("marked") for reason in row["_reasons"])
    assert min(marked[name] for name in ("duplicate", "violation", "unmatched")) > 1


def test_numbers_that_are_equal_are_duplicates_and_nulls_are_none(product):
    assert [row["_offset"] for row in product.events("numbers") if row["_disposition"] == "dropped"] == [3, 9, 10, 11]


@pytest.mark.parametrize(("source", "tasks"), [("landing", 3), ("events", None)])
def test_a_replay_sees_the_keys_from_before_its_batch(request, spark, product, source, tasks):
    """Also in compiled code: all else here is interpreted."""
    if source == "landing":
        request.getfixturevalue("compiled")
    pipeline = product.pipeline()
    pipeline.context.__dict__["engine"] = Engine(spark, pipeline.ledger.folder, tasks=tasks, cell_bits=1)
    found = pipeline.replay(all_batches=True, input=source)
    assert found["identical"], [batch["differences"] for batch in found["batches"]]


def test_counts_rows_and_stories_name_duplicates_and_requirements(product):
    pipeline = product.pipeline()
    wanted: Counter[str] = Counter()
    for row in (*product.events("strict"), *product.events("marked"), *product.events("numbers")):
        wanted.update(row["_reasons"])
    counted: Counter[str] = Counter()
    for each in pipeline.status()["runs"]:
        counted.update(each["by_reason"])
    assert counted == wanted
    told = {"duplicate": "has equal k, floor(unix_seconds(e) / 10)", "require.plain": "plain (k <> 'b')"}
    for reason, said in told.items():
        found = pipeline.rows(source="strict", reason=reason)
        assert found["total"] == sum(reason in row["_reasons"] for row in product.events("strict"))
        row = found["rows"][0]
        if reason == "duplicate":
            assert pipeline.advise(source="strict", late="1s")["sources"][0]["duplicates"] == found["total"]
        assert said in " ".join(pipeline.explain("strict", row["partition"], row["offset"])["sentences"])


def kept(rows: list[dict[str, Any]]) -> dict[tuple[str, bytes], Any]:
    """Last arrival of each key, by partition."""
    found: dict[tuple[str, bytes], Any] = {}
    for row in rows:
        key = row["partition"], row["key"]
        found[key] = max(found.get(key, row["last_arrival"]), row["last_arrival"])
    return found


def remembered(verdicts: list[dict[str, Any]], within: int) -> Mapping[str, int]:
    """Number of keys by partition that a later row may repeat."""
    last: dict[str, int] = {}
    keys: dict[tuple[str, str, int], int] = {}
    for row in verdicts:
        if row["_arrival_time"] is not None:
            last[row["_partition"]] = row["_arrival_time"]
        if row["_disposition"] != "quarantined" and row["k"] is not None:
            keys[row["_partition"], row["k"], row["_event_time"] // WITHIN] = row["_arrival_time"]
    return Counter(name for (name, _, _), arrival in keys.items() if arrival > last[name] - within)


def test_every_table_can_be_read(product):
    pipeline = product.pipeline()
    found = {name: pipeline.table(name).count_rows() for name in pipeline.reader.tables()}
    assert found["seen/strict"] == len(product.table("seen/strict")) > 0
    assert found["events/strict"] == len(product.events("strict"))


def test_maintenance_forgets_keys_that_no_row_can_repeat(product):
    before = product.table("seen/strict")
    maintain(product.pipeline().context)
    after = product.table("seen/strict")
    assert Counter(row["partition"] for row in after) == remembered(product.events("strict"), WITHIN)
    assert len({(row["partition"], row["key"]) for row in after}) == len(after) < len(before)
    assert kept(after).items() <= kept(before).items()
    assert {len(row["key"]) for row in after} == {16}


def test_a_backfill_judges_by_other_keys_and_runs_go_on_from_it(tmp_path):
    product = made(tmp_path)
    for number in range(2):
        fed(product, number)
    other = replace(STRICT, by=("k",), within=25 * SECOND, require=False)
    product.sources["strict"] = other
    product.write(numbers={"deduplicate": NUMBERS})
    built = product.pipeline().backfill("1970-01-01")
    product.pipeline().promote(built["version"])
    fed(product, 2)
    old, new = oracle.judge(STRICT, RUNS), oracle.judge(other, RUNS)
    kept = [v for v, w in zip(old.verdicts, new.verdicts, strict=True) if v.run < 2 and timeless(v) and timeless(w)]
    wanted = {(each.partition, each.offset): each for each in (*new.verdicts, *kept)}
    product.version = built["version"]
    assert verdicts(product.events("strict"), *EXACT) == expected(
        replace(new, verdicts=tuple(wanted.values())), *EXACT
    )
    found = product.pipeline().replay(input="events")
    assert found["identical"], [batch["differences"] for batch in found["batches"]]


def timeless(verdict: oracle.Verdict) -> bool:
    """Whether a row has no time in its stream: if it has none before and after, a backfill leaves it its fate."""
    return verdict.system_timestamp is None
