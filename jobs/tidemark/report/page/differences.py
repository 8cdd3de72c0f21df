"""Changes that backfills made: by version, fates before and after, changed rows, windows with both values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidemark.core.policy import Fate
from tidemark.report.changed import SHOWN
from tidemark.report.page.markup import Html, element, paragraph, table
from tidemark.report.words import counted, moment, moment_of

LISTED = 3
"""Number of versions whose difference is on a page; the list of versions has all."""
_KINDS = {"streams": "output", "dead_letters": "dead letter"}


def differences(versions: Sequence[Mapping[str, Any]]) -> Iterator[Html]:
    """Yield the newest versions that a backfill built, each with its differences from its base version."""
    built = [each for each in reversed(versions) if each.get("made")]
    for version in built[:LISTED]:
        yield from _difference(version["version"], version["made"])
    if len(built) > LISTED:
        yield paragraph(f"{len(built) - LISTED:,} earlier versions are not compared here.", class_="quiet")


def _difference(number: int, made: Mapping[str, Any]) -> Iterator[Html]:
    found = json.loads(made["difference"])
    to = "the last run" if made["to"] is None else moment(made["to"])
    how = "read from landing again" if made["from_landing"] else "judged again"
    yield element("h3", f"Version {number}, built from version {made['base']}")
    summary = f"Outputs from {moment(made['from_'])} to {to}, {counted(made['input_rows'], 'row')} {how}. "
    if not any(found.get(kind) for kind in ("rows", *_KINDS)):
        yield paragraph(f"{summary}Nothing came out otherwise.")
        return
    yield paragraph(summary, *(f"{each} " for each in sentences(found)))
    yield from _fates(number, found.get("fates", {}))
    yield from _rows(number, found["rows"])
    yield from _windows(number, found["streams"])


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the numbers of changes in a version, by source, stream and excluded object."""
    for source, changes in found["rows"].items():
        ways = ", ".join(f"{way} {count:,}" for way, count in changes["fates"].items())
        crossing = f"; {changes['crossing']:,} cross an end of the range" if changes["crossing"] else ""
        yield f"{source}: {counted(changes['changed'], 'row')} otherwise ({ways}){crossing}."
    for kind, what in _KINDS.items():
        for name, changes in found[kind].items():
            yield f"{name}: {counted(changes['gone'], what)} no more, {changes['new']:,} new."
    for each in found.get("excluded", ()):
        yield f"{each['uri']} of source {each['source']}: {counted(each['rows'] - each['left'], 'row')} excluded."


def _fates(number: int, fates: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[Html]:
    heads = ("source", "", *(fate.value.replace("_", " ") for fate in Fate))
    lines = [
        (source if when == "before" else "", when, *(fates[when].get(source, {}).get(fate.value, 0) for fate in Fate))
        for source in fates.get("before", {})
        for when in ("before", "after")
    ]
    if lines:
        yield table(f"fates-of-version-{number}", heads, lines)


def _rows(number: int, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Html]:
    lines = [
        (
            source,
            each["partition"],
            each["offset"],
            moment_of(each["event_time"]),
            _fate(each["before"]),
            _fate(each["after"]),
            each["crosses"],
        )
        for source, changes in rows.items()
        for each in changes.get("examples", ())
    ]
    if lines:
        yield paragraph(f"Changed rows, the first {SHOWN} of each source; all are in the table difference/rows.")
        heads = ("source", "partition", "offset", "event time", "before", "after", "crosses")
        yield table(f"rows-of-version-{number}", heads, lines)


def _fate(fate: Mapping[str, Any] | None) -> str:
    if fate is None:
        return "not there"
    reasons = f" ({', '.join(fate['reasons'])})" if fate["reasons"] else ""
    return f"{fate['disposition'].replace('_', ' ')}{reasons} {moment_of(fate['time'])}".rstrip()


def _windows(number: int, streams: Mapping[str, Mapping[str, Any]]) -> Iterator[Html]:
    lines = [
        (
            name,
            moment_of(each["start"]),
            moment_of(each["end"]),
            _values(each["about"]),
            _values(each["before"]),
            _values(each["after"]),
        )
        for name, changes in streams.items()
        for each in changes.get("windows", ())
    ]
    if lines:
        yield paragraph(f"Changed windows, the newest {SHOWN} of each stream; all are in difference/streams.")
        heads = ("stream", "from", "to", "of", "before", "after")
        yield table(f"windows-of-version-{number}", heads, lines)


def _values(values: Mapping[str, Any] | None) -> str:
    return "" if values is None else ", ".join(f"{name} {value}" for name, value in values.items())
