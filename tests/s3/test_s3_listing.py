"""Listing landing places on S3: what is found, and what it costs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from s3_service import fill, touch

from tidemark.config.address import RemoteLocation
from tidemark.errors import TidemarkError
from tidemark.landing.listing import LandingLocation, list_objects
from tidemark.storage import s3, stores

DAY = 86_400_000_000
MORNING = datetime(2026, 6, 1, 12, tzinfo=UTC)
AS_OF = int(MORNING.timestamp()) * 1_000_000


def uris(place: LandingLocation, as_of: int = AS_OF) -> list[str]:
    return sorted(item.uri for item in list_objects(place, as_of))


def test_objects_have_their_time_size_and_tag(service, bucket):
    service.client().put_object(Bucket=bucket, Key="in/a b.json", Body=b"one")
    touch(bucket, "in/a b.json", AS_OF)
    (item,) = list_objects(LandingLocation(f"s3://{bucket}/in"), AS_OF)
    assert (item.uri, item.size, item.modified, item.arrived) == ("a b.json", 3, AS_OF, AS_OF)
    assert item.tag == stores.tag_of(RemoteLocation(f"s3://{bucket}/in/a b.json"))


def test_of_objects_that_have_versions_the_newest_counts(service, bucket):
    client, place = service.client(), LandingLocation(f"s3://{bucket}/in")
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for key, content in (("a", b"one"), ("a", b"other"), ("b", b"one")):
        client.put_object(Bucket=bucket, Key=f"in/{key}", Body=content)
    client.delete_object(Bucket=bucket, Key="in/b")
    now = int(datetime.now(UTC).timestamp() + 60) * 1_000_000
    (item,) = list_objects(place, now)
    assert (item.uri, item.size, item.tag) == ("a", 5, stores.tag_of(RemoteLocation(f"s3://{bucket}/in/a")))
    assert stores.tag_of(RemoteLocation(f"s3://{bucket}/in/b")) is None


def test_hidden_names_and_empty_folders_are_no_objects(bucket):
    names = ["a.json", "_a.json", ".a", "_tmp/a.json", "x/.y/a.json", "x/y/", "x/y/a.json", "x"]
    fill(bucket, [f"in/{name}" for name in names] + ["in.json", "inner/a.json", "in/"])
    assert uris(LandingLocation(f"s3://{bucket}/in")) == ["a.json", "x", "x/y/a.json"]


def test_if_nothing_is_listed_an_object_that_does_not_fit_the_placeholders_is_left_out_with_the_reason(bucket):
    fill(bucket, ["in/_tmp/x.json", "in/2026/x.json", "in/2027/x.json"])
    for template, names in (("{yyyy}-{MM}", ["2026/x.json"]), ("{yyyy}", [])):
        left_out: dict[str, str] = {}
        list(list_objects(LandingLocation(f"s3://{bucket}/in/{template}"), AS_OF, left_out))
        assert list(left_out) == names


@pytest.mark.parametrize("name", ["a//b.json", "/b.json", "a/../b.json", "./b.json"])
def test_a_name_that_spark_cannot_address_is_refused_and_not_lost(name):
    assert "empty or made of dots" in (LandingLocation("s3://bucket/in").refusal(name) or "")


def test_a_prefix_without_objects_is_empty_and_a_missing_bucket_is_an_error(bucket):
    assert uris(LandingLocation(f"s3://{bucket}/in")) == []
    with pytest.raises(TidemarkError, match="there is no bucket: bucket 'tidemark-missing'"):
        uris(LandingLocation("s3://tidemark-missing/in"))


def test_thousands_of_objects_are_listed_page_by_page(service, bucket, monkeypatch):
    monkeypatch.setattr(s3, "PAGE", 100)
    fill(bucket, [f"in/{number:05}.json" for number in range(3000)])
    with service.counted() as requests:
        found = list_objects(LandingLocation(f"s3://{bucket}/in"), AS_OF)
        first = next(found)
    assert (first.uri, len(requests)) == ("00000.json", 1), "nothing is asked for before it is needed"
    with service.counted() as requests:
        assert sum(1 for _ in found) == 2999
    assert len(requests) == 29


def test_a_name_that_sorts_before_taken_ones_is_found(bucket):
    fill(bucket, ["in/m.json"])
    place = LandingLocation(f"s3://{bucket}/in")
    assert uris(place) == ["m.json"]
    fill(bucket, ["in/a.json"])
    assert uris(place) == ["a.json", "m.json"]


def test_only_days_within_the_age_are_asked_for(service, bucket):
    hours = [MORNING - timedelta(hours=6 * number) for number in range(400)]
    fill(bucket, [f"in/dt={hour:%Y-%m-%d}/hour={hour:%H}/x.json" for hour in hours])
    place = LandingLocation(f"s3://{bucket}/in/dt={{yyyy}}-{{MM}}-{{dd}}/hour={{HH}}", max_object_age=3 * DAY)
    with service.counted() as requests:
        found = uris(place)
    young = {f"dt={hour:%Y-%m-%d}/hour={hour:%H}/x.json" for hour in hours if hour >= MORNING - timedelta(days=3)}
    assert young <= set(found)
    assert len(found) <= len(young) + 4, "a day to either side"
    assert len(requests) == 6, "one for each day, not for each hour"
    assert all("dt%3D2026-0" in request.query or "dt=2026-0" in request.query for request in requests)


def test_without_an_age_all_dates_count_and_other_names_do_not(bucket):
    fill(bucket, ["in/2026/01/x.json", "in/1999/12/a/y.json", "in/2026/x.json", "in/26/01/x.json", "in/2026/01/_z"])
    place = LandingLocation(f"s3://{bucket}/in/{{yyyy}}/{{MM}}")
    assert uris(place) == ["1999/12/a/y.json", "2026/01/x.json"]
