"""Whole pipelines over many runs, made at random: `PIPELINES=` for each test, others with `SEED=`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from random import Random

from hypothesis.strategies import SearchStrategy
from pipelines import Author, Generated
from samples import drawn
from sources import Landing, landings
from test_generated_pipelines import streams_of

from oracle import SECOND
from product import Product
from strategies import BASE
from tidemark.core.backfill.ranges import passed_by
from tidemark.core.batch_result import BatchRecord

PIPELINES = int(os.environ.get("PIPELINES", "2"))
STREAMS = 10
_SEED = os.environ.get("SEED", "7")


@dataclass(frozen=True)
class Whole:
    """A pipeline over a landing of at least two runs and a close; `dice` go on from its making, `where` names it."""

    dice: Random
    landing: Landing
    made: Generated
    where: str

    def a_time(self, product: Product) -> int:
        """The time of one of the rows that the product has judged, microseconds."""
        rows = [row for name in self.landing.logs for row in product.events(name)]
        times = sorted(row["_system_timestamp"] for row in rows if row["_system_timestamp"] is not None)
        return self.dice.choice(times or [BASE])

    def a_range(self, product: Product) -> tuple[int, int | None]:
        """Begin and end of a range to backfill, microseconds: it ends (None: never) before what all have passed."""
        begin = self.a_time(product)
        ends = self.dice.random() < 0.5 and passed(product, begin + 3 * SECOND)
        return begin, begin + 3 * SECOND if ends else None


def whole(kind: str, number: int, streams: int = STREAMS, landed: SearchStrategy[Landing] | None = None) -> Whole:
    """The pipeline of this number for a kind of test, always the same, with so many streams."""
    dice = Random(f"{_SEED}:{kind}:{number}")  # noqa: S311 - the same pipelines each time
    several = [
        each for each in drawn(landings() if landed is None else landed, 3 * PIPELINES) if len(each.logs["a"][1]) > 2
    ]
    made = Author(dice, streams_of(several[number])).write(streams)
    return Whole(dice, several[number], made, f"SEED={_SEED}, pipeline {number}: {json.dumps(made.streams)}")


def newest(product: Product) -> BatchRecord:
    """The last committed batch."""
    ledger = product.pipeline().ledger
    through = ledger.last().committed_through
    (last,) = ledger.batches(through, through)
    return last


def passed(product: Product, time: int) -> bool:
    """True if all streams and sources have passed a time, with the lateness that their windows allow."""
    last, streams = newest(product), product.pipeline().spec.streams
    late = {name: step.windows.lateness for name, step in streams.items() if step.windows is not None}
    return passed_by(time, last.combined, last.streams, late)
