"""Record of `why`. Times are ISO 8601 UTC with Z; keys that end in `_micros` are microseconds."""

from __future__ import annotations

from typing_extensions import TypedDict

CauseRecord = TypedDict(
    "CauseRecord",
    {
        "sentence": str,
        "kind": str,
        "source": str,
        "partition": str | None,
        "partitions": list[str],
        "substream": str | None,
        "fate": str | None,
        "reason": str | None,
        "from": str | None,
        "to": str | None,
        "files": list[str],
        "rows": int,
        "kept": int | None,
        "median_micros": int | None,
        "p95_micros": int | None,
        "remedy": str,
    },
)
"""A cause of what is abnormal. `partition` is null if it has several or all (`partitions` is then empty); `substream`
has nine of ten rows (null: none has); `fate` and `reason` are null if its rows were judged as ever. Its rows arrived
in [`from`, `to`), whole hours. The remedy would have kept `kept` of the dropped rows (null: none were dropped, or no
tolerance keeps them). `median_micros` and `p95_micros` say how far its rows are from their arrival, or behind their
watermark."""


class WhyRecord(TypedDict):
    """Record of `why`: the causes of what is abnormal, the heaviest first. `scope` names the rows that were looked
    at, `rows` counts them; `history` counts the days that they were compared with."""

    scope: str
    rows: int
    history: int
    causes: list[CauseRecord]
