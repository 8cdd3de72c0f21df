"""Runs: the objects and rows that they took, and fates, as the ledger counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.core.policy import FATES
from tidemark.report.page.data.tables import Row, Tables, ask, in_scope

MOST_RUNS = 50
"""Number of newest runs in the list."""

COUNTS = ("rows", *FATES)
"""Columns of a batch that count its rows."""
_SUMS = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in (*COUNTS, "objects", "bytes"))
_COLUMNS = ["batch_id", "run_id", "run_first", "run_last", "as_of", *COUNTS, "objects", "bytes"]


@dataclass(frozen=True)
class Runs:
    """The runs of a scope. `totals` sums all of them (with `runs`, `batches`, `first_as_of`, `last_as_of`). `listed`
    are the newest (`ran`: time of the run, None if unknown). `ran`: known times of the scope's runs. `by_source`:
    rows that the ledger counted for each source. Times in microseconds UTC."""

    totals: Row
    listed: list[Row]
    by_source: dict[str, int]
    streams: list[Row]
    engine: list[Row]
    digests: list[Row]
    ran: tuple[int, ...] = ()


def runs_of(tables: Tables) -> Runs:
    """Read the runs of a scope from the table `batches`."""
    totals = _ask(
        tables,
        _COLUMNS,
        f"SELECT {_SUMS}, count(*) AS batches, count(DISTINCT run_first) AS runs, "  # noqa: S608
        "epoch_us(min(as_of)) AS first_as_of, epoch_us(max(as_of)) AS last_as_of FROM t",
    )
    listed = _ask(
        tables,
        _COLUMNS,
        f"SELECT run_first, any_value(run_id) AS run_id, epoch_us(max(as_of)) AS as_of, count(*) AS batches, {_SUMS} "  # noqa: S608
        f"FROM t GROUP BY run_first ORDER BY run_first DESC LIMIT {MOST_RUNS}",
    )
    listed = [run | {"ran": tables.ran.get(run["run_first"])} for run in listed]
    ran = tuple(sorted(time for first, time in tables.ran.items() if first in tables.scope))
    return Runs(totals[0], listed, _sources(tables), _streams(tables), _engines(tables), _digests(tables), ran)


def _ask(tables: Tables, columns: Sequence[str], text: str) -> list[Row]:
    """Query the batches of the scope."""
    return ask(tables.batches, columns, text, where=in_scope(tables.scope, column="batch_id"))


def _sources(tables: Tables) -> dict[str, int]:
    found = _ask(
        tables,
        ["batch_id", "counts"],
        "SELECT c.source AS source, CAST(sum(c.rows) AS BIGINT) AS n FROM (SELECT unnest(counts) AS c FROM t) "
        "GROUP BY 1 ORDER BY 1",
    )
    return {row["source"]: row["n"] for row in found}


def _streams(tables: Tables) -> list[Row]:
    return _ask(
        tables,
        ["batch_id", "streams"],
        "SELECT s.stream AS stream, CAST(sum(s.rows) AS BIGINT) AS rows, CAST(sum(s.outside) AS BIGINT) AS outside, "
        "CAST(sum(s.dead_letters) AS BIGINT) AS dead_letters FROM (SELECT unnest(streams) AS s FROM t) "
        "GROUP BY 1 ORDER BY 1",
    )


def _engines(tables: Tables) -> list[Row]:
    """Return every engine and configuration that judged, newest first, with their batches."""
    return _ask(
        tables,
        ["batch_id", "engine", "fingerprint", "as_of"],
        "SELECT engine, fingerprint, min(batch_id) AS first, max(batch_id) AS last, count(*) AS batches "
        "FROM t GROUP BY 1, 2 ORDER BY last DESC LIMIT 10",
    )


def _digests(tables: Tables) -> list[Row]:
    """Return the digests of the newest batch, by table."""
    return _ask(
        tables,
        ["batch_id", "digests"],
        'SELECT batch_id, d."table" AS name, d.rows AS rows, d.digest AS digest '
        "FROM (SELECT batch_id, unnest(digests) AS d FROM (SELECT * FROM t ORDER BY batch_id DESC LIMIT 1)) "
        "ORDER BY 2",
    )
