"""Random sources with their logs, landed and judged by the product, and their rows as the oracle has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from payload import FORMATS, columns_of, fitting, land, payload, schema_of
from samples import touch

import oracle_lives
import oracle_punctuation
import strategies_punctuation
from oracle import Obj, Run, Source
from product import Product
from strategies import NAMES, every_policy, logs, sources

LIVING = ("point", "interval")
Given = Source | oracle_punctuation.Source
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Landing:
    """Sources by name: settings, format, and runs with their objects; the last run closes all."""

    logs: Mapping[str, tuple[Given, tuple[Run, ...]]]
    formats: Mapping[str, str]


@st.composite
def landings(draw: st.DrawFn) -> Landing:
    """Two to four sources of any kind, with runs at equal times."""
    first = draw(logs(draw(sources(intervals=True)), rows=(20, 50), runs=(1, 3), close=False))
    dice = Random(repr(first))  # noqa: S311 - Hypothesis prefers small numbers, and so the same choices
    found: dict[str, tuple[Given, tuple[Run, ...]]] = {}
    formats: dict[str, str] = {}
    for name in ("a", "b", "c", "d")[: dice.randint(2, 4)]:
        given, runs = first.source, first.runs
        if name != "a":
            given = _another(draw, dice)
            runs = strategies_punctuation.log_of(given, dice.getrandbits(32), first.runs, NAMES, 12)[1]
        formats[name] = dice.choice(FORMATS) if isinstance(given, Source) else "json"
        ended = [*[_fitted(formats[name], run) for run in runs], Run(max(run.as_of for run in runs), (), close=True)]
        found[name] = given, tuple(ended)
    return Landing(found, formats)


@st.composite
def bounded_landings(draw: st.DrawFn) -> Landing:
    """Two or three sources whose policies bound the arrivals of their rows, so that backfills read a range of many
    runs."""
    given = draw(sources(law4=True))
    first = draw(logs(given, rows=(60, 90), runs=(7, 9), close=False, impossible=False))
    dice = Random(repr(first))  # noqa: S311 - Hypothesis prefers small numbers, and so the same choices
    found: dict[str, tuple[Given, tuple[Run, ...]]] = {}
    for name in ("a", "b", "c")[: dice.randint(2, 3)]:
        runs = first.runs
        if name != "a":
            given = draw(sources(law4=True))
            runs = strategies_punctuation.log_of(given, dice.getrandbits(32), first.runs, NAMES, 5)[1]
        ended = [*[_fitted("json", run) for run in runs], Run(max(run.as_of for run in runs), (), close=True)]
        found[name] = given, tuple(ended)
    return Landing(found, dict.fromkeys(found, "json"))


def _another(draw: st.DrawFn, dice: Random) -> Given:
    if dice.random() < 0.4:
        given = draw(strategies_punctuation.sources(dice.choice(strategies_punctuation.SHAPES)))
        return replace(given, final=True, violations=dice.choice(("drop", "adjust")))
    given = draw(sources(intervals=True)) if dice.random() < 0.6 else dice.choice(every_policy(interval=True))[1]
    return replace(given, timestamp_by=False, interval=False) if dice.random() < 0.15 else given


def _fitted(kind: str, run: Run) -> Run:
    return replace(run, objects=tuple(fitting(kind, item) for item in run.objects), close=False)


def judged(
    folder: Path,
    landing: Landing,
    between: Callable[[Product, int], None] | None = None,
    go: Callable[[Product, Run], Any] = Product.go,
    **settings: Any,
) -> Product:
    """A pipeline with these settings that has taken all objects, run by run, and is closed; `between` is called
    after each run, with its number from 0 on, before settings are written again. `go` runs or closes."""
    product = Product(folder, {name: source for name, (source, _) in landing.logs.items()}, settings)
    product.write(**keys_of(landing))
    runs = next(iter(landing.logs.values()))[1]
    for number, run in enumerate(runs):
        for name, (_, its) in landing.logs.items():
            for item in its[number].objects:
                lasting = shape_of(landing.logs[name][0]) == "interval"
                _land(product.folder / "landing" / name / item.uri, landing.formats[name], item, lasting)
        go(product, run)
        if between is not None:
            between(product, number)
            product.write(**keys_of(landing))
    return product


def keys_of(landing: Landing) -> dict[str, dict[str, Any]]:
    """Keys of the sources beside those that their settings say: formats and schemas."""
    return {name: _keys(landing, name) for name in landing.logs}


def _keys(landing: Landing, name: str) -> dict[str, Any]:
    kind, source = landing.formats[name], landing.logs[name][0]
    options = {"options": {"header": "false"}} if kind == "csv" else {}
    lasting, punctuated = shape_of(source) == "interval", not isinstance(source, Source)
    return {"format": kind, "schema": schema_of(kind, punctuated=punctuated, lasting=lasting), **options}


def _land(path: Path, kind: str, item: Obj, lasting: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    land(path, kind, item, lasting)
    touch(path, item.modified)


def rows_of(landing: Landing, outcomes: Mapping[str, Any], name: str) -> Iterator[Row]:
    """Rows of a source's stream, as the oracle has them: start, end (None: open), partition, substream, offset, own
    watermark, payload."""
    runs = landing.logs[name][1]
    placed = {(item.uri, place): row for run in runs for item in run.objects for place, row in enumerate(item.rows)}
    verdicts = {(v.partition, v.offset): v for v in outcomes[name].verdicts}
    for start, end, verdict in _lives(landing, outcomes, name, verdicts):
        row = placed[verdict.uri, verdict.position]
        values = payload(landing.formats[name], row, verdict.uri, verdict.position).values()
        yield (start, end, verdict.partition, verdict.substream, verdict.offset, verdict.watermark, *values)


def _lives(
    landing: Landing, outcomes: Mapping[str, Any], name: str, verdicts: Mapping[tuple[str, int], Any]
) -> Iterator[tuple[int, int | None, Any]]:
    given, runs = landing.logs[name]
    if isinstance(given, oracle_punctuation.Source) and given.shape == "edge":
        for life in oracle_lives.source(name, landing.logs[name], outcomes[name]).lives(len(runs) - 1):
            open_ = life.end == oracle_punctuation.COMPLETE
            yield life.start, None if open_ else int(life.end), verdicts[str(life.partition), int(life.offset or 0)]
        return
    for verdict in verdicts.values():
        mark = getattr(verdict, "mark", "point")
        if verdict.system_timestamp is not None and mark in LIVING:
            end = verdict.end if mark == "interval" else getattr(verdict, "end_time", None)
            end = verdict.system_timestamp + 1 if end is None else end
            yield verdict.system_timestamp, end, verdict


def judged_by_oracle(landing: Landing) -> Mapping[str, Any]:
    """The oracle's outcome by source."""
    return oracle_punctuation.judge(landing.logs)


def used(landing: Landing) -> Counter[tuple[str, str]]:
    """How often each pair of (policy with its action, shape) and of (format, type) occurs."""
    found: Counter[tuple[str, str]] = Counter()
    for name, (source, _) in landing.logs.items():
        shape = shape_of(source)
        for policy in policies_of(source):
            found[policy, shape] += 1
        for type_ in set(columns_of(landing.formats[name]).values()):
            found[landing.formats[name], type_] += 1
    return found


def shape_of(source: Given) -> str:
    """What rows of a source are: points, intervals or edges."""
    return ("interval" if source.interval else "point") if isinstance(source, Source) else source.shape


def policies_of(source: Given) -> list[str]:
    """The policies of a source with their actions, and what its rows are asked before they are judged."""
    admitted = [name for name, asked in (("require", source.require), ("deduplicate", source.by)) if asked]
    if isinstance(source, oracle_punctuation.Source):
        return [*admitted, f"violations {source.violations}"]
    if not source.timestamp_by:
        return [*admitted, "arrival only"]
    named = {"early": source.early, "late": source.late, "out of order": source.out_of_order}
    return [*admitted, *[f"{name} {'off' if policy is None else policy[1]}" for name, policy in named.items()]]
