"""Record of `verify`."""

from __future__ import annotations

from typing_extensions import TypedDict


class FlawRecord(TypedDict):
    """A place where a warehouse differs from its records. `batch_id` is null if no batch is known, `file` (relative
    to the table) if the finding is about rows."""

    kind: str
    table: str
    batch_id: int | None
    file: str | None
    message: str
    hint: str


class VerifyRecord(TypedDict):
    """Record of `verify`: the checked version, the head of its chain of batches, numbers of parts read and of rows
    judged again, findings, and sentences on parts that could not be checked. `bundle`: null if not asked for."""

    sound: bool
    version: int
    chain: str | None
    batches: int
    files: int
    rows: int
    judged: int
    findings: list[FlawRecord]
    not_checked: list[str]
    bundle: str | None
