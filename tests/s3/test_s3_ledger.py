"""The small tables on S3: written by conditional commits, read piece by piece, with the credentials in force."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake
from s3_service import KEY, SECRET

from tidemark.config.address import RemoteLocation
from tidemark.core.batch import loaded_uri, stored_uri
from tidemark.errors import Held
from tidemark.ledger import versions
from tidemark.ledger.tables.commit_times import commit_times
from tidemark.ledger.tables.schemas import BATCHES, VERSIONS
from tidemark.ledger.tables.store import Store
from tidemark.storage import is_table, location_of, open_file, read_bytes, s3, tag_of


@pytest.fixture
def root(bucket):
    return location_of(f"s3://{bucket}/warehouse/tested")


def version(number: int) -> dict[str, object]:
    return {"version": number, "created": 1, "promoted": None, "live": False}


def test_versions_are_kept_on_s3(root):
    assert versions.live(root) is None
    assert not is_table(root / "versions")
    assert versions.first(root, 5) == 1
    assert versions.add(root, 6) == 2
    versions.promote(root, 2, 7)
    assert [(each.version, each.live) for each in versions.listed(root)] == [(1, False), (2, True)]
    assert is_table(root / "versions")


def test_of_two_commits_at_once_one_is_refused(root):
    one, other = Store(root / "versions", VERSIONS), Store(root / "versions", VERSIONS)
    one.append([version(1)])
    table = other.open()
    one.append([version(2)])
    rows = pa.Table.from_pylist([version(3)], schema=other._integers).cast(VERSIONS)
    once = CommitProperties(max_commit_retries=0)
    with pytest.raises(Held):
        other._guarded(lambda: write_deltalake(table, rows, mode="append", commit_properties=once))
    assert [row["version"] for row in sorted(one.all(), key=lambda row: row["version"])] == [1, 2]


def test_small_files_are_merged_on_s3(root):
    store = Store(root / "versions", VERSIONS)
    for number in range(6):
        store.append([version(number)])
    assert store.compact(4)
    assert len(store.files()) == 1
    assert len(store.all()) == 6


def test_objects_are_read_from_any_position(service, bucket):
    content = bytes(range(256)) * 12_000
    service.client().put_object(Bucket=bucket, Key="a/b", Body=content)
    with open_file(f"s3://{bucket}/a/b") as file:
        file.seek(-10, 2)
        assert file.read() == content[-10:]
        assert file.seek(5) == 5
        assert file.read() == content[5:]
        service.client().put_object(Bucket=bucket, Key="a/b", Body=content[::-1])
        file.seek(0)
        with pytest.raises(OSError, match="has changed while it was read"):
            file.read(10)
    assert read_bytes(location_of(f"s3://{bucket}/a/b")) == content[::-1]


def test_what_is_not_there_is_as_with_files(bucket):
    assert tag_of(f"s3://{bucket}/none") is None
    with pytest.raises(FileNotFoundError):
        open_file(f"s3://{bucket}/none")


def test_credentials_of_a_profile_serve_all_clients(root, service, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text(f"[mine]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n")
    (tmp_path / "config").write_text(f"[profile mine]\nregion=eu-west-1\nendpoint_url={service.url}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert (s3.endpoint(), s3.region()) == (service.url, "eu-west-1")
    assert versions.first(root, 5) == 1


def test_amazons_own_service_has_no_endpoint_to_tell(monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert s3.endpoint() is None
    assert "AWS_ENDPOINT_URL" not in s3.delta_options()


def test_places_join_and_tell_their_parts():
    place = RemoteLocation("s3://bucket") / "a" / "b"
    assert (str(place), place.bucket, place.key, place.prefix, place.name) == (
        "s3://bucket/a/b",
        "bucket",
        "a/b",
        "a/b/",
        "b",
    )
    assert RemoteLocation("s3://bucket").prefix == ""


@pytest.mark.parametrize("uri", ["//a", "///a b", "a//b", "a"])
def test_names_with_empty_parts_are_kept_apart(uri):
    assert loaded_uri(stored_uri(uri)) == uri
    assert len({stored_uri(each) for each in ("a", "/a", "//a", "///a")}) == 4


def test_a_log_on_s3_says_when_batches_were_committed(root):
    store = Store(root / "batches", BATCHES)
    for number in (1, 2, 3):
        store.append([], "commit", number)
    times = commit_times(root / "batches", "commit", 2)
    assert list(times) == [2, 1]
    assert times[1] <= times[2] <= time.time_ns() // 1000
    assert list(commit_times(root / "batches", "commit", 3, times[2])) == [3, 2]
    assert commit_times(root / "nothing", "commit", 3) == {}
