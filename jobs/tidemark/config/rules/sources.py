"""Rules between the keys of a source or pipeline, and warnings about settings that are legal but rarely meant.

Each rule gives (key path, sentence). A rule is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tidemark.config.address import is_remote
from tidemark.config.files.paths import LONGEST_NAME, fixed_part, overlap
from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.cron import no_time
from tidemark.config.models.pipeline import PipelineSpec
from tidemark.config.models.sources import SINGLE_PARTITION, SourceSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.models.values import shown
from tidemark.config.options import option_findings
from tidemark.config.rules.admission import admission_errors
from tidemark.config.rules.punctuation import TOLERANCES, punctuation_errors, punctuation_warnings
from tidemark.config.rules.reader import reader_errors
from tidemark.config.sql.expressions import text_findings, time_findings
from tidemark.config.sql.row import ReadableColumns
from tidemark.config.types import parse_type
from tidemark.core.policy import Action
from tidemark.core.times import format_duration

UNKNOWN_PARTITION = "_unknown"


Spec = TypeVar("Spec", SourceSpec, StreamSpec)


@dataclass(frozen=True)
class Ruled(Generic[Spec]):
    """A source or stream to be checked: its values, the keys that were written, and those of them that are wrong."""

    spec: Spec
    given: frozenset[str]
    bad: frozenset[str]

    def sound(self, *keys: str) -> bool:
        """True if the values of all these keys, given or by default, are valid."""
        return self.bad.isdisjoint(keys)


Source = Ruled[SourceSpec]


def source_errors(source: Source) -> Iterator[KeyFinding]:
    """Problems that make a source impossible."""
    yield from punctuation_errors(source.spec, source.given, source.bad)
    yield from _options(source)
    yield from reader_errors(source.spec, source.bad)
    yield from _unheld_types(source)
    yield from _expressions(source)
    yield from admission_errors(source.spec, source.bad)
    yield from _required(source)
    yield from _partitions(source)
    yield from _substreams_without_late(source)
    yield from _nothing_to_take(source)


def source_warnings(source: Source) -> Iterator[KeyFinding]:
    """Warnings about settings of a source without errors that are legal but rarely meant."""
    if source.spec.punctuation is not None:
        yield from punctuation_warnings(source.spec)
        return
    if source.spec.timestamp_by is None:
        yield from _ignored(source)
        return
    yield from _out_of_order_beyond_late(source.spec)
    yield from _late_off(source.spec)
    yield from _default_late_with_over(source)
    yield from _coarse_arrival(source.spec)


_ODD = re.compile(r"[\[\]|^\\\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")
_ODD_ADDRESS = re.compile(f"{_ODD.pattern}|[?#]")
"""What delta-rs takes for something else than Spark does, or nothing at all, in a location."""


def pipeline_errors(spec: PipelineSpec) -> Iterator[KeyFinding]:
    """Problems that make the folders of a pipeline, or its schedule, impossible."""
    if spec.schedule is not None and (reason := no_time(spec.schedule)) is not None:
        yield ("schedule",), reason
    yield from _long_names(spec)
    tables = f"{spec.warehouse.rstrip('/')}/{spec.name}"
    if _is_file(spec.warehouse):
        yield ("warehouse",), f"{spec.warehouse!r} is a file: name a folder"
    if odd := (_ODD_ADDRESS if is_remote(spec.warehouse) else _ODD).search(spec.warehouse):
        message = f"no table can be opened below {spec.warehouse!r}, for {odd.group()!r} in it: choose another folder"
        yield ("warehouse",), message
    for name, source in spec.sources.items():
        landing = fixed_part(source.landing)
        if _is_file(landing):
            yield ("sources", name, "landing"), f"{landing!r} is a file: name the folder it is in"
        elif overlap(landing, tables):
            yield (
                ("sources", name, "landing"),
                f"{landing!r} and the pipeline's own tables ({tables!r}) lie in one another: choose another"
                " folder for one of them, else the pipeline would take its own output as input",
            )


def _long_names(spec: PipelineSpec) -> Iterator[KeyFinding]:
    names: dict[KeyPath, str] = {
        ("pipeline",): spec.name,
        **{("sources", name): name for name in spec.sources},
        **{("streams", name): name for name in spec.streams},
    }
    for path, name in names.items():
        if len(name) > LONGEST_NAME and not is_remote(spec.warehouse):
            yield path, f"{shown(name)} is too long for a folder's name: write at most {LONGEST_NAME} characters"


def _is_file(text: str) -> bool:
    return not is_remote(text) and Path(text).is_file()


def pipeline_warnings(spec: PipelineSpec) -> Iterator[KeyFinding]:
    """Warnings about settings of a pipeline without errors that are legal but rarely meant."""
    for name, source in spec.sources.items():
        landing = fixed_part(source.landing)
        if not is_remote(landing) and not Path(landing).is_dir():
            message = f"there is no folder {landing!r} yet: nothing will be found there"
            yield ("sources", name, "landing"), message
        if spec.retention.ledger is not None and source.max_object_age is None:
            yield (
                ("retention", "ledger"),
                f"source {name!r} has no max_object_age, so an old object could be taken twice once the"
                " ledger has forgotten it: the ledger keeps its object rows for ever; set max_object_age to"
                " let it forget",
            )


def _options(source: Source) -> Iterator[KeyFinding]:
    if source.sound("options", "format"):
        for name, message in option_findings(source.spec.format, source.spec.options):
            yield ("options", name), message


def _unheld_types(source: Source) -> Iterator[KeyFinding]:
    """Types and names that the format cannot write or that its reader cannot read."""
    if not source.sound("schema", "format"):
        return
    form = source.spec.file_format
    for column in source.spec.columns:
        kind, name = parse_type(column.type), f"column {column.name!r} is {column.type}"
        if form.flat and (kind.nested or column.type == "BINARY"):
            yield ("schema",), f"{name}, which {form.name} cannot hold: read it as STRING"
        names = [column.name, *(member.name for part in kind.parts() for member in part.fields)]
        lost = next((sign for sign in form.lost_signs if any(sign in each for each in names)), None)
        if lost is not None:
            message = f"of an {form.name} column with a {lost} in its name only null is read: have it renamed"
            yield ("schema",), f"{name}: {message}"
        keys = [part.key.text for part in kind.parts() if part.key is not None]
        if form.text_keys and any(key != "STRING" for key in keys):
            yield ("schema",), f"{name}, but the keys of a {form.name} object are text: read it as MAP<STRING, ...>"


def _expressions(source: Source) -> Iterator[KeyFinding]:
    spec = source.spec
    row = ReadableColumns(spec.held() if source.sound("schema") else None)
    for key in ("arrival_time", "timestamp_by"):
        text = getattr(spec, key)
        if text is not None and source.sound(key):
            yield from (((key,), message) for message in time_findings(text, row))
    if source.sound("over"):
        for index, text in enumerate(spec.over):
            path: KeyPath = ("over",) if len(spec.over) == 1 else ("over", index)
            yield from ((path, message) for message in text_findings(text, row))
    if source.sound("partition") and spec.partition and spec.partition.column is not None:
        for message in text_findings(spec.partition.column, row):
            yield ("partition", "column"), message


def _required(source: Source) -> Iterator[KeyFinding]:
    if "arrival_time" in source.given and "landing_delay" not in source.given:
        yield (
            ("landing_delay",),
            "is missing: beside arrival_time it must say how long it takes at most from a row's arrival to"
            " its object being listed, such as landing_delay: 15m",
        )
    if "timestamp_by" in source.given and not source.given & {"arrival_time", "late_arrival", "punctuation"}:
        yield (
            ("late_arrival",),
            "is missing: without arrival_time a row arrives when its object lands, so its events are as old"
            " as the object's content; write how old that may be, such as late_arrival: {tolerance: 1h,"
            " action: adjust}",
        )


def _substreams_without_late(source: Source) -> Iterator[KeyFinding]:
    spec = source.spec
    sound = source.sound("over", "late_arrival", "timestamp_by") and "punctuation" not in source.given
    if sound and spec.timestamp_by is not None and spec.over and spec.late_arrival is None:
        yield (
            ("late_arrival",),
            "off cannot be with `over`: nothing would move a substream that falls silent; write a tolerance,"
            " such as {tolerance: 1d, action: adjust}, or remove `over`",
        )


def _nothing_to_take(source: Source) -> Iterator[KeyFinding]:
    age, settle = source.spec.max_object_age, source.spec.settle
    if source.sound("settle", "max_object_age") and age is not None and age <= settle:
        yield (
            ("max_object_age",),
            f"{format_duration(age)} is not more than settle ({format_duration(settle)}): no object could"
            " ever be taken",
        )


def _partitions(source: Source) -> Iterator[KeyFinding]:
    if not source.sound("partition", "partitions"):
        return
    names = source.spec.partitions
    for index, name in enumerate(names):
        here: KeyPath = ("partitions", index)
        if name in names[:index]:
            yield here, f"{name!r} is declared twice: remove one"
        elif name == UNKNOWN_PARTITION:
            yield here, f"{name!r} is where rows without a readable partition go: it cannot be declared"
        elif source.spec.partition is None and name != SINGLE_PARTITION:
            yield (
                here,
                f'{name!r} cannot be: without `partition` there is one partition, "0"; add partition:'
                " {column: ...} or {path: ...}, or remove `partitions`",
            )


def _ignored(source: Source) -> Iterator[KeyFinding]:
    for key in ("over", *TOLERANCES):
        if key in source.given:
            yield (
                (key,),
                "is ignored: without timestamp_by arrival is the event time, so no row can be early or late",
            )


def _out_of_order_beyond_late(spec: SourceSpec) -> Iterator[KeyFinding]:
    policy = spec.policy
    late, disorder = policy.late, policy.out_of_order
    if late and disorder.action is not Action.KEEP and disorder.micros > late.micros:
        yield (
            ("out_of_order", "tolerance"),
            f"{format_duration(disorder.micros)} is more than late_arrival ({format_duration(late.micros)}),"
            f" so {format_duration(policy.disorder)} is in effect",
        )


def _late_off(spec: SourceSpec) -> Iterator[KeyFinding]:
    if spec.late_arrival is None and (spec.partition or len(spec.partitions) > 1):
        yield (
            ("late_arrival",),
            "off with several partitions: one that falls silent, or never brings a row, holds back the"
            " combined watermark for ever; with a tolerance, time alone moves it on",
        )


def _default_late_with_over(source: Source) -> Iterator[KeyFinding]:
    if source.spec.over and "late_arrival" not in source.given:
        yield (
            ("late_arrival",),
            "is not given, so 5s is in effect: with `over` it is the most that substreams may be apart;"
            " start with {tolerance: 5m, action: adjust}",
        )


def _coarse_arrival(spec: SourceSpec) -> Iterator[KeyFinding]:
    if spec.arrival_time is None and spec.late_arrival is not None:
        late = format_duration(spec.late_arrival.tolerance)
        fate = "dropped" if spec.late_arrival.action == "drop" else "moved"
        yield (
            ("late_arrival", "tolerance"),
            f"without arrival_time all rows of an object arrive when it lands: each event more than {late}"
            f" before that is {fate}. Name the column of the arrival in arrival_time; or make this at least"
            " the time from one object to the next plus the time it takes to land",
        )
