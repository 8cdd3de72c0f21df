"""Row `history`: one micro-batch with years behind it against one on a young warehouse, and against streaming."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.clock import Spread, alternate, seconds
from bench.data import LANES, Trickle
from bench.figures import Figure, Section
from bench.history import Past, check, fabricate
from bench.peers.spark import Streaming
from bench.place import Place
from bench.subject import STREAMS, configure, phases, where_time_goes
from tidemark.pipeline import Pipeline

ROWS = 1000
FULL_PAST = Past(batches=100_000, objects=1_000_000, files=100_000)
WARM_UPS = 100
LEAST_WARM_UPS = 12
"""After ten commits a table has its first checkpoint, which later commits read: before that it costs less."""
MOST_IDLE = 1.0
"""Seconds of a run with nothing to do, at most."""
ROUNDS = 5
"""Batches measured for each repeat."""


@dataclass
class Side:
    """One warehouse, fed with the objects of a trickle one by one, each by a run of its own."""

    folder: Path
    trickle: Trickle
    keys: dict[str, Any] = field(default_factory=dict)
    next: int = 0
    summaries: list[dict[str, Any]] = field(default_factory=list)
    spent: list[dict[str, float]] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return configure(self.folder, self.folder / "landing", LANES, **self.keys)

    def batch(self) -> float:
        """Land one object and run; a new Pipeline each time, as each scheduled run is."""
        as_of = self.trickle.land(self.next, [self.folder / "landing"])
        self.next += 1
        config = self.config
        found: list[Pipeline] = []

        def run() -> None:
            found.append(Pipeline.load(config, {}))
            self.summaries.append(found[0].run(as_of))

        took = seconds(run)
        assert [batch["rows"] for batch in self.summaries[-1]["batches"]] == [ROWS], "a batch has other rows"
        last = found[0].ledger.last().committed_through
        self.spent.append(phases(found[0].ledger.batches(last, last)) | {"whole": took})
        return took

    def fates(self) -> list[dict[str, Any]]:
        """What became of the rows, run by run."""
        names = ("rows", "on_time", "adjusted", "dropped", "quarantined", "by_reason")
        return [{name: summary["batches"][0][name] for name in names} for summary in self.summaries]


def sides(place: Place, trickle: Trickle, full: Past) -> tuple[Side, Side, Past]:
    """A warehouse with a past, a young one, and how much past there is at this size."""
    past = Past(*[place.scaled(each, 10) for each in (full.batches, full.objects, full.files)])
    old, young = (Side(place.work / name, trickle) for name in ("old", "young"))
    old.batch(), young.batch()
    place.say(f"fabricating {past.batches:,} batches, {past.objects:,} objects, {past.files:,} live files")
    ledger = Pipeline.load(old.config, {}).ledger
    fabricate(ledger, past)
    check(ledger, past)
    return old, young, past


def measure(place: Place) -> Section:
    """Both warehouses get the same objects in turns; after that a third with windows and a stream that is restarted;
    then a stream that is left running."""
    warm_ups, rounds = place.scaled(WARM_UPS, LEAST_WARM_UPS), ROUNDS * place.repeats
    trickle = Trickle(place.spark, place.cache, ROWS, LANES, warm_ups + rounds + 1)
    old, young, past = sides(place, trickle, FULL_PAST)
    restarted = Fed(trickle, Streaming(place.spark, place.work / "stream" / "landing", place.work / "stream"))
    windowed = Side(place.work / "windowed", trickle, {"streams": STREAMS})
    windowed.batch()
    cases = {"old": old.batch, "young": young.batch}
    taken = alternate(cases, rounds, place.say, warm_ups)
    cases = {"with windows": windowed.batch, "restarted": lambda: restarted.trigger(restarted.stream.restart)}
    taken |= alternate(cases, rounds, place.say, min(warm_ups, LEAST_WARM_UPS))
    assert old.fates() == young.fates(), "the past changed what became of rows"
    live = _left_running(place, trickle, min(warm_ups, 10), rounds)
    idle = alternate({"old": _nothing_to_do(old), "young": _nothing_to_do(young)}, place.repeats, place.say)
    for folder in (old.folder, young.folder, windowed.folder, restarted.stream.folder):
        shutil.rmtree(folder)
    behind = f"{past.batches:,} batches, {past.objects:,} objects and {past.files:,} live files behind it"
    what = f"a micro-batch of {ROWS:,} rows"
    return Section(
        "history",
        "A micro-batch with years behind it",
        [
            Figure.of(f"{what}, {behind}", "the same on a young warehouse", taken["old"], taken["young"], 1.1),
            Figure.of(
                f"a run with {ROWS:,} new rows, 1-minute windows",
                "a Structured Streaming trigger, restarted",
                taken["with windows"],
                taken["restarted"],
                1.0,
            ),
            Figure.apart("the same", "a trigger of queries left running", taken["with windows"], live),
            Figure.of(
                f"a run from the shell with nothing to do, {behind}", "the same, young", idle["old"], idle["young"]
            ),
        ],
        [
            _means(f"Mean of {rounds} batches after {warm_ups} warm-up ones", taken["old"], taken["young"]),
            f"With the past: {where_time_goes(old.spent[-rounds:])}.",
            f"Without: {where_time_goes(young.spent[-rounds:])}.",
            "Objects have names in no order, as Spark gives them, so that no look-up is spared by their bounds; "
            "those of the past are gone from landing.",
            "A trigger is two queries side by side, watermarked rows and 1-minute windows by partition, both to "
            "Delta; restarted means taken up from the checkpoint, as each run of tidemark is.",
            _idle(idle["old"]),
        ],
    )


def _idle(taken: list[float]) -> str:
    verdict = "reached" if Spread.of(taken).median < MOST_IDLE else "not reached"
    return (
        f"The run with nothing to do ran where no Java can be found; it is to take less than {MOST_IDLE:g} s: "
        f"{Spread.of(taken).median:.2f} s, {verdict}."
    )


@dataclass
class Fed:
    """A stream that gets the objects of a trickle one by one."""

    trickle: Trickle
    stream: Streaming
    landed: int = 0

    def trigger(self, take: Callable[[], None]) -> float:
        """Land one object and wait until `take` has had the stream take it."""

        def arrive() -> None:
            self.trickle.land(self.landed, [self.stream.landing])
            take()
            while self.stream.rows < (self.landed + 1) * ROWS:  # queries left running may have listed just before
                take()

        took = seconds(arrive)
        self.landed += 1
        assert self.stream.rows == self.landed * ROWS, f"{self.stream.rows} rows of {self.landed * ROWS}"
        return took


def _left_running(place: Place, trickle: Trickle, warm_ups: int, rounds: int) -> list[float]:
    """Seconds of triggers of queries left running."""
    fed = Fed(trickle, Streaming(place.spark, place.work / "live" / "landing", place.work / "live"))
    queries = fed.stream.running()
    try:
        case = {"left running": lambda: fed.trigger(lambda: fed.stream.caught_up(queries))}
        return alternate(case, rounds, place.say, warm_ups)["left running"]
    finally:
        for query in queries:
            query.stop()
        shutil.rmtree(fed.stream.folder)


def _nothing_to_do(side: Side) -> Callable[[], float]:
    """A run from the shell when nothing has landed, where no Java can be found."""
    environ = {**os.environ, "PATH": str(Path(sys.executable).parent), "JAVA_HOME": str(side.folder / "no-java")}
    command = [sys.executable, "-m", "tidemark", "run", str(side.config)]
    return lambda: seconds(lambda: subprocess.run(command, env=environ, check=True, capture_output=True))


def _means(what: str, old: list[float], young: list[float]) -> str:
    """The means, in which what happens every few batches has its part."""
    with_past, without = sum(old) / len(old), sum(young) / len(young)
    return (
        f"{what}, Delta's checkpoints and occasional merges included: {with_past:.2f} s with the past, "
        f"{without:.2f} s without, {with_past / without:.2f} times."
    )
