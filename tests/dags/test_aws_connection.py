"""What the connection `aws_default` adds to the settings of a task that needs S3."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "jobs" / "tidemark" / "airflow" / "aws.py"
EXTRA = {"region_name": "eu-west-1", "endpoint_url": "http://s3:9000", "aws_session_token": "passing"}
WHOLE = {
    "AWS_ACCESS_KEY_ID": "me",
    "AWS_SECRET_ACCESS_KEY": "mine",
    "AWS_SESSION_TOKEN": "passing",
    "AWS_REGION": "eu-west-1",
    "AWS_ENDPOINT_URL": "http://s3:9000",
}
IDENTITY = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}


@pytest.fixture(scope="module")
def settings_of():
    """Of the module alone: Airflow, which would make itself a home, stays away."""
    spec = importlib.util.spec_from_file_location("aws_of_dags", FILE)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.settings_of


def test_a_connection_says_who_where_and_which_service(settings_of):
    assert settings_of("me", "mine", EXTRA, {}) == WHOLE
    in_extra = {"aws_access_key_id": "me", "aws_secret_access_key": "mine", **EXTRA}
    assert settings_of(None, None, in_extra, {}) == WHOLE
    assert settings_of(None, None, {"profile_name": "p"}, {}) == {"AWS_PROFILE": "p"}
    own = {"endpoint_url": "x", "service_config": {"s3": {"endpoint_url": "y"}}}
    assert settings_of(None, None, own, {}) == {"AWS_ENDPOINT_URL": "y"}
    assert settings_of(None, None, {}, {}) == {}


@pytest.mark.parametrize(
    ("known", "left_out"),
    [
        ("AWS_ACCESS_KEY_ID", IDENTITY),
        ("AWS_PROFILE", IDENTITY),
        ("AWS_DEFAULT_REGION", {"AWS_REGION"}),
        ("AWS_ENDPOINT_URL_S3", {"AWS_ENDPOINT_URL"}),
    ],
)
def test_what_the_environment_says_stands_and_is_never_mixed(settings_of, known, left_out):
    found = settings_of("me", "mine", EXTRA, {known: "given"})
    assert found == {name: value for name, value in WHOLE.items() if name not in left_out}


def test_a_role_that_would_not_be_taken_is_refused(settings_of):
    with pytest.raises(ValueError, match="profile_name"):
        settings_of("me", "mine", {"role_arn": "arn:aws:iam::1:role/x"}, {})
