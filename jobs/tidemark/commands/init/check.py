"""Checks a pipeline's file against the objects in its landing folders now. Starts no JVM and opens no warehouse."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

from tidemark.commands.init.propose import MOST_LISTED
from tidemark.config import load_pipeline
from tidemark.config.models.sources import QualitySpec, SourceSpec
from tidemark.core.times import format_time
from tidemark.landing.listing import LandingLocation, list_objects
from tidemark.proposal.drift.compare import compare
from tidemark.proposal.objects import ListedObject, in_log_order
from tidemark.quality.metrics import limits_of
from tidemark.records.proposal import CheckedSource, CheckRecord
from tidemark.records.runs import rows_by_fate
from tidemark.verbs import explained


@explained
def check(config: Path | str) -> CheckRecord:
    """Compare the newest objects of each source with the settings of a pipeline's file.

    Returns `drifted` (True if anything differs) and the differences of each source, the costliest first.

    Raises ConfigError if the file is refused, TidemarkError if a landing folder is missing or cannot be read.
    """
    spec = load_pipeline(config).spec
    sources = {name: _checked(source, limits_of(spec, name)) for name, source in spec.sources.items()}
    return {
        "path": str(config),
        "drifted": any(source["drifts"] for source in sources.values()),
        "sources": sources,
    }


def _checked(spec: SourceSpec, limits: QualitySpec) -> CheckedSource:
    objects = _listed(spec)
    found = compare(spec, limits, objects)
    taken = found.sample
    return {
        "landing": spec.landing,
        "objects": len(objects),
        "last_landed": format_time(objects[-1].modified) if objects else None,
        "sampled": {"objects": [item.uri for item in taken.objects[::-1]], "rows": taken.rows, "whole": taken.whole},
        "fates": None if found.fates is None else rows_by_fate(found.fates),
        "drifts": [
            {
                "kind": each.kind,
                "key": each.key,
                "column": each.column,
                "message": each.message,
                "rows": each.rows,
                "share": each.rows / max(taken.rows + taken.unread, 1),
                "effect": each.effect,
                "proposed": each.proposed,
            }
            for each in found.drifts
        ],
        "unseen": list(found.unseen),
    }


def _listed(spec: SourceSpec) -> list[ListedObject]:
    """The objects in log order; of very many, only the first that the listing gives. Dated folders that are too old
    by `max_object_age` are not opened."""
    location = LandingLocation(spec.landing, spec.landed_at, spec.max_object_age)
    found = islice(list_objects(location, time.time_ns() // 1000), MOST_LISTED)
    return in_log_order([ListedObject(item.uri, location.path(item.uri), item.size, item.modified) for item in found])
