"""A pipeline with landing and tables on S3 does what the same pipeline does in a folder."""

from __future__ import annotations

from typing import Any

import pytest

from product import Product
from s3_product import Remote
from e2e.samples import KEYED, at, hold_conservation, hold_replay, obj

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("quick")]

STREAMS = {
    "streams": {
        "kept": {"from": "readings", "where": "k is not null", "publish": True},
        "counted": {"from": "kept", "tumbling": "2s", "select": {"n": "count(*)"}},
    }
}
OBJECTS = [obj("one.json", 10), obj("a/two words.json", 20), obj("b=1/3:é#%20.json", 30), obj("a/0-late-name.json", 40)]


def digests(product: Product) -> list[Any]:
    return [record["digests"] for record in sorted(product.table("batches"), key=lambda row: row["batch_id"])]


def test_runs_replays_and_answers_are_those_of_a_folder(tmp_path, service, bucket):
    local = Product(tmp_path / "local", {"readings": KEYED}, STREAMS)
    remote = Remote(tmp_path / "remote", {"readings": KEYED}, STREAMS, bucket=bucket, service=service)
    for product in (local, remote):
        product.land("readings", OBJECTS[:3])
        product.run(at(60), max_files=2)
        product.land("readings", OBJECTS[3:])
        product.run(at(120))
    assert digests(remote) == digests(local)
    assert [row["state"] for row in remote.table("objects")] == ["read"] * 4
    hold_conservation(remote)
    assert {batch["input"] for batch in hold_replay(remote)["batches"]} == {"landing"}
    assert {batch["input"] for batch in hold_replay(remote, input="events")["batches"]} == {"events"}
    assert remote.run(at(180))["batches"][0]["rows"] == 0
    one, other = remote.pipeline(), local.pipeline()
    assert one.rows(limit=500)["rows"] == other.rows(limit=500)["rows"]
    assert one.explain("readings", "p0", 3)["sentences"] == other.explain("readings", "p0", 3)["sentences"]
    assert one.path("events/readings") == {"path": f"s3://{bucket}/warehouse/tested/v1/events/readings"}
    assert [each["watermark"] for each in one.status()["partitions"]] == [
        each["watermark"] for each in other.status()["partitions"]
    ]
    assert one.table("streams/counted").count_rows() == other.table("streams/counted").count_rows() > 0
