"""Digests of the rows that a micro-batch writes to the small tables; equal rows in any order have equal digests.

Replay computes them from recomputed values without writing anything (law 3, replay).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from tidemark.core.batch_result import Finding, TableDigest
from tidemark.core.watermarks import PartitionState
from tidemark.ledger.tables.rows import Row, finding_rows, state_rows


def digest_rows(table: str, rows: Sequence[Row]) -> TableDigest:
    """SHA-256 over the sorted canonical rows: one JSON object a line, keys sorted, times as integers."""
    lines = sorted(json.dumps(row, sort_keys=True, separators=(",", ":")) for row in rows)
    return TableDigest(table, len(rows), sha256("\n".join(lines).encode("utf-8")).hexdigest())


def digest_states(batch_id: int, states: Mapping[tuple[str, str], PartitionState]) -> TableDigest:
    """The digest of a batch's rows of `watermarks`."""
    return digest_rows("watermarks", state_rows(batch_id, states))


def digest_findings(batch_id: int, findings: Iterable[Finding]) -> TableDigest:
    """The digest of a batch's rows of `diagnostics`; zero rows when nothing was found."""
    return digest_rows("diagnostics", finding_rows(batch_id, findings))


def differing_tables(recorded: Sequence[TableDigest], computed: Sequence[TableDigest]) -> dict[str, str]:
    """By table, a sentence that says how its digest differs."""
    now = {digest.table: digest for digest in computed if digest.rows}
    then = {digest.table: digest for digest in recorded if digest.rows}
    missing = TableDigest("", 0, "none")
    sentences = {}
    for table in sorted(now.keys() | then.keys()):
        was, is_ = replace(then.get(table, missing), table=""), replace(now.get(table, missing), table="")
        if was != is_:
            sentences[table] = (
                f"{table}: recorded {was.rows} rows with digest {was.digest}, "
                f"computed {is_.rows} rows with digest {is_.digest}"
            )
    return sentences
