"""Describes a pipeline: a Mermaid graph of its sources and streams, and a table of its policies."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.secrets import hidden
from tidemark.core.policy import Tolerance
from tidemark.core.times import format_duration, format_time
from tidemark.core.windows import CalendarWindows, FixedWindows

_OPERATORS = ("tumbling", "hopping", "session", "sliding", "snapshot")
_ENTITIES = str.maketrans(
    {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "#": "&#35;", "`": "&#96;"}
)


def page(spec: PipelineSpec) -> str:
    """Return Markdown: sources and streams, how rows are judged, and each stream's operators. Values from the
    environment are replaced by the names of their variables."""
    return hidden(_page(spec))


def _page(spec: PipelineSpec) -> str:
    start = "the first row" if spec.start is None else format_time(spec.start)
    lines = [
        f"Pipeline **{spec.name}**, described by `{spec.path.name}`; output from {start} on.",
        "",
        "```mermaid",
        *graph(spec),
        "```",
        "",
        "| source | early | late | out of order | landing delay | partitions |",
        "|---|---|---|---|---|---|",
        *map(_policies, spec.sources.values()),
    ]
    return "\n".join(lines)


def graph(spec: PipelineSpec) -> Iterator[str]:
    """Yield the lines of a Mermaid flow chart, sources first; published streams have double borders."""
    yield "flowchart LR"
    for name in spec.sources:
        yield f'  {_id(name)}[("{name}")]'
    for name, stream in spec.streams.items():
        left, right = ("[[", "]]") if stream.published else ("(", ")")
        yield f'  {_id(name)}{left}"{_label(stream)}"{right}'
    for name, source in spec.sources.items():
        for below in source.punctuated.import_from if source.punctuated is not None else ():
            yield f"  {_id(below)} -. punctuations .-> {_id(name)}"
    for name, stream in spec.streams.items():
        yield from (f"  {_id(each)} --> {_id(name)}" for each in stream.inputs)


def _id(name: str) -> str:
    """Return a name that cannot be a keyword of Mermaid."""
    return f"n_{name}"


def _label(stream: StreamSpec) -> str:
    return "<br/>".join(_escaped(text) for text in (stream.name, *described(stream)))


def described(stream: StreamSpec) -> Iterator[str]:
    """Yield what a stream does with its input: a line each for operator, groups and condition."""
    yield from _operator(stream)
    if stream.group_by:
        yield "by " + ", ".join(stream.group_by)
    if stream.where is not None:
        yield f"where {stream.where}"


def _operator(stream: StreamSpec) -> Iterator[str]:
    if stream.union:
        yield "union"
    if stream.join:
        how = "" if stream.how == "inner" else f"{stream.how} "
        yield f"{how}join" + (f" on {', '.join(stream.on)}" if stream.on else "")
    if stream.unnest is not None:
        yield f"unnest {stream.unnest}"
    if stream.preceding is not None:
        by = ", ".join(stream.preceding.by)
        yield f"preceding {format_duration(stream.preceding.within)}" + (f" by {by}" if by else "")
    if stream.shift:
        yield f"shift {format_duration(stream.shift)}"
    if isinstance(stream.lifetime, int):
        yield f"lifetime {format_duration(stream.lifetime)}"
    if stream.until is not None:
        yield f"lifetime until {stream.until.until}"
    if stream.until_next is not None:
        by = ", ".join(stream.until_next.by)
        yield "lifetime until next" + (f" by {by}" if by else "")
    kind = next((kind for kind in _OPERATORS if getattr(stream, kind) is not None), None)
    if kind is not None:
        yield " ".join([kind, *_sizes(stream, kind)])


def _sizes(stream: StreamSpec, kind: str) -> Iterator[str]:
    if kind == "sliding":
        yield format_duration(stream.sliding or 0)
    elif stream.session is not None:
        yield f"gap {format_duration(stream.session.gap)}"
    elif isinstance(windows := stream.fixed, CalendarWindows):
        calendar = windows.calendar
        yield f"{calendar.unit} {calendar.zone}" + (
            f" at {format_duration(calendar.offset)}" if calendar.offset else ""
        )
    elif isinstance(windows, FixedWindows):
        yield format_duration(windows.size)
        if kind == "hopping":
            yield f"every {format_duration(windows.hop)}"


def _policies(source: SourceSpec) -> str:
    partitions = _escaped(partitions_text(source))
    if source.punctuated is not None:
        return f"| {source.name} | punctuated | {source.punctuated.violations.value} | | | {partitions} |"
    policy = source.policy
    delay = format_duration(source.landing_delay)
    tolerances = " | ".join(map(tolerance_text, (policy.early, policy.late, policy.out_of_order)))
    return f"| {source.name} | {tolerances} | {delay} | {partitions} |"


def tolerance_text(tolerance: Tolerance | None) -> str:
    """Return a tolerance and its action."""
    return "off" if tolerance is None else f"{format_duration(tolerance.micros)}, {tolerance.action.value}"


def partitions_text(source: SourceSpec) -> str:
    """Return the declared partitions of a source."""
    if source.partition is None:
        return "one"
    return ", ".join(source.partitions) or "as they come"


def _escaped(text: str) -> str:
    """Return text of a configuration for a quoted label or a table, with all markup escaped."""
    return " ".join(text.translate(_ENTITIES).split())
