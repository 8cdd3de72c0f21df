"""Turns core values into rows of the small tables and back; times are integers of microseconds on both sides."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from tidemark.core.batch import LandedObject, ObjectState, loaded_uri, stored_uri
from tidemark.core.batch_result import (
    Account,
    BatchRecord,
    Diagnostic,
    FileHash,
    Finding,
    FindingSample,
    LastWrite,
    Shifts,
    TableDigest,
    total,
)
from tidemark.core.policy import Fate, reason_of
from tidemark.core.quality import Check, Severity
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.times import within_years
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.core.windows import Passed
from tidemark.ledger.tables.schemas import REASONS, STREAM_TIMES

Row = dict[str, Any]


def uri_key(source: str, stored: str) -> int:
    """A signed 32-bit checksum of source and stored URI; equal keys may still be different objects."""
    value = zlib.crc32(stored.encode("utf-8"), zlib.crc32(source.encode("utf-8") + b"\0"))
    return value - 2**32 if value >= 2**31 else value


def object_row(batch_id: int, item: LandedObject) -> Row:
    """One row of `objects`. `plans` has these columns, too, except the key."""
    uri = stored_uri(item.uri)
    return {
        "batch_id": batch_id,
        "source": item.source,
        "uri": uri,
        "size": item.size,
        "modified": item.modified,
        "tag": item.tag,
        "rows": item.rows,
        "state": item.state.value,
        "uri_key": uri_key(item.source, uri),
    }


def landed_object(row: Row) -> LandedObject:
    return LandedObject(
        source=row["source"],
        uri=loaded_uri(row["uri"]),
        size=row["size"],
        modified=row["modified"],
        tag=row["tag"],
        state=ObjectState(row["state"]),
        rows=row["rows"],
    )


def state_row(batch_id: int, source: str, partition: str, state: PartitionState) -> Row:
    values = {name: getattr(state, name) for name in PartitionState.__dataclass_fields__}
    return {"batch_id": batch_id, "source": source, "partition": partition, **values}


def partition_state(row: Row) -> PartitionState:
    return PartitionState(**{name: row[name] for name in PartitionState.__dataclass_fields__})


def finding_row(batch_id: int, finding: Finding) -> Row:
    sample = asdict(finding.sample)
    if sample["file"] is not None:
        sample["file"] = stored_uri(sample["file"])
    return {"batch_id": batch_id, **asdict(finding), "type": finding.type.value, "sample": sample}


def finding(row: Row) -> Finding:
    sample = dict(row["sample"])
    if sample["file"] is not None:
        sample["file"] = loaded_uri(sample["file"])
    values = {name: row[name] for name in Finding.__dataclass_fields__}
    return Finding(**{**values, "type": Diagnostic(row["type"]), "sample": FindingSample(**sample)})


def finding_text(item: Finding) -> str:
    """A finding as one line of JSON, as a plan carries it until its batch is judged."""
    return json.dumps(finding_row(0, item), sort_keys=True)


def finding_of_text(text: str) -> Finding:
    return finding(json.loads(text))


def check_rows(batch_id: int, run_id: str, checks: Iterable[Check]) -> list[Row]:
    known = [asdict(item) | {"severity": item.severity.value, "examples": list(item.examples)} for item in checks]
    return [{"batch_id": batch_id, "run_id": run_id, **row} for row in known]


def check(row: Row) -> Check:
    values = {name: row[name] for name in Check.__dataclass_fields__}
    return Check(**{**values, "severity": Severity(row["severity"]), "examples": tuple(row["examples"])})


def _fates(fates: Mapping[Fate, int]) -> Row:
    return {"rows": sum(fates.values()), **{fate.value: fates.get(fate, 0) for fate in Fate}}


def _reasons(reasons: Mapping[str, int]) -> Row:
    return {reason.value: reasons.get(reason, 0) for reason in REASONS}


def _further(accounts: Iterable[Account]) -> list[Row] | None:
    """Counts of the reasons that `_reasons` has no field for; None if there are none, as in old batches."""
    found = [
        {"source": each.source, "partition": each.partition, "reason": str(reason), "rows": count}
        for each in accounts
        for reason, count in sorted(each.reasons.items())
        if count and reason not in REASONS
    ]
    return found or None


def _count(account: Account) -> Row:
    return {
        "source": account.source,
        "partition": account.partition,
        **_fates(account.fates),
        "by_reason": _reasons(account.reasons),
        "shifts": None if account.shifts is None else asdict(account.shifts),
    }


def _account(row: Row) -> Account:
    return Account(
        source=row["source"],
        partition=row["partition"],
        fates={fate: row[fate.value] for fate in Fate},
        reasons={reason: count for reason in REASONS if (count := row["by_reason"][reason.value])},
        shifts=None if row["shifts"] is None else Shifts(**row["shifts"]),
    )


_PLAIN = (
    "batch_id",
    "run_id",
    "run_first",
    "run_last",
    "as_of",
    "status",
    "configuration",
    "fingerprint",
    "engine",
    "plan",
    "suites",
    "objects",
    "bytes",
    "reason",
    "chain_before",
    "chain",
)


def _stream(name: str, end: StreamEnd) -> Row:
    counts = {"rows": end.rows, "outside": end.outside, "dead_letters": end.dead_letters}
    return {"stream": name, **asdict(_within_years(end.state)), **counts}


def _stream_end(row: Row, beyond: Mapping[str, Row]) -> StreamEnd:
    known = beyond.get(row["stream"], row)
    values = {name: known[name] for name in StreamState.__dataclass_fields__}
    state = StreamState(**{**values, "bounds": tuple(Passed(**each) for each in known["bounds"] or ())})
    return StreamEnd(state, row["rows"], row["outside"], row["dead_letters"])


def _within_years(state: StreamState) -> StreamState:
    """The state, with times set to the bounds of the years 1 to 9999, which every reader can hold."""
    known = {name: getattr(state, name) for name in STREAM_TIMES}
    times: Row = {name: within_years(time) for name, time in known.items() if time is not None}
    return replace(state, **times, bounds=tuple(replace(each, time=within_years(each.time)) for each in state.bounds))


def _beyond(streams: Mapping[str, StreamEnd]) -> str | None:
    """The states with times beyond the years 1 to 9999, unchanged, as JSON; None if there are none."""
    found = {name: asdict(end.state) for name, end in streams.items() if end.state != _within_years(end.state)}
    return json.dumps(found, sort_keys=True) if found else None


def _combined(row: Row) -> Combined:
    return Combined(row["watermark"], row["complete"], row["closed"])


def _dicts(values: Iterable[Any] | None) -> list[Row] | None:
    return None if values is None else [asdict(each) for each in values]


def batch_row(record: BatchRecord) -> Row:
    """One row of `batches`, with the totals over its accounts."""
    fates, reasons = total(record.accounts)
    return {
        **{name: getattr(record, name) for name in _PLAIN},
        "closing": list(record.closing),
        **_fates(fates),
        "by_reason": _reasons(reasons),
        "counts": [_count(account) for account in record.accounts],
        "further_reasons": _further(record.accounts),
        "digests": [asdict(digest) for digest in record.digests],
        "combined": [{"source": name, **asdict(value)} for name, value in record.combined.items()],
        "streams": [_stream(name, end) for name, end in record.streams.items()],
        "beyond": _beyond(record.streams),
        "timings": [{"phase": phase, "seconds": seconds} for phase, seconds in record.timings.items()],
        "written": _dicts(record.written),
        "files": _dicts(record.files),
        "ledger_digests": _dicts(record.ledger_digests),
    }


def batch_record(row: Row) -> BatchRecord:
    """The inverse of `batch_row`; reasons with a count of 0 are left out."""
    beyond = json.loads(row["beyond"] or "{}")
    return BatchRecord(
        **{name: row[name] for name in _PLAIN},
        closing=tuple(row["closing"] or ()),
        accounts=accounts_of(row),
        digests=digests_of(row["digests"] or ()),
        combined={each["source"]: _combined(each) for each in row["combined"] or ()},
        streams={each["stream"]: _stream_end(each, beyond) for each in row["streams"] or ()},
        timings={each["phase"]: each["seconds"] for each in row["timings"] or ()},
        written=written_of(row),
        files=None if row["files"] is None else tuple(FileHash(**each) for each in row["files"]),
        ledger_digests=None if row["ledger_digests"] is None else digests_of(row["ledger_digests"]),
    )


def digests_of(rows: Iterable[Row]) -> tuple[TableDigest, ...]:
    """The digests in a column of `batches`."""
    return tuple(TableDigest(**digest) for digest in rows)


def written_of(row: Row) -> tuple[LastWrite, ...] | None:
    """Last writes to all tables, from a row of `batches`; None for a row older than this column."""
    return None if row["written"] is None else tuple(LastWrite(**each) for each in row["written"])


def accounts_of(row: Row) -> tuple[Account, ...]:
    """The accounts of a row of `batches`."""
    further: dict[tuple[str, str], dict[str, int]] = {}
    for each in row.get("further_reasons") or ():
        further.setdefault((each["source"], each["partition"]), {})[reason_of(each["reason"])] = each["rows"]
    found = [_account(count) for count in row["counts"] or ()]
    return tuple(
        replace(each, reasons={**each.reasons, **further.get((each.source, each.partition), {})}) for each in found
    )


def state_rows(batch_id: int, states: Mapping[tuple[str, str], PartitionState]) -> list[Row]:
    return [state_row(batch_id, source, partition, state) for (source, partition), state in states.items()]


def finding_rows(batch_id: int, findings: Iterable[Finding]) -> list[Row]:
    return [finding_row(batch_id, item) for item in findings]
