"""The kinds of object storage that tidemark reads and writes.

Imports nothing but the standard library: `make install` knows them before anything is installed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Service: TypeAlias = Literal["s3", "azure", "gcs"]
"""Amazon S3 and what speaks its protocol, Azure Data Lake Storage, Google Cloud Storage."""
SERVICES: tuple[Service, ...] = get_args(Service)
NAMES: dict[Service, str] = {"s3": "S3", "azure": "Azure Storage", "gcs": "Google Cloud Storage"}
"""The services as messages name them."""
