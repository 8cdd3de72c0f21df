"""How streams are made: the drawing of the pipeline, how sources are judged, and the expression of each column.

It comes from the pipeline file. Values from the environment are replaced by the names of their variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import columns_of
from tidemark.config.models.streams import StreamSpec
from tidemark.config.secrets import everywhere, hidden
from tidemark.core.times import format_duration
from tidemark.report.page.charts.lineage import lineage
from tidemark.report.page.markup import Cell, Html, element, paragraph, scrolled, section, table
from tidemark.report.pipeline_graph import described, partitions_text, tolerance_text

_SOURCE_HEADS = ("source", "format", "event time", "arrival", "early", "late", "out of order", "partitions")


def definition(spec: PipelineSpec) -> Html:
    """Return the section on how streams are made."""
    drawing = scrolled("lineage", lineage(spec))
    sources = table("definition-sources", _SOURCE_HEADS, [_source(each) for each in spec.sources.values()])
    columns = [paragraph(element("strong", each.name), f": {_content(each)}") for each in spec.sources.values()]
    streams = [part for name in spec.streams for part in _stream(spec, name)]
    note = paragraph("A thick border: published. A dashed one: only other streams read it.", class_="quiet")
    return section("definition", "How streams are made", drawing, note, sources, *columns, *streams)


def definition_data(spec: PipelineSpec) -> dict[str, Any]:
    """Return the inputs, operators and columns of streams as JSON has them."""
    keys = ("column", "type", "computed_as")
    streams = [
        {
            "stream": name,
            "inputs": list(stream.inputs),
            "published": stream.published,
            "does": list(described(stream)),
            "columns": [dict(zip(keys, each, strict=True)) for each in _columns(spec, name)],
        }
        for name, stream in spec.streams.items()
    ]
    found: dict[str, Any] = everywhere({"sources": list(spec.sources), "streams": streams}, hidden)
    return found


def _source(source: SourceSpec) -> list[Cell | Html]:
    policy, delay = source.policy, source.landing_delay
    arrival = source.arrival_time or "when it lands"
    judged = [tolerance_text(each) for each in (policy.early, policy.late, policy.out_of_order)]
    if source.punctuated is not None:
        judged = ["punctuated", source.punctuated.violations.value, "-"]
    arrival += f", at most {format_duration(delay)} before it landed" if delay else ""
    times = [source.timestamp_by or "its arrival", arrival]
    return [hidden(each) for each in (source.name, source.format, *times, *judged, partitions_text(source))]


def _content(source: SourceSpec) -> str:
    """Return the columns of a source, and the rules that quarantine or drop rows for their content."""
    parts = [", ".join(f"{each.name} {each.type}" for each in source.columns)]
    parts += [f"quarantined unless {text} ({name})" for name, text in source.require.items()]
    if source.deduplicate is not None:
        by, within = ", ".join(source.deduplicate.by), format_duration(source.deduplicate.within)
        parts.append(f"dropped if it repeats {by} within {within}")
    return hidden("; ".join(parts))


def _stream(spec: PipelineSpec, name: str) -> Iterator[Html]:
    stream = spec.streams[name]
    yield element("h3", name)
    does = [f"from {' and '.join(stream.inputs)}", *described(stream)]
    yield paragraph(hidden("; ".join(does)) + ".")
    lines = [(column, kind, None if text is None else _code(text)) for column, kind, text in _columns(spec, name)]
    if lines:
        yield table(f"definition-{name}", ("column", "type", "computed as"), lines)


def _columns(spec: PipelineSpec, name: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the columns of a stream with the types that are known without Spark, and their expressions; None for
    columns taken from the input."""
    stream = spec.streams[name]
    computed = _expressions(stream)
    for column in columns_of(spec, name) or ():
        yield column.name, column.type, computed.get(column.name)


def _expressions(stream: StreamSpec) -> dict[str, str | None]:
    before = {} if stream.preceding is None else stream.preceding.select
    return {**before, **{each.name: each.text for each in stream.groups}, **stream.select}


def _code(text: str) -> Html:
    return element("span", element("code", hidden(text)), class_="long")
