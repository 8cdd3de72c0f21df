"""Runs of judged rows whose streams are computed afterwards, for any streams, without judging rows again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from samples import feed, fork

from product import Product
from tidemark.core.streams import StreamEnd
from tidemark.runner.executor import Before
from tidemark.runner.stream_progress import Ending, Published, StreamProgress, take_on

Streams = Mapping[str, Mapping[str, Any]]


def judged(folder: Path, logs: Mapping[str, tuple[Any, Sequence[Any]]]) -> Product:
    """A pipeline without streams that has taken all runs of these logs."""
    product = Product(folder, {name: source for name, (source, _) in logs.items()})
    feed(product, logs)
    return product


def below(streams: Streams, name: str) -> dict[str, Any]:
    """A stream and all streams that it is made from, inputs first."""
    keys = streams[name]
    inputs = [keys["from"]] if "from" in keys else keys.get("union") or keys["join"]
    found: dict[str, Any] = {}
    for each in [each for each in inputs if each in streams]:
        found |= below(streams, each)
    return found | {name: dict(keys)}


def with_streams(product: Product, folder: Path, streams: Streams) -> tuple[Product, list[tuple[int, Published]]]:
    """A copy of a judged pipeline with these streams, written run by run, and by run the last batch and what was
    published."""
    made = fork(product, folder)
    made.settings = {"streams": {name: dict(keys) for name, keys in streams.items()}}
    made.write()
    return made, list(_published(made))


def _published(product: Product) -> Iterator[tuple[int, Published]]:
    pipeline = product.pipeline()
    ledger, progress = pipeline.ledger, StreamProgress(pipeline.spec)
    ends: Mapping[str, StreamEnd] = {}
    for record in ledger.batches(1, ledger.last().committed_through):
        if not record.ends_run:
            continue
        before = replace(Before.run(ledger, record.run_first), streams=ends)
        states = ledger.states(record.batch_id + 1)
        brought = before.brought(states)
        ending = Ending(
            replace(record, streams={}), before.states, states, before.combined, record.combined, ends, brought
        )
        outputs = pipeline.context.outputs(pipeline.spec)
        published = take_on(progress, ending, lambda made=outputs: made, False, lambda _: None)
        ends = published.ends
        yield record.batch_id, published
