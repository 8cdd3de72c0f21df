"""The value that judging passes on: one source's part of a micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject


@dataclass(frozen=True)
class MicroBatch:
    """One source's part of a micro-batch: the batch's `number`, the source's objects in log order, and the state that
    judging starts from."""

    source: SourceSpec
    number: int
    objects: Sequence[LandedObject]
    opening: Opening

    @property
    def events(self) -> str:
        """The name of the table with the source's events."""
        return f"events/{self.source.name}"

    @property
    def size(self) -> int:
        """Bytes of all objects."""
        return sum(item.size for item in self.objects)

    @property
    def uris(self) -> list[str]:
        """URIs of the objects, in log order: a row's `OBJECT` is its object's index in this list."""
        return [item.uri for item in self.objects]
