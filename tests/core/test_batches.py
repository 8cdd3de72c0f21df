"""Objects, how they are cut into micro-batches, and what a micro-batch reports."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidemark.core.batch import Batch, LandedObject, ObjectState, RunPlan, cut, loaded_uri, stored_uri
from tidemark.core.batch_result import (
    Account,
    BatchRecord,
    Shifts,
    TableDigest,
    total,
    versions_of,
    writer_of,
)
from tidemark.core.policy import Fate, Reason


def item(uri: str, size: int = 1, source: str = "a", modified: int = 0) -> LandedObject:
    return LandedObject(source, uri, size, modified, "tag")


def sizes(batches: tuple[Batch, ...]) -> list[list[int]]:
    return [[each.size for each in batch.objects] for batch in batches]


OBJECTS = [item(str(number), size) for number, size in enumerate((4, 3, 3, 9, 1, 1))]


@pytest.mark.parametrize(
    ("max_files", "max_bytes", "wanted"),
    [
        (None, None, [[4, 3, 3, 9, 1, 1]]),
        (2, None, [[4, 3], [3, 9], [1, 1]]),
        (None, 7, [[4, 3], [3], [9], [1, 1]]),
        (None, 9, [[4, 3], [3], [9], [1, 1]]),
        (None, 10, [[4, 3, 3], [9, 1], [1]]),
        (2, 10, [[4, 3], [3], [9, 1], [1]]),
        (9, 1, [[4], [3], [3], [9], [1], [1]]),
    ],
)
def test_a_micro_batch_is_full_of_files_or_bytes_and_takes_one_object_at_least(max_files, max_bytes, wanted):
    found = cut(OBJECTS, 5, max_files, max_bytes)
    assert sizes(found) == wanted
    assert [batch.batch_id for batch in found] == list(range(5, 5 + len(wanted)))
    assert [each for batch in found for each in batch.objects] == OBJECTS


def test_no_object_gives_one_empty_micro_batch():
    assert cut([], 5, 2, 2) == (Batch(5, ()),)


def test_a_run_goes_from_its_first_batch_to_its_last():
    plan = RunPlan("r", 0, cut(OBJECTS, 5, 2, None))
    assert (plan.first, plan.last) == (5, 7)
    assert RunPlan("r", 0, (Batch(3, ()),)).last == 3


def test_a_batch_has_the_objects_of_each_source_in_order():
    one, two, three = item("x"), item("y", source="b"), item("z")
    batch = Batch(1, (one, two, three))
    assert (batch.of("a"), batch.of("b"), batch.of("c")) == ((one, three), (two,), ())


def test_objects_are_in_the_order_of_landing_and_then_of_the_bytes_of_their_names():
    names = ["b", "a/x", "a-", "é", "\udcff", "z"]
    items = [item(name, modified=1) for name in names] + [item("late", modified=2), item("early")]
    found = [each.uri for each in sorted(items, key=lambda each: each.order)]
    assert found == ["early", "a-", "a/x", "b", "z", "é", "\udcff", "late"]


def test_where_an_object_is_read_makes_no_other_object_of_it():
    plain = LandedObject("a", "x", 1, 0, "tag")
    assert plain == LandedObject("a", "x", 1, 0, "tag", path="/elsewhere", refusal="sealed")
    assert (plain.state, plain.rows) == (ObjectState.PLANNED, 0)


@pytest.mark.parametrize(
    ("uri", "stored"),
    [
        ("day=1/a b.json", "day=1/a b.json"),
        ("//x é", "////x %C3%A9"),
        ("a\udcff/b c", "//a%FF/b c"),
        ("/x", "/x"),
        ("a%41", "a%41"),
    ],
)
def test_a_name_is_stored_unchanged_unless_its_bytes_are_no_text_or_it_looks_quoted(uri, stored):
    assert stored_uri(uri) == stored
    assert loaded_uri(stored) == uri


# -- what is reported


@example(list(range(52)))
@example([n * n for n in range(102)])
@given(st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_quantiles_of_moves_lie_between_the_neighbours_in_proportion(moves):
    ordered = sorted(moves)
    counts = {size: len(list(same)) for size, same in groupby(ordered)}
    shifts = Shifts.of(99, counts)
    assert shifts.largest == 99
    for percent, found in ((50, shifts.p50), (95, shifts.p95), (99, shifts.p99)):
        place = Fraction(percent * (len(ordered) - 1), 100)
        low = ordered[int(place)]
        high = ordered[min(int(place) + 1, len(ordered) - 1)]
        assert found == int(low + (high - low) * (place - int(place)))


def test_accounts_add_up_and_keep_the_fates_that_no_row_has():
    one = Account("a", "0", {Fate.ON_TIME: 3, Fate.DROPPED: 1}, {Reason.LATE: 1, Reason.EARLY: 0})
    two = Account("b", "1", {Fate.ON_TIME: 2, Fate.ADJUSTED: 4}, {Reason.LATE: 2, Reason.OUT_OF_ORDER: 2})
    fates, reasons = total([one, two])
    assert fates == {Fate.ON_TIME: 5, Fate.ADJUSTED: 4, Fate.DROPPED: 1, Fate.QUARANTINED: 0}
    assert reasons == {Reason.LATE: 3, Reason.OUT_OF_ORDER: 2}
    assert (one.rows, two.rows) == (4, 6)


@pytest.mark.parametrize(("digest", "version"), [("2:0a", 2), ("11:0a", 11), ("0a12", 1), ("12", 1), ("x:0a", 1)])
def test_a_digest_names_its_version_before_its_digits_or_has_the_first(digest, version):
    assert TableDigest("streams/s", 1, digest).version == version
    assert versions_of([TableDigest("streams/s", 1, digest)]) == {"streams/s": version}


def test_a_batch_ends_its_run_if_it_is_the_last_of_it():
    record = BatchRecord(3, "r", 2, 4, 0, "committed", "", "", "", "")
    assert [BatchRecord(**vars(record) | {"batch_id": number}).ends_run for number in (3, 4)] == [False, True]
    assert (record.objects, record.bytes) == (0, 0)


def test_writers_of_substreams_are_known_by_their_source():
    assert writer_of("readings") == "tidemark/readings"
