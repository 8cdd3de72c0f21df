"""Checks the laws that hold among the rows of a ledger: rows in are fates out, and progress never goes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import itemgetter

from tidemark_verify.verify import Chain, Flaw, Row, grouped

FATES = ("on_time", "adjusted", "dropped", "quarantined")
_RISING = ("watermark", "floor", "high", "last_arrival", "next_offset")


def flaws(chain: Chain, rebuilt: Iterable[int]) -> Iterator[Flaw]:
    """Every place where a law does not hold. A backfill has judged anew from each batch in `rebuilt` on."""
    objects, first = grouped(chain.tables["objects"]), min(chain.known, default=1)
    for table, rows in chain.tables.items():
        for number in sorted({row["batch_id"] for row in rows} - chain.committed.keys()):
            status = chain.known.get(number)  # states of an abandoned batch are kept
            if (status is None and number >= first) or (status == "abandoned" and table != "watermarks"):
                what = "was abandoned" if status else "is not in the table batches"
                yield Flaw("rows", table, number, None, f"has rows of batch {number}, which {what}")
    for row in chain.committed.values():
        yield from _conserved(row, None if chain.expired(row) else objects.get(row["batch_id"], []))
    marks = [(row["batch_id"], row["fingerprint"]) for row in chain.batches]
    restarts = {*rebuilt, *(after[0] for before, after in pairwise(marks) if before[1] != after[1])}
    yield from _progress(chain, restarts)


def _conserved(row: Row, objects: list[Row] | None) -> Iterator[Flaw]:
    """Law 2: rows in are fates out, in each partition and in total, as many as were written and as objects have (which
    `start` may skip; None: retention has forgotten them)."""
    number, counts = row["batch_id"], row["counts"] or []
    if any(each["rows"] != sum(each[fate] for fate in FATES) for each in (*counts, row)):
        yield Flaw("conservation", "batches", number, None, "rows in are not the sum of the fates")
    if any(row[name] != sum(each[name] for each in counts) for name in ("rows", *FATES)):
        yield Flaw("conservation", "batches", number, None, "totals are not the sums over partitions")
    written = {each["table"]: each["rows"] for each in row["digests"] or ()}
    skips = json.loads(row["configuration"])["start"] is not None or objects is None
    for source in sorted({each["source"] for each in (*counts, *(objects or ()))}):
        judged = sum(each["rows"] for each in counts if each["source"] == source)
        taken = sum(each["rows"] or 0 for each in objects or () if each["source"] == source)
        if written.get(f"events/{source}", judged) != judged or (taken != judged and not skips):
            what = f"{judged} rows of {source} were judged, {taken} are in objects, or not as many were written"
            yield Flaw("conservation", "objects", number, None, what)


def _progress(chain: Chain, restarts: Iterable[int]) -> Iterator[Flaw]:
    """Watermarks, offsets and times never go back, but where a backfill begins."""
    found: list[tuple[str, str, list[Row], tuple[str, ...]]] = [("batches", "the run", chain.batches, ("as_of",))]
    for key, rows in grouped(chain.tables["watermarks"], "source", "partition").items():
        found.append(("watermarks", f"{key[0]}, partition {key[1]}", rows, _RISING))
    for kind, name in (("combined", "source"), ("streams", "stream")):
        each = [{"batch_id": number, **one} for number, row in chain.committed.items() for one in row[kind] or ()]
        found += [("batches", f"{name} {key[0]}", rows, ("watermark",)) for key, rows in grouped(each, name).items()]
    for table, what, rows, names in found:
        for before, row in pairwise(sorted(rows, key=itemgetter("batch_id"))):
            if not any(before["batch_id"] < batch <= row["batch_id"] for batch in restarts):
                for name in names:
                    if before[name] is not None and (row[name] is None or row[name] < before[name]):
                        yield Flaw("progress", table, row["batch_id"], None, f"{name} of {what} goes back")
