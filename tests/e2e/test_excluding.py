"""An object that is named as wrong: the next backfill builds a version in which its rows are quarantined."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from samples import at, fork
from test_backfill import SOURCE, STEPS, events, hold_ledger, product_in, runs, table, windows
from test_streams import payload

from oracle import Outcome, Run, judge
from oracle_streams import flow
from product import Product, expected, micros
from tidemark.cli import invoke
from tidemark.errors import UsageError

pytestmark = pytest.mark.usefixtures("quick")
WRONG = "001"
NUMBER = 4


@pytest.fixture(scope="module")
def live(request, tmp_path_factory) -> Product:
    request.getfixturevalue("quick")
    product = product_in(tmp_path_factory.mktemp("excluding"))
    product.feed("a", runs(NUMBER))
    return product


def without(number: int = NUMBER) -> tuple[Run, ...]:
    """The runs with an object none of whose rows can be judged."""
    found = []
    for run in runs(number):
        objects = [
            replace(each, rows=tuple(replace(row, broken=True) for row in each.rows)) if each.uri == WRONG else each
            for each in run.objects
        ]
        found.append(replace(run, objects=tuple(objects)))
    return tuple(found)


def told(product: Product, outcome: Outcome) -> list[tuple]:
    """The oracle's rows with the reason of those that the object brought."""
    its = {(row["_partition"], row["_offset"]) for row in table(product, 1, "events/a") if row["_file"] == WRONG}
    assert len(its) == 12
    return [(*row[:6], ("excluded",)) if row[:2] in its else row for row in expected(outcome)]


def test_the_next_backfill_is_the_whole_without_the_rows_of_the_object(live, tmp_path, capsys):
    product = fork(live, tmp_path / "p")
    config = str(product.config)
    assert invoke(["exclude", config, WRONG, "--reason", "a sender's test data"]) == 0
    assert "a sender's test data" in capsys.readouterr().out
    assert events(product, 1) == events(live, 1)
    assert invoke(["backfill", config, "--from", "2025-01-01T00:00:00Z"]) == 0
    assert "001 of source a: 12 rows excluded." in " ".join(capsys.readouterr().out.split())
    outcome = judge(SOURCE, without())
    assert events(product, 2) == told(product, outcome)
    written = [item for run in flow({"a": (SOURCE, without())}, STEPS, payload) for item in run["per_4s"].written]
    assert windows(product, 2) == Counter(
        (item.start, item.end, item.payload["n"], tuple(item.payload["keys"]), item.payload["first"])
        for item in written
    )
    hold_ledger(product, 2)
    for row in table(product, 2, "events/a"):
        assert (row["_raw"] is not None) == (row["_disposition"] == "quarantined")

    pipeline = product.pipeline()
    pipeline.promote(2)
    assert pipeline.rows(reason="excluded")["total"] == 12
    one = pipeline.rows(reason="excluded", limit=1)["rows"][0]
    story = " ".join(pipeline.explain("a", one["partition"], one["offset"])["sentences"])
    assert "quarantined (excluded): its object was taken out: a sender's test data" in story
    assert pipeline.replay(all_batches=True)["identical"]
    again = pipeline.backfill(at(12), None)
    assert again["identical"], again["difference"]
    product.feed("a", runs(NUMBER + 1)[NUMBER:])
    assert events(product, 2) == told(product, judge(SOURCE, without(NUMBER + 1)))


@pytest.mark.long
def test_rows_outside_of_the_range_stand_and_are_told(live, tmp_path):
    product = fork(live, tmp_path / "p")
    product.pipeline().exclude(WRONG, "wrong")
    found = product.pipeline().backfill(at(14), None)
    before = {(row["_partition"], row["_offset"]): row for row in table(product, 1, "events/a")}
    standing = 0
    for row in table(product, 2, "events/a"):
        was = before[row["_partition"], row["_offset"]]["_system_timestamp"]
        early = was is not None and micros(was) < at(14)
        if row["_file"] == WRONG:
            standing += early
            assert (row["_reasons"] == ["excluded"]) != early
    assert standing > 0
    assert found["difference"]["excluded"] == [{"source": "a", "uri": WRONG, "rows": 12, "left": standing}]


def test_what_no_run_has_taken_cannot_be_excluded_and_the_last_word_counts(live, tmp_path):
    pipeline = fork(live, tmp_path / "p").pipeline()
    with pytest.raises(UsageError, match="no run has taken an object 'other'"):
        pipeline.exclude("other", "wrong")
    with pytest.raises(UsageError, match="needs a reason"):
        pipeline.exclude(WRONG, " ")
    pipeline.exclude(WRONG, "once")
    said = pipeline.exclude(WRONG, "twice")
    assert (said["uri"], said["reason"], said["sources"]) == (WRONG, "twice", [{"source": "a", "batch_id": 2}])
