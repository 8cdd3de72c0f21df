"""What an object costs in requests: its part of a listing, and one GET that has the listed tag or fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from s3_product import Remote
from s3_service import Request, fill

from e2e.samples import PLAIN, at, hold_conservation, hold_replay, obj
from product import line
from tidemark.config import load_pipeline
from tidemark.config.address import RemoteLocation
from tidemark.core.batch import LandedObject
from tidemark.storage import s3, stores

MANY = 300


def tags(bucket: str, keys: Sequence[str]) -> list[str | None]:
    return stores.tags_of([RemoteLocation(f"s3://{bucket}/{key}") for key in keys])


def asked(requests: Sequence[Request], of: str) -> Counter[str]:
    """How often objects whose keys have this in them were asked for, and listed."""
    found = Counter(request.method for request in requests if of in request.path)
    listings = sum("list-type" in request.query and of in request.query for request in requests)
    return found + Counter({"listing": listings})


def test_the_tags_of_many_objects_are_listed(service, bucket):
    keys = [f"in/{number:04}" for number in range(900)]
    fill(bucket, keys)
    wanted = keys[300:600]
    fill(bucket, wanted[:1], b"other")
    service.client().delete_object(Bucket=bucket, Key=wanted[7])
    with service.counted() as requests:
        found = tags(bucket, wanted[::-1])
    assert Counter(request.method for request in requests) == {"GET": 1, "HEAD": 1}
    other, plain = (stores.tag_of(RemoteLocation(f"s3://{bucket}/{key}")) for key in wanted[:2])
    assert other != plain
    assert found[::-1] == [other, *[plain] * 6, None, *[plain] * 292]


def test_a_listing_is_given_up_where_it_costs_more_than_asking_for_each(service, bucket, monkeypatch):
    monkeypatch.setattr(s3, "PAGE", 10)
    monkeypatch.setattr(stores, "PAGE", 10)
    keys = [f"in/{number:04}" for number in range(1000)]
    fill(bucket, keys)
    for wanted, costs in ((keys[::10], {"GET": 2, "HEAD": 98}), (keys[:49], {"HEAD": 49})):
        with service.counted() as requests:
            found = tags(bucket, wanted)
        assert Counter(request.method for request in requests) == costs
        assert None not in found


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_an_object_that_is_taken_costs_one_request_besides_listings(tmp_path, service, bucket):
    remote = Remote(tmp_path, {"readings": PLAIN}, bucket=bucket, service=service)
    rows = obj("x", 10, count=1).rows
    fill(bucket, [f"landing/readings/{n:03}.json" for n in range(MANY)], (line(rows[0]) + "\n").encode())
    with service.counted() as requests:
        found = remote.pipeline().run()
    assert sum(batch["rows"] for batch in found["batches"]) == MANY
    assert asked(requests, "landing") == {"GET": MANY, "listing": 2}
    assert len(requests) < MANY + 400, "what tables cost does not grow with objects"


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_what_is_read_has_the_tag_that_was_listed(tmp_path, service, bucket):
    """Even if an object changes after its tag was compared."""
    from tidemark.spark.read.formats import look_at
    from tidemark.spark.read.landed_rows import read_rows
    from tidemark.spark.session.session import open_session

    client = service.client()
    source = {"landing": f"s3://{bucket}/in", "format": "csv", "schema": "v INT", "options": {"header": "true"}}
    config = tmp_path / "p.yml"
    config.write_text(f"pipeline: p\nwarehouse: s3://{bucket}/w\nsources: {{s: {source}}}\n")
    spec, spark = (
        load_pipeline(config, {}).spec.sources["s"],
        open_session(buckets=[RemoteLocation(f"s3://{bucket}")]),
    )
    name = "in/a b=é#%20.csv"
    client.put_object(Bucket=bucket, Key=name, Body=b"v\n1\n2\n")
    place = f"s3://{bucket}/{name}"
    item = LandedObject("s", name[3:], 6, 1, stores.tag_of(RemoteLocation(place)) or "", place)
    with service.counted() as requests:
        assert sorted(row.v for row in read_rows(spark, spec, [item]).collect()) == [1, 2]
    assert asked(requests, "in/") == {"GET": 2}, "its header is looked at, then it is read"
    client.put_object(Bucket=bucket, Key=name, Body=b"w\n3\n4\n")
    assert look_at(spec, [item])[item.uri].refusal is None, "nothing is told of another content"
    with pytest.raises(Exception, match="RemoteFileChangedException"):
        read_rows(spark, spec, [item]).collect()
    client.delete_object(Bucket=bucket, Key=name)
    with pytest.raises(Exception, match=r"FileNotFoundException|FILE_NOT_EXIST"):
        read_rows(spark, spec, [item]).collect()


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_an_object_that_changes_just_before_it_is_read_is_taken_by_the_next_run(tmp_path, service, bucket):
    """After its tag was compared, when Spark asks for it."""
    remote = Remote(tmp_path, {"readings": PLAIN}, bucket=bucket, service=service)
    remote.land("readings", [obj(name, 10) for name in ("a", "b", "c")])
    other, first = line(obj("other", 10, count=1).rows[0]) + "\n", iter([True])

    def meddle(request: Request) -> None:
        if request.method == "GET" and request.path.endswith("/landing/readings/b") and next(first, False):
            remote.put("landing/readings/b", other, at(20))
            service.client().delete_object(Bucket=bucket, Key="landing/readings/c")

    with service.refusing(meddle):
        remote.run(at(60))
    states = {row["uri"]: row["state"] for row in remote.table("objects")}
    assert states == {"a": "read", "b": "vanished", "c": "vanished"}
    assert {row["_file"] for row in remote.table("events/readings")} == {"a"}
    remote.run(at(120))
    assert sum(row["_file"] == "b" for row in remote.table("events/readings")) == 1
    hold_conservation(remote)
    hold_replay(remote)
