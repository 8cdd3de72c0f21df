"""Paths from sources and windows to a stream.

A stream is the union of its paths. Along a path, a row's start is its origin's start plus a constant. Its end is the
origin's end plus a constant, or the start plus a lifetime, constant or from an expression. A stream with `preceding`
or `until: next` is an origin itself: it reads more rows than it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidemark.config import PipelineSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import TICK
from tidemark.spark.tables.time_range import Span


@dataclass(frozen=True)
class Path:
    """The `steps` from an origin (a source, a windowed stream, a join, or a stream with `preceding` or `until: next`)
    to a stream.

    `position` has the path's number in each union, outermost first. `begin` is added to start and end, microseconds.
    With `lasts`, the end is at most `lasts` after the start instead. `open_`: the end may be at any time.
    """

    origin: str
    windowed: bool
    joined: bool = False
    preceding: bool = False
    until_next: bool = False
    steps: tuple[StreamSpec, ...] = ()
    position: tuple[int, ...] = ()
    begin: int = 0
    lasts: int | None = None
    open_: bool = False

    @property
    def derived(self) -> bool:
        """True if no run brings the rows: they come when they are due, since they depend on several rows."""
        return self.joined or self.preceding or self.until_next

    def certain(self, spec: PipelineSpec) -> bool:
        """True if a row that has come is final: no other row of a time that the stream has reached can undo it."""
        gapped = self.joined and spec.streams[self.origin].gapped
        return not (gapped or self.preceding or self.until_next)

    def below(self, spec: PipelineSpec) -> list[Path]:
        """Paths to what the origin reads."""
        return [path for name in spec.streams[self.origin].inputs for path in paths_to(spec, name)]

    def points(self, spec: PipelineSpec) -> bool:
        """True if every row along the path is a point."""
        if self.open_ or self.lasts is not None or self.until_next:
            return False
        if self.preceding:
            return all(path.points(spec) for path in self.below(spec))
        return self.origin in spec.sources and spec.sources[self.origin].longest == TICK

    def through(self, step: StreamSpec) -> Path:
        """The path with one step more."""
        lasts, open_ = self.lasts, self.open_
        if step.until is not None:
            lasts, open_ = step.until.at_most, step.until.at_most is None
        elif step.lasts is not None:
            lasts, open_ = step.lasts, False
        return replace(self, steps=(*self.steps, step), begin=self.begin + step.shift, lasts=lasts, open_=open_)

    def within(self, span: Span) -> Span:
        """Span of the origin that has all its rows that are alive in a span of the path."""
        return replace(span, after=None) if self.open_ else span


def paths_to(spec: PipelineSpec, name: str) -> list[Path]:
    """All paths to a source or stream, in the order of their rows at one instant. A windowed stream has one path,
    which begins there."""
    if name in spec.sources:
        return [Path(name, windowed=False)]
    step = spec.streams[name]
    return [Path(name, windowed=True)] if step.windowed else paths_into(spec, step)


def paths_into(spec: PipelineSpec, step: StreamSpec) -> list[Path]:
    """Paths through a step, or into its windows, in the order of their rows at one instant; of a join, its pairs."""
    if step.join:
        return [Path(step.name, windowed=False, joined=True)]
    if step.preceding is not None:
        return [Path(step.name, windowed=False, preceding=True)]
    if step.until_next is not None:
        return [Path(step.name, windowed=False, until_next=True)]
    found = []
    for index, name in enumerate(step.inputs):
        for path in paths_to(spec, name):
            position = (index, *path.position) if len(step.inputs) > 1 else path.position
            found.append(replace(path.through(step), position=position))
    return sorted(found, key=lambda path: path.position)


def longest(spec: PipelineSpec, paths: Sequence[Path]) -> int | None:
    """Longest lifetime of a row along any of the paths, microseconds; None if there is no bound."""
    lengths = [_length(spec, path) for path in paths]
    known = [length for length in lengths if length is not None]
    return max(known, default=None) if len(known) == len(lengths) else None


def _length(spec: PipelineSpec, path: Path) -> int | None:
    if path.lasts is not None or path.open_:
        return path.lasts
    if path.origin in spec.sources:
        return spec.sources[path.origin].longest
    step = spec.streams[path.origin]
    if path.windowed:
        return step.fixed.lives(0) if step.fixed else None
    if step.until_next is not None:
        return step.until_next.at_most
    if path.preceding:
        return longest(spec, path.below(spec))
    sides = [longest(spec, paths_to(spec, name)) for name in (step.join[:1] if step.gapped else step.join)]
    return min((length for length in sides if length is not None), default=None)
