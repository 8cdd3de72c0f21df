"""Which version is live."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger_samples import NOON
from tidemark.commands import versions as versioning
from tidemark.errors import Held, UsageError
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.schemas import VERSIONS
from tidemark.ledger.tables.store import Store
from tidemark.ledger.versions import Made, Version
from tidemark_verify.check import _rebuilt


def test_before_the_first_run_no_version_is_live_and_looking_makes_none(tmp_path):
    assert versions.live(tmp_path) is None
    assert versions.listed(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_the_first_version_is_1_and_live(tmp_path):
    assert versions.first(tmp_path, NOON) == 1
    assert versions.first(tmp_path, NOON + 1) == 1
    assert versions.listed(tmp_path) == (Version(1, NOON, NOON, live=True),)


def test_promoting_switches_in_one_commit_and_can_be_undone(tmp_path):
    versions.first(tmp_path, NOON)
    assert versions.add(tmp_path, NOON + 1) == 2
    assert versions.live(tmp_path) == 1
    before = Store(tmp_path / "versions", VERSIONS).open().version()
    versions.promote(tmp_path, 2, NOON + 2)
    assert Store(tmp_path / "versions", VERSIONS).open().version() == before + 1
    assert versions.listed(tmp_path) == (
        Version(1, NOON, NOON, live=False),
        Version(2, NOON + 1, NOON + 2, live=True),
    )
    assert Ledger(tmp_path).folder == tmp_path / "v2"
    versions.promote(tmp_path, 1, NOON + 3)
    assert versions.live(tmp_path) == 1


def test_a_version_that_does_not_exist_is_not_promoted(tmp_path):
    versions.first(tmp_path, NOON)
    with pytest.raises(UsageError, match="version 7 does not exist"):
        versions.promote(tmp_path, 7, NOON)


def test_a_switch_on_top_of_another_one_is_held(tmp_path):
    versions.first(tmp_path, NOON)
    store, rival = (Store(tmp_path / "versions", VERSIONS) for _ in range(2))

    def overtaken(rows):
        rival.rewrite(lambda mine: mine)
        return rows

    with pytest.raises(Held):
        store.rewrite(overtaken)


def test_a_version_is_told_with_the_label_that_was_given_to_it_and_not_within_its_difference(tmp_path):
    root = tmp_path
    versions.first(root, 1)
    told = versioning.recorded_difference({"rows": {}}, "manual__2026")
    versions.add(root, 2, Made(0, None, "f", "{}", 1, 1, None, 0, told))
    versions.add(root, 3, Made(0, None, "f", "{}", 1, 1, None, 0, "{}"))
    one, other = (versioning.version_summary(root, each) for each in versions.listed(root)[1:])
    assert (one["label"], one["difference"], other["label"]) == ("manual__2026", {"rows": {}}, None)


def test_versions_that_were_built_from_one_another_number_their_rows_alike_though_one_between_is_removed(tmp_path):
    versions.first(tmp_path, 1)
    made = Made(0, None, "f", "{}", 1, 1, None, 0, "{}", origin=1)
    versions.add(tmp_path, 2, made)
    versions.add(tmp_path, 3, replace(made, base=2))
    versions.add(tmp_path, 4, replace(made, base=3, origin=None, from_landing=True))
    versions.add(tmp_path, 5, replace(made, base=4, origin=4))
    versions.add(tmp_path, 6, replace(made, base=2, origin=None))  # recorded by an earlier tidemark
    assert versions.origins(tmp_path) == {1: 1, 2: 1, 3: 1, 4: 4, 5: 4, 6: 1}
    versions.forget(tmp_path, [2, 4])
    assert versions.origins(tmp_path) == {1: 1, 3: 1, 5: 4, 6: 2}  # of 6 it is not known any more


def test_a_version_knows_the_batches_that_backfills_of_its_bases_made_though_they_are_removed(tmp_path):
    versions.first(tmp_path, 1)
    recorded = Made(0, None, "f", "{}", 1, 4, 3, 1, "{}", backfilled=((3, 4),))
    versions.add(tmp_path, 2, recorded)
    versions.add(tmp_path, 3, replace(recorded, base=2, through=6, rebuilt=None, backfilled=((3, 4),)))
    versions.add(
        tmp_path, 4, replace(recorded, base=3, through=8, rebuilt=8, backfilled=None)
    )  # by an earlier tidemark
    assert [versions.backfilled(tmp_path, each) for each in (1, 2, 3)] == [(), ((3, 4),), ((3, 4),)]
    assert versions.backfilled(tmp_path, 4) == ((8, 8), (3, 4))
    versions.forget(tmp_path, [2])
    assert versions.backfilled(tmp_path, 4) == ((8, 8), (3, 4))
    rows = {row["version"]: row for row in Store(tmp_path / "versions", VERSIONS).all()}
    assert list(map(tuple, _rebuilt(rows, 4))) == [(8, 8), (3, 4)]
