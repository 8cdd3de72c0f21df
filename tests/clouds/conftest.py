"""Services for objects other than S3, one of a kind for all tests: Spark keeps its connections to them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from azure_service import AzureService
from gcs_cloud import GcsService

PREFIXES = ("AZURE_", "GOOGLE_", "STORAGE_EMULATOR_")
for _name in [name for name in os.environ if name.startswith(PREFIXES)]:
    del os.environ[_name]


@pytest.fixture(scope="session", params=["azure", "gcs"])
def cloud(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service, and its credentials in the environment."""
    started = AzureService() if request.param == "azure" else GcsService(tmp_path_factory.mktemp("gcs"))
    os.environ |= started.environment
    yield started
    for name in started.environment:
        del os.environ[name]
    started.stop()


@pytest.fixture
def bucket(cloud: Any) -> str:
    """The name of a bucket of the test's own."""
    name = f"tidemark-{uuid.uuid4().hex[:12]}"
    cloud.make(name)
    return name


@pytest.fixture
def address(cloud: Any, bucket: str) -> str:
    """The address of a bucket of the test's own."""
    return str(cloud.address(bucket))
