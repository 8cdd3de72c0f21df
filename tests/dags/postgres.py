"""A PostgreSQL server for tests of Airflow, as in docker-compose.yml; as root it is run by a user without rights."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pgserver


@contextmanager
def postgres() -> Iterator[Any]:
    """A server that is gone afterwards, with its folder."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-postgres-"))
    folder.chmod(0o755)  # the server's user must come through
    server = pgserver.get_server(folder)
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder)


def address(server: Any, name: str) -> str:
    """The address of a new database of the server."""
    server.psql(f"CREATE DATABASE {name}")
    return str(server.get_uri(name)).replace("postgresql://", "postgresql+psycopg2://", 1)
