"""Credentials, names and faults of Azure Storage and Google Cloud Storage that no service on this machine knows."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from types import SimpleNamespace

import pytest

from tidemark.config.address import RemoteLocation, normal
from tidemark.config.credentials import written_credential
from tidemark.errors import TidemarkError
from tidemark.spark.read.unreadable import _NOT_THE_OBJECTS
from tidemark.spark.session import object_stores
from tidemark.storage import azure, gcs, location_of, open_file, s3
from tidemark.storage.object_errors import fault_of
from tidemark.storage.stores import store_of

WHERE = RemoteLocation("abfss://lake@account.dfs.core.windows.net")
AT = "abfss://lake@account.dfs.core.windows.net/in"
IDENTITY = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c"}
ABFS = 'azurebfs.contracts.exceptions.AbfsRestOperationException: Operation failed: "{}", {}, GET, {}/part-404.json'


@pytest.fixture(autouse=True)
def nothing(monkeypatch):
    """No credentials but those of a test."""
    for name in (*azure._KEYS, *azure._SIGNATURES, *azure._IDENTITY, azure.ENDPOINT, gcs.ENDPOINT, gcs.CREDENTIALS):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Task 403 in stage 12.0 failed 4 times: OutOfMemoryError, reading abfss://c@a.dfs.core.windows.net/x", None),
        ("boom at Query.scala:503 reading gs://bucket/in/part-401.json", None),
        (
            "Generic GCS error: Server returned non-2xx status code: 503 Service Unavailable",
            "because there are too many",
        ),
        (ABFS.format("The server is busy", 503, AT), "because there are too many"),
        ("GoogleJsonResponseException: 403 Forbidden GET gs://bucket/x", "denies access"),
        ("gs://bucket/x is not there; abfss://c@a.dfs.core.windows.net/x: AuthorizationFailure", "denies access"),
    ],
)
def test_a_status_is_no_number_of_a_line_a_task_or_a_name(text, message):
    found = fault_of(RuntimeError(text))
    assert (found is None) if message is None else (found is not None and message in found.message)


@pytest.mark.parametrize(
    ("said", "status", "passes"), [("busy", 503, True), ("condition", 412, False), ("none", 404, False)]
)
def test_a_service_that_fails_puts_no_object_into_quarantine(said, status, passes):
    assert (_NOT_THE_OBJECTS.search(ABFS.format(said, status, AT)) is not None) == passes


@pytest.mark.parametrize("cloud", ["gcs"], indirect=True)
@pytest.mark.parametrize("name", ["part-403.json", "500/a.json", "ConnectionError.json", "no-bucket-503"])
def test_an_object_that_is_not_there_is_none_whatever_its_name(cloud, bucket, name, monkeypatch):
    for key, value in cloud.environment.items():
        monkeypatch.setenv(key, value)
    location = location_of(f"{cloud.address(bucket)}/{name}")
    assert (store_of(location).head(location), store_of(location).read_stamped(location)) == (None, None)


def test_bytes_are_those_that_are_stored_even_if_they_are_marked_as_compressed(cloud, bucket, monkeypatch):
    for key, value in cloud.environment.items():
        monkeypatch.setenv(key, value)
    location, packed = location_of(f"{cloud.address(bucket)}/x.json.gz"), gzip.compress(b"{}\n" * 4000)
    if location.service == "azure":
        from azure.storage.blob import ContentSettings

        cloud.put(bucket, "x.json.gz", packed, content_settings=ContentSettings(content_encoding="gzip"))
    else:
        cloud.put(bucket, "x.json.gz", packed)
    store = store_of(location)
    assert (store.read(location), store.read_stamped(location).content) == (packed, packed)
    assert store.read_range(location, store.head(location).tag, 2, 9) == packed[2:10]
    with open_file(str(location)) as file:
        assert file.read() == packed


def test_a_copy_is_made_from_a_signed_source(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=abc")
    asked = []

    def blob(location: RemoteLocation) -> SimpleNamespace:
        return SimpleNamespace(
            url=f"https://account/lake/{location.key}",
            start_copy_from_url=lambda url: asked.append(url) or {"copy_status": "success"},
        )

    monkeypatch.setattr(azure, "_blob", blob)
    azure.copy(WHERE / "a", WHERE / "b")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "abc")
    azure.copy(WHERE / "a", WHERE / "b")
    assert asked == ["https://account/lake/a?sv=1&sig=abc", "https://account/lake/a"]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"key").decode()}, "str"),
        ({"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=abc"}, "AzureSasCredential"),
        ({"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}, "ClientSecretCredential"),
        (
            {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "/f"},
            "WorkloadIdentityCredential",
        ),
        ({}, "ManagedIdentityCredential"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_the_first_credentials_that_are_there_are_used(monkeypatch, given, kind):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert type(azure._credential()).__name__ == kind
    assert logging.getLogger("azure").level == logging.NOTSET


def test_credentials_that_are_not_complete_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", "/f")
    with pytest.raises(TidemarkError, match="credentials for Azure Storage are not complete"):
        azure._credential()
    file = tmp_path / "federated.json"
    file.write_text(json.dumps({"type": "external_account"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(TidemarkError, match="of the kind 'external_account' cannot be used"):
        gcs.delta_options()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ABFSS://lake@account.dfs.core.windows.net/a/", "abfss://lake@account.dfs.core.windows.net/a"),
        ("gs://bucket/a b/", "gs://bucket/a b"),
        ("abfss://lake@account.dfs.core.chinacloudapi.cn/a", None),
        ("abfss://account.dfs.core.windows.net/a", None),
        ("abfss://lake:key@account.dfs.core.windows.net/a", None),
        ("gs://me@bucket/a", None),
        ("gs://bucket/a//b", None),
    ],
)
def test_addresses_have_one_form(text, found):
    if found is None:
        with pytest.raises(ValueError, match=r"write |user and password"):
            normal(text)
    else:
        assert normal(text) == found


def test_a_signature_is_refused_in_a_file_without_being_shown():
    said = written_credential(("sources", "a", "landing"), f"{AT}?sv=1&sig=hunter2")
    assert "shared access signature" in said
    assert "hunter2" not in said


def test_weak_tags_of_s3_and_its_synonym_are_kept():
    for etag in ('"abc"', 'W/"abc"'):
        assert s3._quoted(s3._tag(etag)) == etag
    assert RemoteLocation("s3a://bucket/x").service == "s3"


class Hadoop:
    """Hadoop's settings, of which some come from a user's file."""

    def __init__(self, *given: str) -> None:
        self.given = given

    def getPropertySources(self, name: str) -> list[str]:  # noqa: N802 # Hadoop's name
        return ["core-site.xml"] if name in self.given else ["core-default.xml"]


def test_spark_asks_the_service_that_was_set_with_the_credentials_of_the_environment(monkeypatch):
    host = "account.dfs.core.windows.net"
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "https://other/account")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=abc")
    found = object_stores._of_azure(WHERE, Hadoop())
    assert found["fs.azure.abfs.endpoint"] == "other:443"
    assert found[f"fs.azure.sas.fixed.token.{host}"] == "sv=1&sig=abc"
    monkeypatch.delenv("AZURE_STORAGE_SAS_TOKEN")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", "/f")
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "login.elsewhere")
    found = object_stores._of_azure(WHERE, Hadoop())
    assert found[f"fs.azure.account.oauth2.msi.authority.{host}"] == "https://login.elsewhere/"
    assert azure.delta_options()["azure_authority_host"] == "https://login.elsewhere"


@pytest.mark.parametrize("name", ["account.auth.type", "account.key.account.dfs.core.windows.net"])
def test_a_users_own_credentials_for_spark_are_kept(monkeypatch, name):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "abc")
    ours = [key for key in object_stores._of_azure(WHERE, Hadoop(f"fs.azure.{name}")) if "account.key" in key]
    assert ours == []
    assert "fs.azure.account.key.account.dfs.core.windows.net" in object_stores._of_azure(WHERE, Hadoop())
