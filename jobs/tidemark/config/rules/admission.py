"""Rules for what is done with rows before they are judged: `require` and `deduplicate`.

As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.sources import SourceSpec
from tidemark.config.sql.expressions import key_findings, predicate_findings
from tidemark.config.sql.row import ReadableColumns


def admission_errors(spec: SourceSpec, bad: Collection[str]) -> Iterator[KeyFinding]:
    """Problems of these keys; `bad` names keys whose values cannot be relied on."""
    row = ReadableColumns(None if "schema" in bad else spec.held())
    if "require" not in bad:
        for name, text in spec.require.items():
            yield from ((("require", name), message) for message in predicate_findings(text, row))
    if "deduplicate" not in bad and spec.deduplicate is not None:
        for index, text in enumerate(spec.deduplicate.by):
            path: KeyPath = ("deduplicate", "by", index)
            yield from ((path, message) for message in key_findings(text, row))
