"""Pipelines whose landing and tables are in object storage, and the same in a folder. No request sets when an object
was written, so that landing times are in names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import oracle
from e2e.samples import hold_conservation
from product import EPOCH, Product, line
from tidemark.storage import delta_table, is_table, location_of

LANDED_AT = {"path": r"-(\d{14})(?:\.|$)", "format": "yyyyMMddHHmmss"}


def named(item: oracle.Obj) -> oracle.Obj:
    """An object with its landing time in its name."""
    moment = EPOCH.fromtimestamp(item.modified // 1_000_000, EPOCH.tzinfo)
    stem, dot, end = item.uri.rpartition(".")
    return replace(item, uri=f"{stem}-{moment:%Y%m%d%H%M%S}{dot}{end}")


class InFolder(Product):
    """A pipeline in a folder."""

    def write(self, **changed: dict[str, Any]) -> None:
        super().write(**{name: {"landed_at": LANDED_AT} | changed.get(name, {}) for name in self.sources})


@dataclass
class InCloud(Product):
    """A pipeline with landing at <address>/landing/<source> and tables below <address>/warehouse."""

    cloud: Any = None
    bucket: str = ""

    def __post_init__(self) -> None:
        self.address = self.cloud.address(self.bucket)
        self.settings = {"warehouse": f"{self.address}/warehouse", **self.settings}
        super().__post_init__()

    def write(self, **changed: dict[str, Any]) -> None:
        keys = {name: {"landing": f"{self.address}/landing/{name}", "landed_at": LANDED_AT} for name in self.sources}
        super().write(**{name: keys[name] | changed.get(name, {}) for name in self.sources})

    def land(self, name: str, objects: Iterable[oracle.Obj]) -> None:
        for item in objects:
            text = "".join(line(row) + "\n" for row in item.rows)
            self.cloud.put(self.bucket, f"landing/{name}/{item.uri}", text.encode())

    def table(self, name: str) -> list[dict[str, Any]]:
        location = location_of(f"{self.address}/warehouse/tested/v{self.version}/{name}")
        return delta_table(location).to_pyarrow_table().to_pylist() if is_table(location) else []


def states(product: Product) -> dict[str, str]:
    """What became of each object."""
    rows = sorted(product.table("objects"), key=lambda row: row["batch_id"])
    return {row["uri"]: row["state"] for row in rows if row["state"] != "changed"}


def digests(product: Product) -> list[Any]:
    return [record["digests"] for record in sorted(product.table("batches"), key=lambda row: row["batch_id"])]


def hold_equal(remote: InCloud, local: Product) -> None:
    """Tables and answers are equal, wherever they are, and no object has the secret in it."""
    assert digests(remote) == digests(local)
    assert states(remote) == states(local)
    hold_conservation(remote)
    assert [
        key for key, text in remote.cloud.contents(remote.bucket).items() if remote.cloud.secret.encode() in text
    ] == []
    one, other = remote.pipeline(), local.pipeline()
    assert one.rows(limit=500)["rows"] == other.rows(limit=500)["rows"]
    assert one.explain("readings", "p0", 3)["sentences"] == other.explain("readings", "p0", 3)["sentences"]
    assert one.path("events/readings")["path"] == f"{remote.address}/warehouse/tested/v1/events/readings"
    marks = [[each["watermark"] for each in pipeline.status()["partitions"]] for pipeline in (one, other)]
    assert marks[0] == marks[1]
