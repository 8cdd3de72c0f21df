"""The parts of a page about runs: checks, diagnostics, objects taken, versions, and how to verify them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.core.shell import command
from tidemark.report.page.charts.runs import quality_picture
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.runs import MOST_RUNS as LISTED_RUNS
from tidemark.report.page.data.tables import Row
from tidemark.report.page.differences import differences
from tidemark.report.page.fates import HEADS, fate_cells
from tidemark.report.page.markup import Amount, Cell, Html, element, paragraph, result, section, table
from tidemark.report.page.measures import bounded, measured, once
from tidemark.report.page.sections import drawn
from tidemark.report.words import day_of, moment, second, value_text

_MOST_CHECKS = 200
_DIGITS = 16


def quality(answers: Answers) -> Html:
    """Return the section on quality: expectations that held or failed, over time and in the newest run."""
    checks = answers.quality
    if not checks:
        return section("quality", "Quality", paragraph("No checks have run yet."))
    newest = checks[-1]["run_id"]
    shown = [check for check in once(checks) if check["run_id"] == newest or not check["success"]][-_MOST_CHECKS:]
    newest_first = shown[::-1]
    failed_first = sorted(newest_first, key=lambda check: bool(check["success"]))
    heads = ("result", "table", "expectation", "observed", "limit", "severity", "run", "examples")
    return section(
        "quality",
        "Quality",
        *drawn("quality-history", quality_picture(checks)),
        paragraph("Checks of the newest run, and those that failed before; failed ones first:", class_="quiet"),
        table("quality-table", heads, map(_check, failed_first)),
    )


def _check(check: Mapping[str, Any]) -> list[Cell | Html]:
    name = str(check["expectation"])
    return [
        result(check["success"]),
        check["table"],
        name,
        Amount.of(measured(name, check["observed"])),
        bounded(name, check["limit"]),
        check["severity"],
        check["run_id"],
        _long(", ".join(check["examples"] or ())),
    ]


def _long(value: object) -> Html | None:
    text = value_text(value)
    return element("span", text, class_="long") if text else None


def diagnostics(answers: Answers) -> Html:
    """Return the diagnostics that runs recorded, one line for each kind and source."""
    if not answers.findings:
        return section("diagnostics", "Diagnostics", paragraph("Nothing was found."))
    heads = ("type", "source", "count", "partitions", "first", "last", "newest example", "what it says")
    return section("diagnostics", "Diagnostics", table("findings", heads, map(_finding, answers.findings)))


def _finding(found: Row) -> list[Cell | Html]:
    about = [] if found["partition"] is None else [f"partition {found['partition']}"]
    about += [] if found["offset"] is None else [f"offset {found['offset']}"]
    about += [] if found["file"] is None else [f"file {found['file']}"]
    times = [moment(found[name]) if found[name] is not None else None for name in ("first", "last")]
    return [
        found["type"],
        found["source"],
        found["n"],
        found["partitions"],
        *times,
        _long(", ".join(about) or None),
        _long(found["message"]),
    ]


def runs(answers: Answers) -> Html:
    """Return the runs, newest first."""
    found = answers.runs
    heads = ("run", "as of", "ran", "micro-batches", "objects", *HEADS)
    rows = [
        (run["run_id"], moment(run["as_of"]), _ran(run), run["batches"], run["objects"], *fate_cells(run))
        for run in found.listed
    ]
    more = found.totals["runs"] - len(rows)
    note = [paragraph(f"The newest {LISTED_RUNS}; {more:,} earlier runs are in the counts above.", class_="quiet")]
    return section("runs", "Runs, newest first", table("runs-table", heads, rows), *note * (more > 0))


def _ran(run: Row) -> str | None:
    """Return when a run ran, without the day if it ran on the day of its `as_of`."""
    return None if run["ran"] is None else second(run["ran"], day_of(run["as_of"]))


def versions(answers: Answers) -> Html:
    """Return the versions, the engines and configurations that judged, and the command that verifies them."""
    listed = answers.tables.versions
    rows = [
        (
            v["version"],
            "live" if v["live"] else "",
            second(v["created"]),
            second(v["promoted"]) if v["promoted"] is not None else None,
        )
        for v in listed
    ]
    inner = [table("versions-table", ("version", "", "made", "made live"), rows)] if rows else []
    if not rows:
        inner.append(paragraph("No version is recorded yet."))
    return section("versions", "Versions and replay", *inner, *differences(listed), *_proof(answers))


def _proof(answers: Answers) -> Iterator[Html]:
    found = answers.runs
    if not found.digests:
        return
    newest = found.digests[0]["batch_id"]
    replay = command("replay", answers.tables.config, options=("--all",))
    yield paragraph(
        f"Each batch has a digest of what it wrote to every table; those of batch {newest:,} are below. ",
        element("code", replay),
        " computes all batches again and compares. A replay writes nothing, so that its result is not recorded here.",
    )
    digests = [(row["name"], row["rows"], row["digest"][:_DIGITS]) for row in found.digests]
    yield table("digests", ("table", "rows", f"digest, first {_DIGITS} digits"), digests)
    yield paragraph("Batches by the engine and the configuration that they were judged under, newest first:")
    engines = [
        (f"{e['first']} to {e['last']}", e["batches"], e["fingerprint"][:_DIGITS], _long(engine(e["engine"])))
        for e in found.engine
    ]
    yield table("engines", ("batches", "count", "configuration", "engine"), engines)


def engine(recorded: str) -> str:
    """Return the versions of a recorded engine, and a checksum of its settings: engines of equal versions may differ
    in settings. `plain`: it took all public ways (docs/compat.md). A record in another form is returned unchanged."""
    try:
        stored = json.loads(recorded)
        versions, settings = stored["versions"], stored["settings"]
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    except (ValueError, TypeError, KeyError, AttributeError):
        return recorded
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    plain = "; plain" if stored.get("plain") else ""
    return f"{listed}; {len(settings)} settings, checksum {digest[:8]}{plain}"
