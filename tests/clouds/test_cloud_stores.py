"""Requests to Azure Storage and Google Cloud Storage: what the lock, the ledger and the landing rely on."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import tidemark
from tidemark.config import load_pipeline
from tidemark.errors import Held, TidemarkError
from tidemark.landing.listing import LandingLocation, list_objects
from tidemark.ledger.lock import hold, holder
from tidemark.storage import delta_table, is_table, location_of, open_file, storage_options, tags_of, write_once
from tidemark.storage.folders import files_below, move_tree, remove_tree, share
from tidemark.storage.stores import store_of

NOW = int(datetime.now(UTC).timestamp()) * 1_000_000
ODD = ("a b.json", "b=1/3:é#%20.json", "tab\t.json", "q?x.json", "star*.json", "n\nl.json", "{b}.json", "e//f.json")


@pytest.fixture
def root(address):
    return location_of(f"{address}/in")


def test_an_object_is_written_once_or_by_its_tag(root):
    store, location = store_of(root), root / "x"
    assert (store.head(location), store.read_stamped(location)) == (None, None)
    first = store.put_if(location, b"1", None)
    assert store.put_if(location, b"2", None) is None
    second = store.put_if(location, b"3", first)
    assert store.put_if(location, b"4", first) is None
    found = store.read_stamped(location)
    assert (found.content, found.tag, store.head(location)) == (b"3", second, (1, second))
    assert -2 <= found.age < 60
    store.put(location, b"5")
    assert store.put_if(location, b"6", second) is None
    write_once(location, b"7")
    assert store.read(location) == b"5"
    for _ in range(2):
        store.delete(location)
    assert store.head(location) is None
    with pytest.raises(FileNotFoundError, match="there is no object"):
        store.read(location)


def test_of_writers_at_one_time_one_wins(root):
    store, together = store_of(root), Barrier(6)

    def write(number: int) -> list[str | None]:
        made = []
        for turn in range(5):
            together.wait()
            made.append(store.put_if(root / str(turn), str(number).encode(), None))
        return made

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(write, range(6)))
    for turn in range(5):
        assert sum(made[turn] is not None for made in results) == 1


def test_pieces_are_of_one_content(root, cloud, bucket):
    cloud.put(bucket, "in/big", bytes(range(256)) * 1000)
    with open_file(f"{root}/big") as file:
        file.seek(256_000 - 4)
        assert file.read(3) == bytes([252, 253, 254])
        cloud.put(bucket, "in/big", b"y" * 256_000)
        file.seek(0)
        with pytest.raises(OSError, match=r"big"):
            file.read(4)
    with pytest.raises(FileNotFoundError):
        open_file(f"{root}/none")


def test_listings_are_sorted_have_pages_and_begin_after_a_key(root, cloud, bucket, monkeypatch):
    monkeypatch.setattr(f"tidemark.storage.{root.service}.PAGE", 3)
    keys = [f"in/{number:02}" for number in range(10)]
    for key in [*reversed(keys), "in.json", "inner/x", "out"]:
        cloud.put(bucket, key, b"x")
    assert [item.key for item in store_of(root).listed(root)] == keys
    assert [item.key for item in store_of(root).listed(root, "0", "in/06")] == keys[7:]
    monkeypatch.setattr("tidemark.storage.stores.FEWEST", 2)
    given = [f"{root}/{name}" for name in ("03", "none", "07")]
    assert tags_of(given) == [store_of(root).head(location_of(text)) and tags_of([text])[0] for text in given]
    assert tags_of(given)[1] is None


def test_objects_of_any_name_are_listed_with_time_size_and_tag(root, cloud, bucket):
    for name in (*ODD, "_hidden", "x/.y/a.json", "a.json._COPYING_"):
        cloud.put(bucket, f"in/{name}", b"odd")
    place = LandingLocation(str(root))
    found = {item.uri: item for item in list_objects(place, NOW)}
    assert set(found) == set(ODD)
    assert "made of dots" in (place.refusal("e//f.json") or "")
    for name, item in found.items():
        assert (item.size, item.tag) == store_of(root).head(root / name), name
        assert abs(item.modified - NOW) < 300_000_000


@pytest.mark.parametrize("cloud", ["azure"], indirect=True)
def test_folders_of_a_hierarchical_namespace_are_no_objects(root, cloud, bucket):
    cloud.put(bucket, "in/day=1", b"", metadata={"hdi_isfolder": "true"})
    cloud.put(bucket, "in/day=1/a.json", b"x")
    assert [item.uri for item in list_objects(LandingLocation(str(root)), NOW)] == ["day=1/a.json"]


def test_tables_are_found_shared_moved_and_removed(root):
    table = root / "t"
    assert not is_table(table)
    for rows in ([1, 2], [3]):
        write_deltalake(str(table), pa.table({"x": rows}), mode="append", storage_options=storage_options(table))
    assert is_table(table)
    paths = sorted(files_below(table))
    share(table, root / "shared", paths)
    move_tree(root / "shared", root / "moved")
    assert sorted(files_below(root / "moved")) == paths
    assert Counter(delta_table(root / "moved").to_pyarrow_table()["x"].to_pylist()) == Counter([1, 2, 3])
    remove_tree(root)
    assert list(files_below(root)) == []


def test_of_two_holders_one_is_refused_and_told_who_holds(root):
    with hold(root):
        assert holder(root) == f"process {os.getpid()} on {os.uname().nodename}"
        with pytest.raises(Held, match=f"process {os.getpid()}"), hold(root):
            pytest.fail("two hold the pipeline")
    with hold(root):
        pass
    assert holder(root) is None


def test_faults_are_told_in_one_sentence(cloud, root, monkeypatch, tmp_path):
    missing = location_of(cloud.address("tidemark-missing"))
    what = "container" if root.service == "azure" else "bucket"
    for ask in (lambda: list(store_of(missing).listed(missing)), lambda: store_of(missing).head(missing / "x")):
        with pytest.raises(TidemarkError, match=f"there is no {what}: {what} 'tidemark-missing"):
            ask()
    with monkeypatch.context() as changed:
        spoil(changed, root.service, tmp_path)
        with pytest.raises(TidemarkError, match="does not accept the credentials in force") as caught:
            store_of(root).read(root / "x")
        assert caught.value.hint.startswith("correct or renew the")
    with monkeypatch.context() as changed:
        changed.setattr(f"tidemark.storage.{root.service}.ATTEMPTS", 1)
        if root.service == "azure":
            changed.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9/devstoreaccount1")
        else:
            changed.setattr("tidemark.storage.gcs._LONGEST", 0.5)
            changed.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
        with pytest.raises(TidemarkError, match="cannot be reached"):
            store_of(root).read(root / "x")


def spoil(changed: pytest.MonkeyPatch, service: str, folder) -> None:
    """Credentials that the service does not know."""
    if service == "azure":
        changed.setenv("AZURE_STORAGE_ACCOUNT_KEY", "aGVsbG8=")
        return
    from gcs_service import Service

    stranger = Service()
    stranger.write_credentials(folder / "other.json")
    changed.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "other.json"))


def test_objects_are_proposed_as_files_are(address, cloud, bucket, tmp_path):
    text = "".join(f'{{"event_time": "2026-01-01T08:00:{n:02}Z", "p": {n % 2}}}\n' for n in range(40))
    for name, content in (("readings/a.json", text.encode()), ("readings/b.json.gz", gzip.compress(text.encode()))):
        cloud.put(bucket, f"in/{name}", content)
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    remote = tidemark.init(f"{address}/in", tmp_path / "remote.yml")["proposal"]["sources"]["readings"]
    local = tidemark.init(tmp_path / "in", tmp_path / "local.yml")["proposal"]["sources"]["readings"]
    assert remote["columns"] == local["columns"]
    assert remote["sampled"]["rows"] == local["sampled"]["rows"]
    assert load_pipeline(tmp_path / "remote.yml").spec.sources["readings"].landing == f"{address}/in/readings"


@pytest.mark.parametrize("cloud", ["azure"], indirect=True)
def test_a_shared_access_signature_is_as_good_as_the_accounts_key(root, cloud, monkeypatch):
    signature = cloud.signature()
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", signature)
    table, store = root / "t", store_of(root)
    write_deltalake(str(table), pa.table({"x": [1, 2]}), storage_options=storage_options(table))
    share(table, root / "shared", sorted(files_below(table)))
    assert delta_table(root / "shared").to_pyarrow_table()["x"].to_pylist() == [1, 2]
    tag = store.put_if(root / "lock", b"1", None)
    assert store.put_if(root / "lock", b"2", tag) is not None
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", signature.replace("sig=", "sig=a"))
    with pytest.raises(TidemarkError, match="Azure Storage") as caught:
        store.read(root / "lock")
    assert signature not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("cloud", ["gcs"], indirect=True)
def test_requests_that_go_on_being_refused_say_so(root, cloud, monkeypatch):
    monkeypatch.setattr("tidemark.storage.gcs._LONGEST", 0.5)
    for status, message in ((503, "because there are too many"), (500, "errors of its own"), (403, "denies access")):
        with cloud.service.refusing(lambda _, status=status: (status, "refused")):
            with pytest.raises(TidemarkError, match=message) as caught:
                store_of(root).read(root / "x")
            assert caught.value.where == f"{root}/x"
