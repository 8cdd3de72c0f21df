"""Lists versions of a pipeline, each with the settings that differ from its base version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.commands.versions import in_force, list_versions
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.versions import Version
from tidemark.records.versions import VersionRecord


@dataclass(frozen=True)
class ListedVersion:
    """A version, its record, and its settings (key, before, after) that differ from the base version's."""

    version: Version
    record: VersionRecord
    settings: tuple[tuple[str, str, str], ...]


def versions_of(ledger: Ledger) -> list[ListedVersion]:
    """All versions, newest first."""
    listed = versions.listed(ledger.root)
    records = {each["version"]: each for each in list_versions(ledger.root, ledger)["versions"]}
    known = {each.version: each for each in listed}
    return [
        ListedVersion(each, records[each.version], tuple(_changed(ledger, known, each))) for each in reversed(listed)
    ]


def _changed(ledger: Ledger, known: Mapping[int, Version], version: Version) -> Iterator[tuple[str, str, str]]:
    """Yield the settings in which a version's backfill differs from its base, as far as they are recorded."""
    if version.made is None or version.made.base not in known:
        return
    base = known[version.made.base]
    before = in_force(Ledger(ledger.root, base.version)) if base.made is None else base.made.configuration
    then, now = (dict(_flat("", json.loads(text or "{}"))) for text in (before, version.made.configuration))
    for key in sorted(then.keys() | now.keys()):
        if then.get(key) != now.get(key):
            yield key, then.get(key, ""), now.get(key, "")


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 # of JSON
    """Yield the settings of a configuration by dotted names, as text."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}" if key else name, inner)
    elif value is not None:
        yield key, value if isinstance(value, str) else json.dumps(value)
