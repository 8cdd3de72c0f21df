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
"""A cause of abnormal rows. `partition` is null if there are several or all (then `partitions` is empty). `substream`
has nine of ten rows (null: none has). `fate` and `reason` are null if the rows were judged as usual. The rows arrived
in [`from`, `to`), whole hours. `kept`: dropped rows that the remedy would have kept (null: none was dropped, or no
tolerance keeps any). `median_micros`, `p95_micros`: distance of the rows from their arrival, or from the
watermark."""


class WhyRecord(TypedDict):
    """Record of `why`: the causes of abnormal rows, the heaviest first. `scope` describes the examined rows, `rows`
    is their number; `history`: number of days that they were compared with."""

    scope: str
    rows: int
    history: int
    causes: list[CauseRecord]
