"""Credentials and the service of all tests of S3. They are set when tests are collected: a JVM that is started
later for whatever test finds them in its environment."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from s3_service import KEY, SECRET, Service

for _name in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[_name]
os.environ |= {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """One service for all tests: Spark keeps its connection to it."""
    service = Service()
    os.environ["AWS_ENDPOINT_URL"] = service.url
    yield service
    del os.environ["AWS_ENDPOINT_URL"]
    service.stop()


@pytest.fixture
def bucket(service: Service) -> str:
    """A bucket of the test's own."""
    name = f"tidemark-{uuid.uuid4().hex[:12]}"
    service.client().create_bucket(Bucket=name)
    return name
