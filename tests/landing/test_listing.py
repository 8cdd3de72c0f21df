"""What counts as an object, where it is looked for and when it landed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger_samples import NOON, SECOND, land
from tidemark.core.times import parse_time
from tidemark.errors import TidemarkError
from tidemark.landing.listing import LandingLocation, list_objects

DAY = 86_400 * SECOND
HOUR = 3_600 * SECOND


@dataclass(frozen=True)
class ByDay:
    """The midnight that ends the day in the name, plus `plus`."""

    plus: int = 0

    def landing_time(self, uri):
        found = re.search(r"dt=(\d{4})-(\d\d)-(\d\d)/", uri)
        if found is None:
            return None
        return int(datetime(*map(int, found.groups()), tzinfo=UTC).timestamp()) * SECOND + DAY + self.plus


def uris(place, as_of=NOON):
    found = [item.uri for item in list_objects(place, as_of)]
    assert len(found) == len(set(found))
    return set(found)


def test_an_object_has_its_uri_size_landing_time_and_tag(tmp_path):
    path = land(tmp_path, "a/b.json", "four", NOON + 1)
    (item,) = list_objects(LandingLocation(str(tmp_path)), NOON)
    assert (item.uri, item.size, item.modified) == ("a/b.json", 4, NOON + 1)
    assert item.tag == f"{path.stat().st_mtime_ns}-4"


def test_a_folder_is_taken_recursively_and_hidden_or_underscored_names_are_not(tmp_path):
    for uri in (
        "x",
        "a/x",
        "a/b/c/x",
        ".x",
        "_x",
        "a/.b/x",
        "a/_temporary/0/x",
        "_delta_log/x",
        "a/b/_SUCCESS",
    ):
        land(tmp_path, uri)
    (tmp_path / "empty").mkdir()
    assert uris(LandingLocation(str(tmp_path))) == {"x", "a/x", "a/b/c/x"}


@pytest.mark.parametrize("folder", ["_landing", ".landing"])
def test_the_landing_folder_itself_may_be_hidden(tmp_path, folder):
    land(tmp_path / folder, "x")
    assert uris(LandingLocation(str(tmp_path / folder))) == {"x"}


@pytest.mark.parametrize(
    "name",
    ["a b.json", "ü-日本.json", "new\nline", "%41 +?#[].json", "back\\slash", "a'\".json", "-x", "{yyyy}"],
)
def test_names_are_taken_as_they_are(tmp_path, name):
    land(tmp_path, f"d/{name}")
    place = LandingLocation(str(tmp_path))
    assert uris(place) == {f"d/{name}"}
    assert Path(place.path(f"d/{name}")).stat().st_size == 1
    assert place.refusal(f"d/{name}") is None


def test_a_name_that_is_not_utf8_is_listed_and_refused(tmp_path):
    name = b"bad\xff.json".decode("utf-8", "surrogateescape")
    land(tmp_path, name)
    place = LandingLocation(str(tmp_path))
    assert uris(place) == {name}
    assert "UTF-8" in place.refusal(name)


def test_links_are_followed_only_inside_of_the_landing_folder_and_to_what_has_no_other_name(tmp_path):
    landing, outside = tmp_path / "landing", tmp_path / "outside"
    land(landing, "real/x")
    land(landing, ".kept/z")
    land(outside, "y")
    (landing / "z").symlink_to(landing / ".kept" / "z")
    (landing / "kept").symlink_to(landing / ".kept")
    (landing / "file").symlink_to(landing / "real" / "x")
    (landing / "folder").symlink_to(landing / "real")
    (landing / "away").symlink_to(outside)
    (landing / "away-file").symlink_to(outside / "y")
    (landing / "real" / "loop").symlink_to(landing)
    (landing / "real" / "self").symlink_to(landing / "real")
    (landing / "broken").symlink_to(landing / "nowhere")
    left_out: dict[str, str] = {}
    assert {item.uri for item in list_objects(LandingLocation(str(landing)), NOON, left_out)} == {
        "real/x", "z", "kept/z",
    }  # fmt: skip
    assert left_out.keys() == {"away", "away-file", "file", "folder"}, "nothing is missed by a loop"


@pytest.mark.parametrize("age", [None, 3 * DAY])
def test_a_dated_link_to_another_dated_folder_is_not_listed_twice(tmp_path, age):
    land(tmp_path, "2026-01-07/x", at=NOON)
    land(tmp_path, "archive/2026-01-06/w", at=NOON)
    (tmp_path / "2026-01-06").symlink_to(tmp_path / "archive" / "2026-01-06")
    (tmp_path / "2026-01-08").symlink_to(tmp_path / "2026-01-07")
    place, left_out = LandingLocation(f"{tmp_path}/{{yyyy}}-{{MM}}-{{dd}}", None, age), dict[str, str]()
    found = list(list_objects(place, parse_time("2026-01-08T12:00:00Z"), left_out))
    assert {item.uri for item in found} == {"2026-01-07/x", "2026-01-06/w"}
    assert left_out.keys() == {"2026-01-08/"}


def test_a_landing_folder_that_is_a_link_is_followed(tmp_path):
    land(tmp_path / "real", "x")
    (tmp_path / "landing").symlink_to(tmp_path / "real")
    assert uris(LandingLocation(str(tmp_path / "landing"))) == {"x"}


def test_pipes_are_no_objects(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert uris(LandingLocation(str(tmp_path))) == set()


def test_a_missing_landing_folder_is_an_error_and_not_an_empty_source(tmp_path):
    with pytest.raises(TidemarkError, match="does not exist"):
        list(list_objects(LandingLocation(str(tmp_path / "nowhere")), NOON))
    with pytest.raises(TidemarkError, match="does not exist"):
        list(list_objects(LandingLocation(str(tmp_path / "nowhere" / "{yyyy}")), NOON))


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "shut").mkdir()
    scan = os.scandir

    def refusing(folder):
        if str(folder).rstrip("/").endswith("shut"):
            raise PermissionError(13, "Permission denied", folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(TidemarkError, match="Permission denied"):
        uris(LandingLocation(str(tmp_path)))


def test_a_landing_time_is_read_from_the_name_and_the_files_own_where_it_cannot(tmp_path):
    land(tmp_path, "dt=2026-01-01/a", at=NOON + 5)
    land(tmp_path, "other/b", at=NOON + 6)
    place = LandingLocation(str(tmp_path), landed_at=ByDay())
    times = {item.uri: item.modified for item in list_objects(place, NOON)}
    assert times == {"dt=2026-01-01/a": NOON + DAY // 2, "other/b": NOON + 6}
    assert place.refusal("dt=2026-01-01/a") is None
    assert "landed_at" in place.refusal("other/b")


@pytest.mark.parametrize(
    ("landing", "root", "levels"),
    [
        ("/data/in", "/data/in", ()),
        ("/data/in/", "/data/in", ()),
        ("/", "/", ()),
        ("/data/{yyyy}/{MM}/in", "/data", ("{yyyy}", "{MM}", "in")),
        ("/data/dt={yyyy}-{MM}-{dd}", "/data", ("dt={yyyy}-{MM}-{dd}",)),
        ("/{yyyy}", "/", ("{yyyy}",)),
    ],
    ids=str,
)
def test_uris_are_relative_to_the_part_before_the_first_placeholder(landing, root, levels):
    place = LandingLocation(landing)
    assert (place.root, place.levels) == (root, levels)
    assert place.path("x/y") == f"{root.rstrip('/')}/x/y"


DATED = {
    "2025/12/31/in/x",
    "2026/01/01/in/x",
    "2026/01/01/in/deep/x",
    "2026/01/02/in/x",
    "2026/01/03/in/x",
    "2025/12/29/in/x",
    "2019/07/01/in/x",
}
OTHER = {"2026/01/01/out/x", "2026/1/1/in/x", "abcd/01/01/in/x", "2026/01/x", "x"}


@pytest.fixture
def dated(tmp_path):
    for uri in DATED | OTHER:
        land(tmp_path, uri)
    return str(tmp_path / "{yyyy}" / "{MM}" / "{dd}" / "in")


def test_without_an_age_placeholders_match_their_digits(dated):
    assert uris(LandingLocation(dated)) == DATED


def test_with_an_age_only_folders_of_its_days_and_one_to_either_side_are_opened(dated, monkeypatch):
    opened, scan = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: (opened.append(str(folder)), scan(folder))[1])
    found = uris(LandingLocation(dated, max_object_age=DAY))
    assert found == DATED - {"2019/07/01/in/x", "2025/12/29/in/x", "2026/01/03/in/x"}
    assert len(opened) <= 5


def test_with_an_age_folders_are_opened_whose_objects_land_a_long_time_after_their_date(dated):
    found = uris(LandingLocation(dated, ByDay(plus=2 * DAY), max_object_age=DAY))
    assert found == DATED - {"2019/07/01/in/x", "2026/01/03/in/x"}


def test_placeholders_may_share_a_folder_name(tmp_path):
    kept = {"dt=2026-01-01 h11/x", "dt=2026-01-02 h11/x"}
    for uri in {*kept, "dt=2025-06-01 h11/x", "dt=2026-01-01/x"}:
        land(tmp_path, uri)
    landing = str(tmp_path / "dt={yyyy}-{MM}-{dd} h{HH}")
    assert uris(LandingLocation(landing, max_object_age=HOUR)) == kept
    assert uris(LandingLocation(landing)) == {*kept, "dt=2025-06-01 h11/x"}


@pytest.mark.parametrize("template", ["{yyyy}", "{yyyy}-{MM}", "{yyyy}{MM}{dd}", "{yyyy}/{MM}/{dd}/{HH}"])
@pytest.mark.parametrize(
    "as_of", [-62_135_596_800_000_000, 0, 253_402_300_799_999_999], ids=["first", "epoch", "last"]
)
def test_any_as_of_can_be_listed(tmp_path, template, as_of):
    assert uris(LandingLocation(str(tmp_path / template), max_object_age=30 * DAY), as_of) == set()


def test_every_month_between_is_opened_for_a_template_of_months(tmp_path):
    months = {f"{year}-{month:02}/x" for year in (2024, 2025) for month in range(1, 13)} | {"2026-01/x"}
    for uri in {*months, "2023-12/x", "2026-03/x"}:
        land(tmp_path, uri)
    assert uris(LandingLocation(str(tmp_path / "{yyyy}-{MM}"), max_object_age=700 * DAY)) == months


def test_a_dated_folder_that_leads_outside_is_not_followed(tmp_path):
    land(tmp_path / "elsewhere", "x")
    landing = tmp_path / "landing"
    land(landing, "2026-01-02/x")
    (landing / "2026-01-01").symlink_to(tmp_path / "elsewhere")
    assert uris(LandingLocation(str(landing / "{yyyy}-{MM}-{dd}"))) == {"2026-01-02/x"}
    assert uris(LandingLocation(str(landing / "{yyyy}-{MM}-{dd}"), max_object_age=DAY)) == {"2026-01-02/x"}
    for oldest in (None, DAY):
        left_out: dict[str, str] = {}
        list(list_objects(LandingLocation(str(landing / "{yyyy}-{MM}-{dd}"), max_object_age=oldest), NOON, left_out))
        assert list(left_out) == ["2026-01-01/"]


def test_if_nothing_is_listed_names_that_do_not_fit_the_placeholders_are_left_out_with_the_reason(tmp_path):
    for uri in ("2026/1/x", "2026/.hidden/x", "notes.txt"):
        land(tmp_path, uri)
    left_out: dict[str, str] = {}
    for template, names in (("{yyyy}/{MM}", ["2026/1"]), ("{yyyy}-{MM}", ["2026", "notes.txt"])):
        left_out.clear()
        assert list(list_objects(LandingLocation(str(tmp_path / template)), NOON, left_out)) == []
        assert sorted(left_out) == names
    land(tmp_path, "2026/02/y")
    left_out.clear()
    assert len(list(list_objects(LandingLocation(str(tmp_path / "{yyyy}/{MM}")), NOON, left_out))) == 1
    assert left_out == {}, "other data may lie beside"
