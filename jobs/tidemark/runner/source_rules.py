"""Rules of a configuration's sources that progress depends on."""

from __future__ import annotations

from tidemark.config import PipelineSpec
from tidemark.core.advance import SourceRules


def rules_of(spec: PipelineSpec) -> dict[str, SourceRules]:
    """The rules of each source that its progress depends on."""
    return {
        name: SourceRules(
            name,
            source.policy,
            source.partitions,
            source.landing_delay,
            substreams=bool(source.over) and source.timestamp_by is not None,
            own_time=source.timestamp_by is not None,
            punctuation=source.punctuated,
            shape=source.lifetimes,
            remembers=source.deduplicate.within if source.deduplicate else 0,
        )
        for name, source in spec.sources.items()
    }
