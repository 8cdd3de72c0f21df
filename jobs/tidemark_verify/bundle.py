"""Writes what an auditor needs to check a warehouse without it: ledger, logs, hashes, and the program that checks."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tidemark_verify import verify
from tidemark_verify.check import Warehouse


def write(warehouse: Warehouse, file: Path) -> None:
    """Write a checked warehouse as one zip file, with `verify.py` in it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(verify.__file__, "verify.py")
        packed.writestr("findings", json.dumps(warehouse.found))
        for name, rows in {**warehouse.small, "files": warehouse.files}.items():
            packed.writestr(f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        for each in warehouse.files:
            if each["log"]:
                place = warehouse.folder / each["table"] / each["path"]
                packed.write(place, f"logs/{each['table']}/{place.name}")
