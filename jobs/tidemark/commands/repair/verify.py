"""The command `verify`: has the live version checked by a package that shares nothing with tidemark."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from typing_extensions import TypedDict

from tidemark.arguments import file_path
from tidemark.context import RunContext
from tidemark.errors import TidemarkError, UsageError
from tidemark.records.verify import VerifyRecord
from tidemark.storage.folders import tables_below


class VerifyOptions(TypedDict, total=False):
    """Options of `verify`: `everything` judges each row again, not a sample; `head` is a head of the chain that was
    noted before; `bundle` is a file to write for an auditor; `wait` for a run to end."""

    everything: bool
    head: str | None
    bundle: Path | str | None
    wait: bool


def verify(context: RunContext, **asked: Unpack[VerifyOptions]) -> VerifyRecord:
    """Check the live version. Raises UsageError if nothing has run, TidemarkError on S3."""
    root, target = context.root, asked.get("bundle")
    bundle = None if target is None else file_path("bundle", target)
    if not isinstance(root, Path):
        raise TidemarkError(
            "a warehouse on S3 cannot be verified in its place",
            where=str(root),
            hint="copy this prefix to a folder, and verify the copy: `warehouse` in the pipeline's file is the folder above",
        )
    if not tables_below(root):
        raise UsageError("there is nothing to verify: no run is committed", hint="use `tidemark run` first")
    from tidemark_verify import bundle as bundles
    from tidemark_verify.check import Warehouse

    with context.hold(asked.get("wait", False)):
        found = Warehouse(root, asked.get("everything", False))
        found.check(asked.get("head"))
        if bundle is not None:
            bundles.write(found, bundle)
    return {
        "sound": not found.found,
        "version": found.version,
        "chain": found.chain.head,
        "batches": len(found.chain.committed),
        "files": len(found.files),
        "rows": found.counted,
        "judged": found.judged,
        "findings": [{**flaw._asdict()} for flaw in found.found],  # type: ignore[typeddict-item] # its fields are the keys
        "not_checked": found.left,
        "bundle": None if bundle is None else str(bundle),
    }
