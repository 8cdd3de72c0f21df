"""Rules for `shape`, and for the keys of one punctuated source (time rules: punctuated sources).

As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.sources import SourceSpec
from tidemark.config.sql.expressions import key_findings, predicate_findings, text_findings, time_findings
from tidemark.config.sql.row import ReadableColumns

TOLERANCES = ("early_arrival", "late_arrival", "out_of_order")


def punctuation_errors(spec: SourceSpec, given: Collection[str], bad: Collection[str]) -> Iterator[KeyFinding]:
    """Problems that make `shape` and `punctuation` impossible; `given` keys were written, `bad` ones are wrong."""
    if "punctuation" not in given:
        if "shape" in given and "shape" not in bad:
            yield from _shape_under_tolerances(spec, given, bad)
        return
    yield from _beside_tolerances({key for key in given if key not in bad})
    row = ReadableColumns(None if "schema" in bad else spec.columns)
    if "shape" not in bad:
        yield from _shape(spec, given, row)
    if "punctuation" not in bad:
        yield from _punctuation(spec, row)


def punctuation_warnings(spec: SourceSpec) -> Iterator[KeyFinding]:
    """Warnings about settings of a punctuated source that are legal but rarely meant."""
    punctuation = spec.punctuation
    if punctuation is None:
        return
    if punctuation.every is None and punctuation.delay:
        yield ("punctuation", "delay"), "has no effect: it moves the punctuations that `every` generates"
    if punctuation.violations == "adjust" and spec.longest is not None:
        yield (
            ("punctuation", "violations"),
            "adjust drops points all the same: a point behind a punctuation cannot be moved to it",
        )
    if not punctuation.import_from and (spec.partition or len(spec.partitions) > 1):
        yield (
            ("punctuation",),
            "with several partitions: one that falls silent, or never brings a row, holds back the combined"
            " watermark for ever, since only its own rows move it; import_from moves all partitions",
        )


def _beside_tolerances(given: Collection[str]) -> Iterator[KeyFinding]:
    for key in TOLERANCES:
        if key in given:
            yield (
                (key,),
                "cannot be beside `punctuation`: a source has either tolerances or punctuation; remove one of them",
            )
    if "over" in given:
        yield ("over",), "cannot be beside `punctuation`: punctuations are of partitions, which have no substreams"


def _shape_under_tolerances(spec: SourceSpec, given: Collection[str], bad: Collection[str]) -> Iterator[KeyFinding]:
    if spec.shape.interval is None:
        yield (
            ("shape",),
            "needs `punctuation`: tolerances judge points, or intervals, whose rows say when they end; add"
            " punctuation, write {interval: {end_time: column}}, or remove it",
        )
        return
    yield from _shape(spec, given, ReadableColumns(None if "schema" in bad else spec.columns))


def _shape(spec: SourceSpec, given: Collection[str], row: ReadableColumns) -> Iterator[KeyFinding]:
    edge, interval = spec.shape.edge, spec.shape.interval
    if edge is None and interval is None:
        return
    name = "edge" if edge is not None else "interval"
    if "timestamp_by" not in given:
        yield ("timestamp_by",), f"is missing: with shape {name} it must say when lifetimes start"
    end_time = (edge or interval).end_time  # type: ignore[union-attr] # one of them is there
    yield from (((("shape", name, "end_time")), message) for message in time_findings(end_time, row))
    if edge is not None:
        yield from (((("shape", name, "kind")), message) for message in key_findings(edge.kind, row))
        for index, text in enumerate(edge.match):
            path: KeyPath = ("shape", name, "match", index)
            yield from ((path, message) for message in text_findings(text, row))


def _punctuation(spec: SourceSpec, row: ReadableColumns) -> Iterator[KeyFinding]:
    punctuation = spec.punctuation
    if punctuation is None:
        return
    if punctuation.every is None and not punctuation.import_from and punctuation.row is None:
        yield (
            ("punctuation",),
            "says nothing of where punctuations come from: write every, import_from or row, or several of them",
        )
    if punctuation.row is not None:
        yield from ((("punctuation", "row"), message) for message in predicate_findings(punctuation.row, row))
