"""A proposal for objects on S3 is that for the same files in a folder."""

from __future__ import annotations

import gzip
from io import BytesIO

import pyarrow as pa
import pytest
from pyarrow import parquet

import tidemark
from tidemark.config import load_pipeline
from tidemark.errors import TidemarkError, UsageError

ROWS = "".join(f'{{"event_time": "2026-01-01T08:00:{n:02}Z", "p": {n % 2}}}\n' for n in range(40))


def objects() -> dict[str, bytes]:
    table, content = pa.table({"ts": pa.array([1_767_225_600_000 + n for n in range(40)])}), BytesIO()
    parquet.write_table(table, content)
    return {
        "readings/a.json": ROWS.encode(),
        "readings/b.json.gz": gzip.compress(ROWS.encode()),
        "columns/a.parquet": content.getvalue(),
        "columns/_SUCCESS": b"",
    }


def test_objects_on_s3_are_proposed_as_files_are(tmp_path, service, bucket):
    for name, content in objects().items():
        service.client().put_object(Bucket=bucket, Key=f"in/{name}", Body=content)
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    remote = tidemark.init(f"s3a://{bucket}/in", tmp_path / "remote.yml")["proposal"]["sources"]
    local = tidemark.init(tmp_path / "in", tmp_path / "local.yml")["proposal"]["sources"]
    for name, source in local.items():
        assert remote[name]["columns"] == source["columns"]
        assert remote[name]["sampled"]["rows"] == source["sampled"]["rows"]
    assert remote["columns"]["settings"]["arrival_time"] == "timestamp_millis(ts)"
    spec = load_pipeline(tmp_path / "remote.yml").spec
    assert spec.sources["readings"].landing == f"s3://{bucket}/in/readings"


def test_a_prefix_without_objects_and_a_bucket_that_is_not_there_are_told(tmp_path, service, bucket):  # noqa: ARG001
    with pytest.raises(UsageError, match="no files with content"):
        tidemark.init(f"s3://{bucket}/nothing", tmp_path / "a.yml")
    with pytest.raises(TidemarkError, match="there is no bucket"):
        tidemark.init("s3://nobodys-bucket-7/x", tmp_path / "a.yml")
