"""Draws how streams are made: a box for each source and stream; the inputs of a stream are on its left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from tidemark.config import PipelineSpec
from tidemark.config.secrets import hidden
from tidemark.report.page.markup import Html, element
from tidemark.report.pipeline_graph import described

_WIDTH, _LINE, _PAD = 184, 18, 8
_ACROSS, _DOWN = 44, 16
_MOST_LETTERS, _MOST_LINES = 24, 5
"""What fits into a box; the whole text appears when the pointer rests on it."""


@dataclass(frozen=True)
class _Box:
    """A source or stream with the lines of its box; a box without lines only leads an arrow past other boxes."""

    lines: tuple[str, ...] = ()
    kind: str = "source"
    x: float = 0
    y: float = 0

    @property
    def height(self) -> int:
        return _LINE * min(len(self.lines), _MOST_LINES) + 2 * _PAD if self.lines else 0

    @property
    def right(self) -> float:
        return self.x + _WIDTH

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def lineage(spec: PipelineSpec) -> Html:
    """Return the drawing of a pipeline. Values that the configuration takes from the environment are replaced by
    their names."""
    boxes = {name: _Box((name,)) for name in spec.sources}
    for name, stream in spec.streams.items():
        lines = (name, *(hidden(line) for line in described(stream)))
        boxes[name] = _Box(lines, "published" if stream.published else "between")
    inputs: dict[str, Sequence[str]] = {
        name: () if source.punctuated is None else source.punctuated.import_from
        for name, source in spec.sources.items()
    }
    inputs |= {name: stream.inputs for name, stream in spec.streams.items()}
    placed, arrows = _placed(boxes, inputs)
    width = max(box.right for box in placed.values()) + 1
    height = max(box.y + box.height for box in placed.values()) + 1
    drawn = [*_arrows(placed, arrows), *(_drawn(box) for box in placed.values() if box.lines)]
    return element(
        "svg",
        *drawn,
        class_="lineage",
        width=f"{width:g}",
        height=f"{height:g}",
        viewBox=f"-1 -1 {width + 1:g} {height + 1:g}",
        role="img",
        aria_label="; ".join(_sentences(inputs)),
    )


def _sentences(inputs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, below in inputs.items():
        yield f"{name} from {' and '.join(below)}" if below else f"{name}, a source"


def _placed(
    boxes: Mapping[str, _Box], inputs: Mapping[str, Sequence[str]]
) -> tuple[dict[str, _Box], list[tuple[str, str]]]:
    """Return boxes with their positions, and the arrows between them. An arrow that passes a column of boxes gets an
    empty box in that column, so that it leads past the others."""
    columns: list[list[str]] = []
    rank: dict[str, int] = {}
    known, arrows = dict(boxes), []
    for name in TopologicalSorter(inputs).static_order():
        rank[name] = max((rank[below] + 1 for below in inputs[name]), default=0)
        columns.extend([] for _ in range(rank[name] + 1 - len(columns)))
        for below in inputs[name]:
            last = below
            for between in range(rank[below] + 1, rank[name]):
                last, before = f"{below} past {between}", last
                if last not in known:
                    known[last] = _Box()
                    columns[between].append(last)
                    arrows.append((before, last))
            arrows.append((last, name))
        columns[rank[name]].append(name)
    return _stacked(known, columns, arrows), arrows


def _stacked(
    boxes: Mapping[str, _Box], columns: Sequence[Sequence[str]], arrows: Sequence[tuple[str, str]]
) -> dict[str, _Box]:
    """Place columns from the left; boxes of a column are sorted by the middle of their inputs."""
    placed: dict[str, _Box] = {}
    heights = [sum(boxes[name].height + _DOWN for name in column) - _DOWN for column in columns]
    for across, column in enumerate(columns):
        y = (max(heights) - heights[across]) / 2
        for name in sorted(column, key=lambda name: _mean([placed[a].middle for a, b in arrows if b == name])):
            box = boxes[name]
            placed[name] = _Box(box.lines, box.kind, across * (_WIDTH + _ACROSS), y)
            y += box.height + _DOWN
    return placed


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0


def _arrows(placed: Mapping[str, _Box], arrows: Sequence[tuple[str, str]]) -> Iterator[Html]:
    for below, name in arrows:
        start, end = placed[below], placed[name]
        bend = (start.right + end.x) / 2
        curve = f"M{start.right:g},{start.middle:g} C{bend:g},{start.middle:g} {bend:g},{end.middle:g} "
        past = "" if end.lines else f" h{_WIDTH}"
        yield element("path", d=f"{curve}{end.x:g},{end.middle:g}{past}")


def _drawn(box: _Box) -> Html:
    shown = box.lines[:_MOST_LINES]
    texts = [
        element("text", _short(line), x=f"{box.x + 12:g}", y=f"{box.y + _PAD + _LINE * (number + 0.75):g}")
        for number, line in enumerate(shown)
    ]
    corners = {"x": f"{box.x:g}", "y": f"{box.y:g}", "rx": 14 if box.kind == "source" else 4}
    rect = element("rect", **corners, width=_WIDTH, height=box.height)
    return element("g", element("title", "; ".join(box.lines)), rect, *texts, class_=box.kind)


def _short(line: str) -> str:
    return line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
