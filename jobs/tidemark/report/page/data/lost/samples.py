"""Samples of quarantined rows, with their text as it landed."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from tidemark.core.policy import Fate
from tidemark.report.page.data.tables import Row, Scope, SourceTable, ask, in_scope

MOST = 3
"""Number of samples of each reason: the newest rows."""
MOST_REASONS = 10
LONGEST = 300
"""Most characters of a sample's text; a longer one is cut off."""


_QUERY = f"""
WITH q AS MATERIALIZED (SELECT coalesce(_reasons[1], '') AS reason, _file AS file, _partition, _offset, _batch_id,
    left({{text}}, {LONGEST}) AS text, greatest(length({{text}}) - {LONGEST}, 0) AS cut FROM t),
f AS (SELECT reason, file, count(*) AS n FROM q WHERE file IS NOT NULL GROUP BY ALL),
most AS (SELECT reason, count(*) AS files, arg_min(file, {{{{n: -n, file: file}}}}) AS file FROM f GROUP BY 1),
newest AS (SELECT reason, count(*) AS n, arg_max(
    {{{{partition: _partition, "offset": _offset, file: file, text: text, cut: cut}}}},
    {{{{batch: _batch_id, partition: _partition, place: _offset}}}}, {{most}}) AS samples FROM q GROUP BY 1)
SELECT reason, n, coalesce(files, 0) AS files, file, samples FROM newest LEFT JOIN most USING (reason)
ORDER BY n DESC, reason LIMIT {MOST_REASONS}
"""  # noqa: S608 - of constants


@dataclass(frozen=True)
class Quarantined:
    """Rows of one source that are quarantined for one reason: numbers of rows and of files, the file with most of
    them, and samples (`partition`, `offset`, `file`, `text`, `cut`: number of characters left out)."""

    reason: str
    rows: int
    files: int
    file: str | None
    samples: tuple[Row, ...]


def quarantined_of(source: SourceTable, scope: Scope, rows: int, texts: bool) -> tuple[Quarantined, ...]:
    """Read the quarantined rows of a source, the reason with most rows first; without `texts` no sample is read. If
    `rows`, their known number, is 0, nothing is read."""
    if source.events is None or not rows:
        return ()
    columns = ["_partition", "_offset", "_file", "_disposition", "_reasons", "_batch_id", *["_raw"] * texts]
    found = ask(
        source.events,
        columns,
        _QUERY.format(text="_raw" if texts else "NULL::VARCHAR", most=MOST if texts else 1),
        where=in_scope(scope, pc.field("_disposition") == Fate.QUARANTINED.value),
    )
    return tuple(Quarantined(r["reason"], r["n"], r["files"], r["file"], tuple(r["samples"]) * texts) for r in found)
