"""Finds causes of abnormal values in a run or in a range of arrivals. Starts no JVM."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from tidemark.commands.filters import Moment, instants
from tidemark.commands.read import Reader
from tidemark.core.batch import ObjectState
from tidemark.errors import UsageError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tail import BLOCKED, RunRange
from tidemark.records.causes import WhyRecord
from tidemark.report.causes.cells import HISTORY, JudgedSource, RowScope
from tidemark.report.causes.find import FoundCauses, causes_of
from tidemark.report.events import instant as arrow_instant
from tidemark.report.words import moment
from tidemark.runner.source_rules import rules_of
from tidemark.storage import is_table
from tidemark.storage.damaged_files import UNREADABLE

UNSEEN = (*UNREADABLE, ValueError, DeltaError, duckdb.Error)
"""Exceptions, beside TidemarkError, if events cannot be read now."""
_LANDED = pa.table(
    {"f": pa.array([], pa.string()), "b": pa.array([], pa.int64()), "landed": pa.array([], pa.int64())}
).schema
"""Files with the batches that took them, and their landing times then, microseconds UTC."""


def why(reader: Reader, since: Moment, until: Moment, run: str | None) -> WhyRecord:
    """Return the causes of abnormal values among rows that arrive in [since, until), or in a run (default: the last
    run that is committed or blocked by quality). Raises UsageError if there is no such run, or if both are given."""
    ledger, through = reader.ledger, reader.judged_through()
    if not through:
        return {"scope": "no run is committed yet", "rows": 0, "history": 0, "causes": []}
    if since is None and until is None:
        asked, scope = _of_run(ledger, through, run)
    else:
        if run is not None:
            raise UsageError("--run and a range of times exclude one another", hint="give one of them")
        asked, scope = _of_range(ledger, through, *instants(reader.clock(), since, until))
    found = causes_in(reader, asked)
    causes = [cause.record() for cause in found.causes]
    return {"scope": scope, "rows": found.rows, "history": found.days, "causes": causes}


def _of_run(ledger: Ledger, through: int, run: str | None) -> tuple[RowScope, str]:
    """The rows of a run, to compare with earlier rows."""
    (last,) = ledger.batches(through, through)
    chosen = RunRange(last.run_id, last.run_first, last.batch_id) if run is None else ledger.run(run)
    if chosen is None or chosen.first > through:
        raise UsageError(f"no run {run!r} has judged rows", hint="`tidemark status` lists the last runs")
    asked = scope_of_batches(ledger, chosen.first, min(chosen.last, through))
    return asked, f"run {chosen.run_id} as of {moment(asked.as_of)}"


def scope_of_batches(ledger: Ledger, first: int, last: int) -> RowScope:
    """The rows of batches first..last, to compare with earlier rows."""
    end, before = ledger.before(last + 1), ledger.before(first)
    history = None if before is None else before.as_of - HISTORY
    return RowScope(first, last, history=history, as_of=None if end is None else end.as_of)


def causes_in(reader: Reader, asked: RowScope) -> FoundCauses:
    """The causes of abnormal values among the rows in `asked`."""
    return causes_of(_sources(reader, asked), asked)


def _of_range(ledger: Ledger, through: int, since: int | None, until: int | None) -> tuple[RowScope, str]:
    """The rows of a range of arrivals, to compare with earlier rows."""
    if since is not None and until is not None and since >= until:
        raise UsageError("--until is not after --since", hint="rows from --since up to before --until are looked at")
    (record,) = ledger.batches(through, through)
    as_of = record.as_of if until is None else min(until, record.as_of)
    history = None if since is None else since - HISTORY
    words = [*[f"from {moment(since)}"] * (since is not None), *[f"until {moment(until)}"] * (until is not None)]
    asked = RowScope(last=through, since=since, until=until, history=history, as_of=as_of)
    return asked, f"arrivals {' '.join(words)}"


def _sources(reader: Reader, asked: RowScope) -> list[JudgedSource]:
    """The sources that have rows, with the settings of the last run."""
    declared = reader.declared
    return [
        JudgedSource(rules, reader.events(name), _landed(reader, name, asked))
        for name, rules in rules_of(declared).items()
        if is_table(reader.ledger.folder / "events" / name)
    ]


def _landed(reader: Reader, source: str, asked: RowScope) -> pa.Table:
    """Landing times of a source's files when they were taken, from the begin of the history on; also for a blocked
    run."""
    condition = (pc.field("source") == source) & pc.field("state").isin([ObjectState.READ, ObjectState.QUARANTINED])
    if asked.history is not None:
        condition &= pc.field("modified") >= arrow_instant(asked.history)
    found = reader.table("objects").to_table(columns=["uri", "batch_id", "modified"], filter=condition)
    taken = found.rename_columns(["f", "b", "landed"]).cast(_LANDED)
    blocked = [record for record in reader.ledger.last().pending if record.status == BLOCKED]
    mine = [
        {"f": item.uri, "b": each.batch_id, "landed": item.modified}
        for each in blocked
        for item in reader.ledger.objects_of(each)
        if item.source == source
    ]
    return pa.concat_tables([taken, pa.Table.from_pylist(mine, _LANDED)])
