"""The command `verify`: checks the live version by a package that shares no code with tidemark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from typing_extensions import TypedDict

from tidemark.arguments import file_path
from tidemark.context import RunContext
from tidemark.errors import TidemarkError, UsageError
from tidemark.records.verify import FlawRecord, VerifyRecord
from tidemark.storage.folders import tables_below

if TYPE_CHECKING:
    from tidemark_verify.check import Warehouse
    from tidemark_verify.verify import Flaw

_REPAIR = "`tidemark repair` makes the table again where that is possible; else restore its folder from a copy"
_RESTORE = "restore the table's folder from a copy made after this batch was committed"


class VerifyOptions(TypedDict, total=False):
    """Options of `verify`: `everything`: judge each row again, not only a sample. `head`: a head of the chain that
    was noted earlier. `bundle`: a file to write for an auditor. `wait` for a run to end."""

    everything: bool
    head: str | None
    bundle: Path | str | None
    wait: bool


def verify(context: RunContext, **asked: Unpack[VerifyOptions]) -> VerifyRecord:
    """Check the live version. Raises UsageError if nothing has run, TidemarkError in object storage."""
    root, target = context.root, asked.get("bundle")
    bundle = None if target is None else file_path("bundle", target)
    if not isinstance(root, Path):
        raise TidemarkError(
            "a warehouse in object storage cannot be verified in its place",
            where=str(root),
            hint="copy this prefix to a folder, and verify the copy with a pipeline file that names it",
        )
    if not tables_below(root):
        raise UsageError("there is nothing to verify: no run is committed", hint="use `tidemark run` first")
    from tidemark_verify.check import Warehouse

    with context.hold(asked.get("wait", False)):
        found = Warehouse(root, asked.get("everything", False))
        found.check(asked.get("head"))
        if bundle is not None:
            found.bundle(bundle)
    return _record(found, bundle)


def _record(found: Warehouse, bundle: Path | None) -> VerifyRecord:
    return {
        "sound": not found.found,
        "version": found.version,
        "chain": found.chain.head,
        "batches": len(found.chain.committed),
        "files": len(found.files),
        "rows": found.counted,
        "judged": found.judged,
        "findings": [_finding(flaw) for flaw in found.found],
        "not_checked": found.left,
        "bundle": None if bundle is None else str(bundle),
    }


def _finding(flaw: Flaw) -> FlawRecord:
    """A flaw, and what to do. The rows of `batches` and `quality` are recorded nowhere else, so they need a copy."""
    return {
        "kind": flaw.kind,
        "table": flaw.table,
        "batch_id": flaw.batch_id,
        "file": flaw.file,
        "message": flaw.message,
        "hint": _RESTORE if flaw.table in ("batches", "quality") else _REPAIR,
    }
