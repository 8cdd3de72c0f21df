"""Pipelines whose landing and tables are on S3, and the same in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s3_service import SECRET, Service, touch

import oracle
from e2e.samples import hold_conservation
from product import Product, line
from tidemark.pipeline import Pipeline
from tidemark.storage import delta_table, is_table, location_of


@dataclass
class Remote(Product):
    """A pipeline with landing at s3://<bucket>/landing/<source> and tables below s3://<bucket>/warehouse."""

    bucket: str = ""
    service: Service | None = None

    def __post_init__(self) -> None:
        self.settings = {"warehouse": f"s3a://{self.bucket}/warehouse", **self.settings}
        super().__post_init__()

    def write(self, **changed: dict[str, Any]) -> None:
        landing = {name: {"landing": f"s3://{self.bucket}/landing/{name}"} for name in self.sources}
        super().write(**{name: landing[name] | changed.get(name, {}) for name in self.sources})

    def land(self, name: str, objects: Iterable[oracle.Obj]) -> None:
        for item in objects:
            self.put(f"landing/{name}/{item.uri}", "".join(line(row) + "\n" for row in item.rows), item.modified)

    def put(self, key: str, text: str, modified: int) -> None:
        """An object with this content that was last modified then, in microseconds."""
        assert self.service is not None
        self.service.client().put_object(Bucket=self.bucket, Key=key, Body=text.encode())
        touch(self.bucket, key, modified)

    def hold_no_secret(self) -> None:
        """No object of the bucket has the secret in it."""
        assert self.service is not None
        client = self.service.client()
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket):
            for item in page["Contents"]:
                content = client.get_object(Bucket=self.bucket, Key=item["Key"])["Body"].read()
                assert SECRET.encode() not in content, item["Key"]

    def pipeline(self) -> Pipeline:
        return Pipeline.load(self.config, {}, **self.hooks)

    def folder_of(self, table: str) -> Path:
        raise NotImplementedError("tables are on S3")

    def table(self, name: str) -> list[dict[str, Any]]:
        place = location_of(f"s3://{self.bucket}/warehouse/tested/v1/{name}")
        return delta_table(place).to_pyarrow_table().to_pylist() if is_table(place) else []


def digests(product: Product) -> list[Any]:
    return [record["digests"] for record in sorted(product.table("batches"), key=lambda row: row["batch_id"])]


def states(product: Product) -> dict[str, str]:
    rows = sorted(product.table("objects"), key=lambda row: row["batch_id"])
    return {row["uri"]: row["state"] for row in rows if row["state"] != "changed"}


def hold_same(remote: Remote, local: Product) -> None:
    """Tables and answers are the same, wherever they are."""
    assert digests(remote) == digests(local)
    assert states(remote) == states(local)
    hold_conservation(remote)
    remote.hold_no_secret()
    one, other = remote.pipeline(), local.pipeline()
    assert one.rows(limit=500)["rows"] == other.rows(limit=500)["rows"]
    assert one.explain("readings", "p0", 3)["sentences"] == other.explain("readings", "p0", 3)["sentences"]
    place = f"s3://{remote.bucket}/warehouse/tested/v1/events/readings"
    assert one.path("events/readings")["path"] == place
    marks = [[each["watermark"] for each in pipeline.status()["partitions"]] for pipeline in (one, other)]
    assert marks[0] == marks[1]
