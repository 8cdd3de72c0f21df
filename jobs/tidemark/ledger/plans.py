"""Rows of the table `plans`: the objects that a planned run will read, and the findings of its listing."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from tidemark.core.batch import LandedObject, RunPlan
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.core.shell import command
from tidemark.errors import TidemarkError
from tidemark.ledger.tables.rows import Row, finding_text, object_row
from tidemark.storage import Location


@dataclass(frozen=True)
class Noticed:
    """Results of listing besides the objects to take: findings, and objects that were only reported."""

    findings: tuple[Finding, ...] = ()
    reported: tuple[LandedObject, ...] = ()


def new_token() -> str:
    """Return a new token for one attempt to plan. An attempt that died before it was recorded leaves rows under its
    token, so a run that is planned again needs another one."""
    return uuid.uuid4().hex


def plan_rows(plan: RunPlan, token: str, noticed: Noticed) -> list[Row]:
    """The rows of a plan, each with the plan's token."""
    rows = [object_row(batch.batch_id, item) for batch in plan.batches for item in batch.objects]
    rows += [object_row(plan.first, item) for item in noticed.reported]
    rows += [{"batch_id": plan.first, "finding": finding_text(item)} for item in noticed.findings]
    return [{**row, "plan": token} for row in rows]


def of_objects(rows: Iterable[Row]) -> list[Row]:
    """The rows that are objects."""
    return [row for row in rows if row["uri"] is not None]


def lost_plan(location: Location, record: BatchRecord, there: int) -> TidemarkError:
    """The error for a planned batch whose objects are no longer all in the table `plans`."""
    aside = command("abandon", "CONFIG", record.run_id, options=("--reason", "..."))
    return TidemarkError(
        f"the table plans is damaged: it has {there} of the {record.objects} objects of batch {record.batch_id}, "
        f"which run {record.run_id} has planned and not committed",
        where=str(location),
        hint=f"restore the folder from a copy, or `{aside}`: the next run then takes the objects",
    )
