"""Makes a second table over the files of a first: a log of its own with one commit, and shared data files.

The log's entries for each file (partition values, statistics by which readers choose files) are copied unchanged. So
are protocol, schema, properties, and each writer's last batch number, which prevents repeated appends. Cost grows
with the number of files, not with their content.
"""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from tidemark.errors import TidemarkError
from tidemark.ledger.tables.commits import FORGOTTEN
from tidemark.storage import LOG, Location, delta_table, make, read_bytes, write_bytes
from tidemark.storage.folders import files_below, share

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10}))?\.parquet")
_ACTIONS = ("protocol", "metaData", "txn", "add", "remove")
Action = dict[str, Any]


@dataclass
class TableState:
    """State of a table at the last commit of its log; `added` by path, `written` by application."""

    protocol: Action = field(default_factory=dict)
    metadata: Action = field(default_factory=dict)
    written: dict[str, Action] = field(default_factory=dict)
    added: dict[str, Action] = field(default_factory=dict)

    def take(self, actions: Iterable[Action]) -> None:
        """Apply the actions of one commit, or of a checkpoint."""
        for action in actions:
            for kind, content in action.items():
                self._apply(kind, content)

    def _apply(self, kind: str, content: Action) -> None:
        if kind == "protocol":
            self.protocol = content
        elif kind == "metaData":
            self.metadata = content
        elif kind == "txn":
            self.written[content["appId"]] = content
        elif kind == "add":
            self.added[content["path"]] = content
        elif kind == "remove":
            self.added.pop(content["path"], None)


def clone(source: Location, target: Location, through: int | None = None) -> None:
    """Make the table at `target`, which must not exist, from the live files of the one at `source`. With `through`,
    the recorded numbers of writers are lowered to that batch, so that later batches can be written."""
    state = _state(source)
    if through is not None:
        batches = {name: each for name, each in state.written.items() if name != FORGOTTEN}
        state.written |= {name: {**each, "version": min(each["version"], through)} for name, each in batches.items()}
    share(source, target, [unquote(path) for path in state.added])
    make(target / LOG)
    write_bytes(target / LOG / f"{0:020d}.json", _commit(state).encode())


def _commit(state: TableState) -> str:
    commit = {"commitInfo": {"operation": "CLONE", "operationParameters": {}}}
    made = [commit, {"protocol": state.protocol}, {"metaData": {**state.metadata, "id": str(uuid.uuid4())}}]
    made += [{"txn": each} for each in state.written.values()]
    made += [{"add": {**each, "dataChange": True}} for each in state.added.values()]
    return "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in made)


def _state(location: Location) -> TableState:
    """The state of the table at a location, from its log. Raises TidemarkError if Delta lists other files."""
    names = sorted(files_below(location / LOG))
    checkpoints = _checkpoints(names)
    base = max(checkpoints, default=-1)
    state = TableState()
    for name in checkpoints.get(base, ()):
        state.take(_checkpointed(read_bytes(location / LOG / name)))
    for name in names:
        found = _COMMIT.fullmatch(name)
        if found and int(found[1]) > base:
            lines = read_bytes(location / LOG / name).splitlines()
            state.take(json.loads(line) for line in lines if line)
    known = {unquote(path) for path in state.added}
    real = {uri.removeprefix(f"{location}/") for uri in map(unquote, delta_table(location).file_uris())}
    if {path.rpartition("/")[2] for path in known} != {path.rpartition("/")[2] for path in real}:
        raise TidemarkError(
            f"the log of the table names {len(known)} files, and Delta {len(real)}",
            where=str(location),
            hint="nothing was changed; run `tidemark backfill` again, and report it if it stays so",
        )
    return state


def _checkpoints(names: Iterable[str]) -> dict[int, list[str]]:
    """By version, the files of each checkpoint that has all its parts."""
    found: dict[int, list[str]] = {}
    parts: dict[int, int] = {}
    for name in names:
        if match := _CHECKPOINT.fullmatch(name):
            found.setdefault(int(match[1]), []).append(name)
            parts[int(match[1])] = int(match[2] or 1)
    return {version: files for version, files in found.items() if len(files) >= parts[version]}


def _checkpointed(content: bytes) -> Iterator[Action]:
    rows = pq.ParquetFile(io.BytesIO(content))
    kinds = [name for name in _ACTIONS if name in rows.schema_arrow.names]
    for batch in rows.iter_batches(columns=kinds):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            yield {kind: _plain(kind, value) for kind, value in row.items() if value is not None}


def _plain(kind: str, value: Action) -> Action:
    """An action of a checkpoint in the form of a commit: without nulls and without parsed copies of values."""
    kept = {key: each for key, each in value.items() if each is not None and not key.endswith("_parsed")}
    if kind == "add":
        kept["partitionValues"] = value["partitionValues"]
    if kind == "metaData" and "format" in kept:
        kept["format"] = {"provider": "parquet", "options": {}}
    return kept
