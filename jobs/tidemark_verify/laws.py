"""Checks the laws that hold among the rows of a ledger: rows in are fates out, and progress never goes back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidemark_verify.verify import REPAIR, RESTORE, Chain, Flaw, Row, grouped

FATES = ("on_time", "adjusted", "dropped", "quarantined")
RISING = ("watermark", "floor", "high", "last_arrival", "next_offset")


class Laws:
    """The laws of a chain's batches. `restarts` are batches from which a backfill has judged anew."""

    def __init__(self, chain: Chain, restarts: Iterable[int] = ()) -> None:
        self.chain, self.committed = chain, chain.committed
        marks = [row["fingerprint"] for row in chain.batches]
        changed = [chain.batches[at]["batch_id"] for at in range(1, len(marks)) if marks[at] != marks[at - 1]]
        self.restarts = sorted({*restarts, *changed})

    def flaws(self) -> Iterator[Flaw]:
        """Every place where a law does not hold."""
        objects = grouped(self.chain.tables["objects"])
        for table, rows in self.chain.tables.items():
            yield from self._strays(table, grouped(rows))
        for row in self.committed.values():
            yield from _totals(row)
            if not self.chain.expired(row):
                yield from _taken(row, objects.get(row["batch_id"], []))
        yield from self._progress()

    def _strays(self, table: str, by_batch: Mapping[int, list[Row]]) -> Iterator[Flaw]:
        """Rows of batches that there are not, or that were abandoned (whose states are kept)."""
        for number in sorted(by_batch.keys() - self.committed.keys()):
            status = self.chain.known.get(number)
            if (status is None and number >= self.chain.first) or (status == "abandoned" and table != "watermarks"):
                what = "was abandoned" if status else "is not in the table batches"
                yield Flaw("rows", table, number, None, f"has rows of batch {number}, which {what}", REPAIR)

    def _progress(self) -> Iterator[Flaw]:
        """Watermarks and offsets of each partition, times of runs and combined watermarks: they never go back."""
        for key, rows in grouped(self.chain.tables["watermarks"], "source", "partition").items():
            for before, row in self._pairs(rows):
                for name in RISING:
                    if before[name] is not None and (row[name] is None or row[name] < before[name]):
                        yield _back("watermarks", row["batch_id"], f"{name} of {key[0]}, partition {key[1]}")
                yield from self._offsets(key, before, row)
        combined: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.committed.values():
            for kind, name in (("combined", "source"), ("streams", "stream")):
                for each in row[kind] or ():
                    combined[kind, each[name]].append({"batch_id": row["batch_id"], **each})
        for (kind, name), rows in combined.items():
            for before, row in self._pairs(rows):
                if (
                    before["watermark"] is not None
                    and (row["watermark"] or before["watermark"] - 1) < before["watermark"]
                ):
                    yield _back("batches", row["batch_id"], f"the watermark of {kind} {name}")
        for before, row in zip(self.chain.batches, self.chain.batches[1:], strict=False):
            if row["as_of"] < before["as_of"]:
                yield _back("batches", row["batch_id"], "as_of")

    def _offsets(self, key: tuple[str, str], before: Row, row: Row) -> Iterator[Flaw]:
        """A partition's next offset goes up by the rows that batches have brought."""
        span = range(before["batch_id"] + 1, row["batch_id"] + 1)
        batches = [self.committed[number] for number in span if number in self.committed]
        if row["batch_id"] not in self.committed or any(
            json.loads(each["configuration"])["start"] for each in batches[:1]
        ):
            return
        counts = [count for each in batches for count in each["counts"] or ()]
        rows = sum(count["rows"] for count in counts if (count["source"], count["partition"]) == key)
        if row["next_offset"] - before["next_offset"] != rows:
            what = f"offsets of {key[0]}, partition {key[1]}, go on by other than the {rows} rows of the batch"
            yield Flaw("offsets", "watermarks", row["batch_id"], None, what, REPAIR)

    def _pairs(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
        """Each row with the one before it, where no backfill begins in between."""
        ordered = sorted(rows, key=lambda row: row["batch_id"])
        for before, row in zip(ordered, ordered[1:], strict=False):
            if not any(before["batch_id"] < batch <= row["batch_id"] for batch in self.restarts):
                yield before, row


def _back(table: str, batch_id: int, what: str) -> Flaw:
    return Flaw("watermarks", table, batch_id, None, f"{what} goes back", REPAIR)


def _totals(row: Row) -> Iterator[Flaw]:
    """Law 2: rows in are fates out, in each partition and in total, and as many as were written."""
    number, counts = row["batch_id"], row["counts"] or []
    for each in (*counts, row):
        if each["rows"] != sum(each[fate] for fate in FATES):
            yield Flaw("conservation", "batches", number, None, "rows in are not the sum of the fates", RESTORE)
    for name in ("rows", *FATES):
        if row[name] != sum(each[name] for each in counts):
            yield Flaw("conservation", "batches", number, None, f"{name} is not the sum over partitions", RESTORE)
    written = {each["table"]: each["rows"] for each in row["digests"] or ()}
    for source in {each["source"] for each in counts}:
        rows = sum(each["rows"] for each in counts if each["source"] == source)
        if written.get(f"events/{source}", rows) != rows:
            yield Flaw(
                "conservation",
                f"events/{source}",
                number,
                None,
                f"{rows} rows were judged, not as many written",
                RESTORE,
            )


def _taken(row: Row, objects: Sequence[Row]) -> Iterator[Flaw]:
    """A batch judges each row of the objects that it took. With `start` it may skip some."""
    if json.loads(row["configuration"])["start"] is not None:
        return
    for source in sorted({each["source"] for each in (*objects, *(row["counts"] or ()))}):
        taken = sum(each["rows"] or 0 for each in objects if each["source"] == source)
        judged = sum(each["rows"] for each in row["counts"] or () if each["source"] == source)
        if taken != judged:
            what = f"{taken} rows are in the objects of {source}, and {judged} were judged"
            yield Flaw("conservation", "objects", row["batch_id"], None, what, REPAIR)
