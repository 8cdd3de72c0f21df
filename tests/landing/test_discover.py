"""Which objects a run takes and what listing them reports."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ledger_samples import NOON, SECOND, land, plan_run
from tidemark.core.batch import ObjectState, loaded_uri, stored_uri
from tidemark.core.batch_result import Diagnostic
from tidemark.landing.discover import discover, known_objects
from tidemark.landing.listing import LandingLocation
from tidemark.ledger import maintenance
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed
from tidemark.ledger.tables import files, store
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.commits import FORGOTTEN

MINUTE = 60 * SECOND
AGE = 10 * MINUTE


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


class Runs:
    """A source, its landing folder and its ledger; each run takes what is new."""

    def __init__(self, folder):
        self.landing = folder / "landing"
        self.landing.mkdir()
        self.ledger = Ledger(folder / "warehouse" / "toll")
        self.previous = None

    def look(self, as_of, source="readings", age=None, landed_at=None, previous=..., **given):
        place = LandingLocation(str(self.landing), landed_at, age)
        before = self.previous if previous is ... else previous
        return discover(self.ledger, place, source, as_of=as_of, previous_as_of=before, **given)

    def run(self, as_of, become=None, **given):
        found = self.look(as_of, **given)
        noticed = Noticed(found.findings, found.reported)
        record = plan_run(self.ledger, [found.new], noticed, plan_id=str(as_of))[0]
        states = become or {}
        final = [replace(item, state=states.get(item.uri, ObjectState.READ)) for item in found.new]
        self.ledger.commit(record, [*final, *found.reported])
        self.previous = as_of
        return found


def uris(found):
    return [item.uri for item in found.new]


def kinds(found):
    return {finding.type: finding.count for finding in found.findings}


def test_new_objects_come_in_the_order_of_landing_time_and_then_uri_bytes(runs):
    for uri, at in (("b", 1), ("a", 1), ("Z", 1), ("é", 1), ("z", 0), ("y", 2)):
        land(runs.landing, uri, at=NOON + at)
    found = runs.run(NOON + MINUTE)
    assert uris(found) == ["z", "Z", "a", "b", "é", "y"]
    assert [item.path for item in found.new] == [str(runs.landing / uri) for uri in uris(found)]
    assert {item.state for item in found.new} == {ObjectState.PLANNED}
    assert found.findings == ()


def test_objects_with_landing_times_after_the_clock_are_named_and_wait(runs):
    for uri, at in (("past", 0), ("now", 1), ("ahead", 2), ("far", 9)):
        land(runs.landing, uri, at=NOON + at)
    found = runs.look(NOON, now=NOON + 1)
    assert (uris(found), sorted(item.uri for item in found.ahead)) == (["past"], ["ahead", "far"])
    assert found.findings == ()
    assert uris(runs.run(NOON + 2, now=NOON + 2)) == ["past", "now", "ahead"]


def test_an_object_is_taken_once_per_source_and_uri(runs):
    land(runs.landing, "a")
    assert uris(runs.run(NOON)) == ["a"]
    land(runs.landing, "b", at=NOON + 1)
    assert uris(runs.run(NOON + 1)) == ["b"]
    assert uris(runs.run(NOON + 2)) == []
    assert uris(runs.look(NOON + 2, source="other", previous=None)) == ["a", "b"]


def test_what_retention_has_forgotten_is_not_taken_again_when_older_objects_may_come(runs):
    for number in range(4):
        land(runs.landing, str(number), at=NOON + number * MINUTE)
        runs.run(NOON + number * MINUTE, age=MINUTE)
    maintenance.retain(runs.ledger, 4, NOON + 2 * MINUTE)
    assert set(known_objects(runs.ledger, "readings", ["0", "1", "2", "3"])) == {"2", "3"}
    land(runs.landing, "between", at=NOON + 2 * MINUTE)
    clone(runs.ledger.folder / "objects", runs.ledger.root / "v2" / "objects", 2)
    assert Ledger(runs.ledger.root, 2).stores["objects"].number(FORGOTTEN) == NOON + 2 * MINUTE
    found = runs.run(NOON + 4 * MINUTE)
    assert (uris(found), kinds(found)) == (["between"], {Diagnostic.TOO_OLD: 2, Diagnostic.LISTED_LATE: 1})
    assert kinds(runs.run(NOON + 5 * MINUTE)) == {}
    new = runs.look(NOON + 5 * MINUTE, source="added", previous=None)
    assert uris(new) == ["0", "1", "2", "between", "3"]


@pytest.mark.parametrize(("age", "taken"), [(4, False), (5, True), (6, True)])
def test_an_object_waits_until_it_is_as_old_as_settle(runs, age, taken):
    land(runs.landing, "a", at=NOON - age)
    assert bool(runs.look(NOON, settle=5).new) is taken


def test_an_object_that_settled_since_the_previous_run_is_not_late(runs):
    land(runs.landing, "a", at=NOON - 4)
    assert uris(runs.run(NOON, settle=5)) == []
    found = runs.run(NOON + 1, settle=5)
    assert uris(found) == ["a"]
    assert found.findings == ()


@pytest.mark.parametrize(("after", "late"), [(-1, True), (0, True), (1, False)])
def test_an_object_listed_after_its_landing_time_had_passed_is_taken_and_reported(runs, after, late):
    runs.run(NOON)
    land(runs.landing, "a", at=NOON + after)
    found = runs.run(NOON + MINUTE)
    assert uris(found) == ["a"]
    assert kinds(found) == ({Diagnostic.LISTED_LATE: 1} if late else {})


def test_late_objects_are_one_finding_with_their_landing_times(runs):
    runs.run(NOON)
    for index in range(3):
        land(runs.landing, f"{index}", at=NOON - index)
    (finding,) = runs.run(NOON + MINUTE, settle=0).findings
    assert (finding.count, finding.first_time, finding.last_time) == (3, NOON - 2, NOON)
    assert (finding.sample.file, finding.sample.arrival_time) == ("2", NOON - 2)
    assert (finding.partition, finding.tolerance) == (None, 0)


def test_nothing_is_listed_late_on_a_sources_first_run(runs):
    land(runs.landing, "a", at=NOON - MINUTE)
    assert runs.look(NOON, previous=None).findings == ()


def test_a_changed_object_is_reported_once_for_each_new_content_and_never_read(runs):
    land(runs.landing, "a")
    runs.run(NOON)
    land(runs.landing, "a", "changed", at=NOON + 1)
    found = runs.run(NOON + 1)
    assert (uris(found), kinds(found)) == ([], {Diagnostic.OBJECT_CHANGED: 1})
    assert runs.run(NOON + 2).findings == ()
    land(runs.landing, "a", "again", at=NOON + 3)
    assert kinds(runs.run(NOON + 3)) == {Diagnostic.OBJECT_CHANGED: 1}
    land(runs.landing, "a", "changed", at=NOON + 1)
    assert runs.run(NOON + 4).findings == ()
    land(runs.landing, "a")
    assert runs.run(NOON + 5).findings == ()


def test_a_change_that_has_not_settled_is_reported_later(runs):
    land(runs.landing, "a", at=NOON - MINUTE)
    runs.run(NOON, settle=5)
    land(runs.landing, "a", "changed", at=NOON + 1)
    assert runs.run(NOON + 2, settle=5).findings == ()
    assert kinds(runs.run(NOON + 6, settle=5)) == {Diagnostic.OBJECT_CHANGED: 1}


def test_a_quarantined_object_is_new_again_when_it_has_changed(runs):
    land(runs.landing, "a")
    runs.run(NOON, become={"a": ObjectState.QUARANTINED})
    assert uris(runs.run(NOON + 1)) == []
    land(runs.landing, "a", "mended", at=NOON + 2)
    found = runs.run(NOON + 2)
    assert (uris(found), found.findings) == (["a"], ())
    assert uris(runs.run(NOON + 3)) == []
    land(runs.landing, "a", "changed", at=NOON + 4)
    assert kinds(runs.run(NOON + 4)) == {Diagnostic.OBJECT_CHANGED: 1}


def test_a_vanished_object_is_taken_when_it_is_back(runs):
    land(runs.landing, "a")
    runs.run(NOON, become={"a": ObjectState.VANISHED})
    assert uris(runs.run(NOON + 1)) == ["a"]
    assert uris(runs.run(NOON + 2)) == []


@pytest.mark.parametrize(("over", "old"), [(-1, False), (0, False), (1, True)])
def test_an_object_older_than_the_limit_is_not_taken_and_reported(runs, over, old):
    land(runs.landing, "a", at=NOON - AGE - over)
    found = runs.run(NOON, age=AGE)
    assert (uris(found), kinds(found)) == (([], {Diagnostic.TOO_OLD: 1}) if old else (["a"], {}))
    assert all(finding.tolerance == AGE for finding in found.findings)


def test_a_too_old_object_is_reported_once(runs):
    land(runs.landing, "a", at=NOON - 2 * AGE)
    assert kinds(runs.run(NOON, age=AGE)) == {Diagnostic.TOO_OLD: 1}
    assert runs.run(NOON + 1, age=AGE).findings == ()
    assert runs.run(NOON + AGE, age=AGE).findings == ()


def test_an_object_that_grows_too_old_before_it_is_taken_is_reported(runs):
    land(runs.landing, "a", at=NOON)
    runs.run(NOON - 1, age=AGE)
    found = runs.run(NOON + AGE + 1, age=AGE)
    assert (uris(found), kinds(found)) == ([], {Diagnostic.TOO_OLD: 1})
    assert runs.run(NOON + AGE + 2, age=AGE).findings == ()


def test_a_taken_object_that_grows_too_old_is_not_reported(runs):
    land(runs.landing, "a", at=NOON)
    runs.run(NOON, age=AGE)
    assert runs.run(NOON + AGE + 1, age=AGE).findings == ()


def test_an_old_object_brought_between_runs_is_reported(runs):
    runs.run(NOON, age=AGE)
    land(runs.landing, "a", at=NOON - 2 * AGE)
    assert kinds(runs.run(NOON + 1, age=AGE)) == {Diagnostic.TOO_OLD: 1}
    assert runs.run(NOON + 2, age=AGE).findings == ()


def test_old_objects_that_lay_there_at_the_previous_run_are_not_even_looked_up(runs, monkeypatch):
    land(runs.landing, "a", at=NOON - 2 * AGE)
    later = (runs.landing / "a").stat().st_ctime_ns // 1000 + MINUTE
    looked = []
    monkeypatch.setattr(
        "tidemark.landing.discover.known_objects", lambda _ledger, _source, uris: looked.extend(uris) or {}
    )
    runs.look(later + 1, age=AGE, previous=later)
    assert looked == []


def test_a_too_old_object_is_taken_once_the_limit_is_raised(runs):
    land(runs.landing, "a", at=NOON - 2 * AGE)
    runs.run(NOON, age=AGE)
    assert uris(runs.run(NOON + 1)) == ["a"]


def test_a_closed_source_takes_nothing_and_reports_what_lands_once(runs):
    land(runs.landing, "a")
    runs.run(NOON)
    land(runs.landing, "b", at=NOON + 1)
    land(runs.landing, "c", at=NOON - 1)
    found = runs.run(NOON + 1, closed=True)
    assert (uris(found), kinds(found)) == ([], {Diagnostic.LANDED_AFTER_CLOSE: 2})
    assert runs.run(NOON + 2, closed=True).findings == ()
    land(runs.landing, "b", "other", at=NOON + 3)
    assert kinds(runs.run(NOON + 3, closed=True)) == {Diagnostic.LANDED_AFTER_CLOSE: 1}


def test_an_object_refused_for_its_name_is_new_with_the_reason_and_taken_once(runs):
    class Never:
        plus = 0

        def landing_time(self, _uri):
            return None

    land(runs.landing, "a", at=NOON)
    (item,) = runs.run(NOON, landed_at=Never(), become={"a": ObjectState.QUARANTINED}).new
    assert (item.modified, "landed_at" in item.refusal) == (NOON, True)
    assert runs.run(NOON + 1, landed_at=Never()).new == ()


def test_undecodable_names_are_taken_once_and_never_confused(runs):
    odd = b"a\xff".decode("utf-8", "surrogateescape")
    names = {odd, "a%FF", "a\\xff", "a\\udcff"}
    for name in names:
        land(runs.landing, name)
    assert set(uris(runs.run(NOON))) == names
    assert uris(runs.run(NOON + 1)) == []


@pytest.mark.parametrize("uri", ["a", "a b/ü%2F\n", "x\udcff/%41", "\udc80", "%FF"])
def test_a_stored_uri_is_text_and_leads_back(uri):
    assert loaded_uri(stored_uri(uri)) == uri
    assert stored_uri(uri).encode("utf-8")


def test_objects_of_a_pending_run_count_as_taken(runs):
    land(runs.landing, "a")
    pending = runs.look(NOON).new
    land(runs.landing, "b")
    assert uris(runs.look(NOON, pending=pending)) == ["b"]


def test_looking_writes_nothing(runs):
    land(runs.landing, "a")
    runs.look(NOON)
    assert not runs.ledger.root.exists()


def test_equal_checksums_do_not_confuse_objects(runs, monkeypatch):
    monkeypatch.setattr("tidemark.ledger.tables.rows.uri_key", lambda _source, _stored: 7)
    monkeypatch.setattr("tidemark.landing.discover.uri_key", lambda _source, _stored: 7)
    land(runs.landing, "a")
    runs.run(NOON)
    land(runs.landing, "b", at=NOON + 1)
    assert uris(runs.look(NOON + 1)) == ["b"]
    assert uris(runs.look(NOON + 1, source="other", previous=None)) == ["a", "b"]


def test_any_history_of_landing_takes_each_object_once(runs):
    """Random landings, merges of files and runs: together the runs take every object exactly once."""
    choose, landed, taken = random.Random(3), [], []  # noqa: S311
    for step in range(12):
        for _ in range(choose.randint(0, 5)):
            name = f"{choose.randrange(10**6)}-{len(landed)}"
            landed.append(name)
            land(runs.landing, name, at=NOON + step - choose.randint(0, 3))
        taken += uris(runs.run(NOON + step))
        runs.ledger.stores["objects"].compact(3)
    assert sorted(taken) == sorted(landed)


def test_a_look_up_opens_no_file_whose_uris_lie_elsewhere_and_reads_few_rows(runs, monkeypatch):
    for day in range(5):
        for index in range(20):
            land(runs.landing, f"{day}/{index}", at=NOON + day)
        runs.run(NOON + day)
    opened, read = [], files.read_hits
    monkeypatch.setattr(store, "read_hits", lambda file, *given: opened.append(file.path) or read(file, *given))
    known = known_objects(runs.ledger, "readings", ["4/1", "4/2", "4/new"])
    assert set(known) == {"4/1", "4/2"}
    assert len(opened) == 1
