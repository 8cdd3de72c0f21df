"""Which recorded run reads which object when landing is read again."""

from __future__ import annotations

from dataclasses import replace

from tidemark.core.backfill.landing import PastRun, Sources, missing, reread
from tidemark.core.batch import Batch, LandedObject, ObjectState

SOURCES = Sources({"a": 0, "b": 2}, {"a": None, "b": 10})


def item(uri: str, modified: int, source: str = "a", tag: str = "new") -> LandedObject:
    return LandedObject(source, uri, 1, modified, tag)


def taken(uri: str, modified: int, source: str = "a", state: ObjectState = ObjectState.READ) -> LandedObject:
    return replace(item(uri, modified, source, "then"), state=state)


def run(as_of: int, *batches: tuple[int, list[LandedObject]], complete: frozenset[str] = frozenset()) -> PastRun:
    return PastRun(as_of, tuple(Batch(number, tuple(objects)) for number, objects in batches), complete)


def read(runs, there, before=None, known=()):
    found = reread(runs, {(each.source, each.uri): each for each in there}, before, SOURCES, known)
    return [[(batch.batch_id, [each.uri for each in batch.objects]) for batch in batches] for batches in found]


RUNS = [run(10, (3, [taken("x", 5)]), (4, [taken("y", 8)])), run(20, (5, [taken("z", 15)]))]


def test_unchanged_landing_is_read_by_the_runs_that_read_it():
    there = [item("x", 5), item("y", 8), item("z", 15)]
    assert read(RUNS, there) == [[(3, ["x"]), (4, ["y"])], [(5, ["z"])]]


def test_an_object_that_was_repaired_counts_as_landed_when_it_had_landed():
    (batches,) = reread(RUNS[:1], {("a", "x"): item("x", 99)}, None, SOURCES)
    (one,) = batches[0].objects
    assert (one.modified, one.tag) == (5, "new")


def test_an_object_that_came_too_late_is_read_where_its_time_puts_it():
    there = [item("x", 5), item("y", 8), item("z", 15), item("n", 6), item("m", 9), item("o", 11)]
    assert read(RUNS, there) == [[(3, ["x", "n"]), (4, ["y", "m"])], [(5, ["o", "z"])]]


def test_an_object_that_a_later_run_took_is_read_by_the_run_it_should_have_come_to():
    runs = [RUNS[0], run(20, (5, [taken("z", 7)]))]
    assert read(runs, [item("z", 30)]) == [[(3, ["z"]), (4, [])], [(5, [])]]
    assert read(runs, [item("z", 30)], before=7) == [[(3, []), (4, [])], [(5, ["z"])]]


def test_what_landed_before_the_first_run_or_after_the_last_is_left():
    assert read(RUNS, [item("n", 2), item("o", 21)], before=2) == [[(3, []), (4, [])], [(5, [])]]


def test_objects_wait_until_they_have_settled_and_are_not_too_old():
    runs = [run(10, (1, [])), run(30, (2, []))]
    assert read(runs, [item("n", 8, "b"), item("o", 9, "b"), item("p", 25, "b")]) == [[(1, ["n"])], [(2, ["p"])]]


def test_an_object_of_the_oldest_age_is_read_and_one_that_was_taken_is_at_any_age():
    runs = [run(30, (1, [taken("old", 5, "b")]))]
    assert read(runs, [item("at", 20, "b"), item("over", 19, "b"), item("old", 5, "b")]) == [[(1, ["old", "at"])]]


def test_an_object_that_a_run_took_is_never_too_old_for_the_run_it_should_have_come_to():
    runs = [run(20, (1, [])), run(30, (2, [taken("old", 5, "b")]))]
    assert read(runs, [item("old", 5, "b")]) == [[(1, ["old"])], [(2, [])]]


def test_what_had_settled_by_the_run_before_the_first_is_left():
    assert read([run(10, (1, []))], [item("n", 3, "b"), item("o", 4, "b")], before=5) == [[(1, ["o"])]]


def test_a_source_that_was_complete_takes_only_what_it_took():
    runs = [run(10, (1, [taken("x", 5)])), run(20, (2, [taken("z", 15)]), complete=frozenset("a"))]
    assert read(runs, [item("x", 5), item("z", 15), item("n", 12)]) == [[(1, ["x"])], [(2, ["z"])]]


def test_sources_are_read_in_their_order():
    runs = [run(10, (1, [taken("x", 5)]), (2, [taken("v", 3, "b")]))]
    assert read(runs, [item("x", 5), item("v", 3, "b"), item("n", 9), item("u", 1, "b")]) == [
        [(1, ["x", "n", "u"]), (2, ["v"])]
    ]


def test_known_objects_are_not_read_and_vanished_ones_are_as_new():
    runs = [run(10, (1, [taken("x", 5), taken("w", 6, state=ObjectState.VANISHED)]))]
    assert read(runs, [item("x", 5), item("w", 7)], known={("a", "x")}) == [[(1, ["w"])]]


def test_what_a_run_took_and_is_gone_is_missing():
    there = {("a", "x"): item("x", 5)}
    assert missing(RUNS, there) == [("a", "y"), ("a", "z")]
    assert missing([run(10, (1, [taken("w", 6, state=ObjectState.VANISHED)]))], {}) == []
