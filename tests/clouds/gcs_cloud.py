"""Google Cloud Storage on this machine, as the tests of all clouds use it."""

from __future__ import annotations

import json
from pathlib import Path

from gcs_service import Service


class GcsService:
    """The service; `address` names a bucket of it as pipelines do."""

    def __init__(self, folder: Path) -> None:
        self.service = Service()
        self.url = self.service.url
        file = folder / "credentials.json"
        self.service.write_credentials(file)
        self.environment = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "STORAGE_EMULATOR_HOST": self.url}
        self.secret = json.loads(file.read_text())["private_key"].splitlines()[1]

    def make(self, name: str) -> str:
        """Make a bucket, and return its address."""
        self.service.make_bucket(name)
        return self.address(name)

    def address(self, name: str) -> str:
        return f"gs://{name}"

    def put(self, name: str, key: str, content: bytes) -> None:
        self.service.put(name, key, content)

    def delete(self, name: str, key: str) -> None:
        self.service.delete(name, key)

    def contents(self, name: str) -> dict[str, bytes]:
        """All objects of a bucket."""
        return {key: self.service.read(name, key) for key in self.service.keys(name)}

    def stop(self) -> None:
        self.service.stop()
