"""What goes wrong with S3 is told in one sentence that names the bucket, says what to do and shows no secret."""

from __future__ import annotations

import json
from itertools import count

import pytest
from s3_product import Remote
from s3_service import SECRET

from e2e.samples import PLAIN, obj
from tidemark import cli
from tidemark.config.address import RemoteLocation
from tidemark.errors import TidemarkError
from tidemark.storage import object_errors
from tidemark.storage.object_errors import fault_of


@pytest.fixture
def remote(tmp_path, service, bucket):
    return Remote(tmp_path, {"readings": PLAIN}, bucket=bucket, service=service)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")


def told(capfd, remote, *command):
    """The exit status and the error of a command, which shows no secret anywhere."""
    status = cli.invoke([command[0], str(remote.config), *command[1:], "--json"])
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    assert "hunter2" not in out + err
    found = json.loads(out)
    return status, found.get("error", found)


COMMANDS = [("run",), ("run", "--dry-run"), ("close",), ("status",), ("rows",), ("replay",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_credentials_that_are_not_accepted(remote, capfd, monkeypatch, bucket, command):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "SOMEBODYELSE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    status, error = told(capfd, remote, *command)
    assert status == 4
    assert error["message"] == f"S3 does not accept the credentials in force: bucket '{bucket}'"
    assert "AWS_SECRET_ACCESS_KEY" in error["hint"]


def test_no_credentials(remote, capfd, monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    status, error = told(capfd, remote, "run")
    assert (status, error["message"][:35]) == (4, "no credentials for S3 were found: b")


def test_a_profile_that_is_not_there(remote, capfd, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    status, error = told(capfd, remote, "run")
    assert (status, error["message"]) == (4, f"no credentials for S3 were found: bucket '{remote.bucket}'")


@pytest.mark.parametrize("command", COMMANDS[:4], ids=" ".join)
def test_a_bucket_that_is_not_there(tmp_path, service, capfd, command):
    remote = Remote(tmp_path, {"readings": PLAIN}, bucket="tidemark-missing", service=service)
    status, error = told(capfd, remote, *command)
    assert (status, error["message"]) == (4, "there is no bucket: bucket 'tidemark-missing'")
    assert error["hint"].startswith("create it, or correct `landing` or `warehouse`")


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        ((503, "SlowDown"), "S3 goes on refusing requests because there are too many"),
        ((500, "InternalError"), "S3 goes on answering with errors of its own"),
        ((403, "AccessDenied"), "S3 denies access"),
        ((403, "RequestTimeTooSkewed"), "S3 refuses requests because this machine's clock is wrong"),
        ((403, "Whatever"), "S3 denies access"),
    ],
    ids=lambda given: str(given[1]) if isinstance(given, tuple) else "",
)
@pytest.mark.usefixtures("impatient")
def test_requests_that_go_on_being_refused(remote, service, capfd, bucket, refusal, message):
    with service.refusing(lambda _: refusal), service.counted() as requests:
        status, error = told(capfd, remote, "run", "--dry-run")
    assert (status, error["message"]) == (4, f"{message}: bucket '{bucket}'")
    assert len(requests) == (1 if refusal[0] == 403 else 2)


@pytest.mark.usefixtures("impatient")
def test_a_service_that_cannot_be_reached(remote, capfd, monkeypatch, bucket):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    status, error = told(capfd, remote, "run")
    assert (status, error["message"]) == (4, f"S3 cannot be reached: bucket '{bucket}'")
    assert "AWS_ENDPOINT_URL" in error["hint"]


def test_requests_that_are_refused_once_are_repeated(remote, service, capfd):
    remote.land("readings", [obj("a.json", 10)])
    number = count()
    with service.refusing(lambda _: (503, "SlowDown") if next(number) % 2 == 0 else None):
        status, found = told(capfd, remote, "run", "--dry-run", "--as-of", "2026-01-02T00:00:00Z")
    assert (status, found["objects"]) == (0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "An error occurred while calling o1.run.\n: org.apache.hadoop.fs.s3a.AWSServiceThrottledException:"
            " open s3://some-bucket/x on s3://some-bucket/x: S3Exception: (Status Code: 503)",
            "S3 goes on refusing requests because there are too many: bucket 'some-bucket'",
        ),
        (
            "java.nio.file.AccessDeniedException: s3a://some-bucket/x: getFileStatus on s3a://some-bucket/x:"
            " software.amazon.awssdk.services.s3.model.S3Exception: (Service: S3, Status Code: 403)",
            "S3 denies access: bucket 'some-bucket'",
        ),
        (
            "Generic S3 error: Error performing GET http://x/b/k in 1s, after 9 retries - Server returned error"
            " response: <Code>InternalError</Code>",
            "S3 goes on answering with errors of its own",
        ),
        ("Generic S3 error: HTTP error: error sending request", "S3 cannot be reached"),
    ],
)
def test_what_spark_and_delta_say_is_told_alike(text, message):
    found = fault_of(RuntimeError(text))
    assert found is not None
    assert found.message == message


def test_what_s3_has_no_part_in_is_left_alone():
    assert fault_of(RuntimeError("503 Connection refused")) is None
    verb = object_errors.explained(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        verb()


@pytest.mark.spark
def test_a_spark_that_was_started_without_hadoop_aws_is_told_so(spark, monkeypatch):
    from tidemark.spark.session import object_stores

    monkeypatch.setitem(object_stores._S3, "fs.s3.impl", "org.apache.hadoop.fs.s3a.NotThere")
    with pytest.raises(TidemarkError, match=r"this Spark has no jars for S3") as caught:
        object_stores.configure(spark, [RemoteLocation("s3://bucket")])
    assert "give it hadoop-aws" in caught.value.hint


def test_nothing_that_needs_no_jvm_needs_the_jars(remote, service, capfd, monkeypatch, tmp_path):
    """Nor does a run without objects; one with objects says what to do before it records anything."""
    monkeypatch.setenv("TIDEMARK_JARS", str(tmp_path / "jars"))
    assert told(capfd, remote, "validate")[0] == 0
    assert service.client().list_objects_v2(Bucket=remote.bucket)["KeyCount"] == 0
    assert told(capfd, remote, "run", "--as-of", "2026-01-01T00:00:00Z")[0] == 0
    remote.land("readings", [obj("a.json", 10)])
    later = ("--as-of", "2026-01-02T00:00:00Z")
    assert told(capfd, remote, "run", *later, "--dry-run")[1]["objects"] == 1
    status, error = told(capfd, remote, "run", *later)
    assert (status, error["message"]) == (4, "the jars that Spark needs for S3 are not installed")
    assert error["hint"].startswith("run `tidemark setup --s3`")
    status, found = told(capfd, remote, "status")
    assert (status, found["runs"][0]["as_of"], len(found["runs"])) == (0, "2026-01-01T00:00:00Z", 1)
    assert told(capfd, remote, "rows")[1]["rows"] == []
    assert told(capfd, remote, "path", "events/readings")[1]["path"].startswith(f"s3://{remote.bucket}/warehouse/")


def test_validate_asks_nothing_of_s3(remote, service, capfd):
    with service.counted() as requests:
        assert told(capfd, remote, "validate")[0] == 0
    assert requests == []


def test_an_address_with_a_password_from_the_environment_is_refused_without_showing_it(remote, capfd, monkeypatch):
    monkeypatch.setenv("WHO", "me:hunter2")
    text = remote.config.read_text().replace(f"s3a://{remote.bucket}/warehouse", "s3a://${WHO}@bucket/warehouse")
    remote.config.write_text(text)
    status, error = told(capfd, remote, "validate")
    assert status == 2
    assert "has no user and password" in str(error)
