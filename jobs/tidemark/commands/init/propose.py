"""Proposes a pipeline for the files in a landing folder: lists it, samples it, writes an annotated configuration.

Starts no JVM and never overwrites a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from tidemark.config import load_pipeline
from tidemark.config.address import is_remote
from tidemark.config.files.paths import landing_folder, overlap
from tidemark.core.times import MAX_TIME
from tidemark.errors import ConfigError, UsageError
from tidemark.landing.listing import LandingLocation, list_objects
from tidemark.proposal.columns.words import identifier
from tidemark.proposal.detect import look
from tidemark.proposal.objects import ListedObject, in_log_order
from tidemark.proposal.propose import ProposedSource, propose_source
from tidemark.proposal.record import guess_records, source_record
from tidemark.proposal.sources import Grouped, SkippedFiles, grouped
from tidemark.proposal.yaml_document import document
from tidemark.records.failures import ProblemRecord
from tidemark.records.proposal import InitRecord, ProposalRecord
from tidemark.verbs import explained

MOST_LISTED = 200_000
_APART = "a source takes a whole folder: give each kind a folder of its own"


@explained
def init(landing: Path | str, out: Path | str | None = None) -> InitRecord:
    """Write a configuration for the files in `landing` (a folder or an address in object storage).

    Returns `path`, `proposal` and the `warnings` of `validate`. The default of `out` is <name of the folder>.yml in
    the current folder.

    Raises UsageError if there is nothing to read, if no source can take files of these kinds, or if the file exists
    already.
    """
    location = _landing(str(landing))
    target = _target(location, out)
    objects, more = _listed(location)
    found = grouped(objects, look)
    if not found.groups:
        raise _nothing(str(landing), found)
    sources = _sources(str(landing), location, target, found)
    notes = [*_left(found), *([f"Only the first {MOST_LISTED:,} objects were listed."] if more else [])]
    text = document(identifier(target.stem, "pipeline"), target.name, sources, notes)
    warnings = _write(target, text)
    proposal: ProposalRecord = {
        "landing": location,
        "pipeline": identifier(target.stem, "pipeline"),
        "objects": len(objects),
        "sources": {source.name: source_record(source) for source in sources},
        "guesses": guess_records(sources),
        "left_out": {folder or ".": [str(kind) for kind in kinds] for folder, kinds in found.rest.items()},
        "notes": notes,
    }
    return {"path": str(target), "proposal": proposal, "warnings": warnings}


def _landing(landing: str) -> str:
    try:
        location = landing_folder(landing, Path.cwd())
    except ValueError as error:
        raise UsageError(str(error)) from None
    if "{" in location:
        raise UsageError(f"{landing} has placeholders", hint="name the folder above them")
    if is_remote(location):
        return location
    if Path(location).is_file():
        raise UsageError(f"{landing} is a file", hint=f"name the folder it is in: {Path(landing).parent}")
    if not Path(location).is_dir():
        raise UsageError(f"there is no folder {landing}", hint="name the folder in which files land")
    return location


def _target(location: str, out: Path | str | None) -> Path:
    target = (
        Path(f"{identifier(location.rstrip('/').rpartition('/')[2], 'pipeline')}.yml") if out is None else Path(out)
    )
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} is there already, and nothing is written over", hint="choose another with --out")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it, or choose another place")
    if not is_remote(location) and overlap(location, os.path.abspath(target)):  # noqa: PTH100 # keeps symbolic links
        raise UsageError(
            f"{target} would lie in the landing folder, and be taken for an object",
            hint="choose another place with --out, such as --out ../pipeline.yml",
        )
    return target


def _listed(location: str) -> tuple[list[ListedObject], bool]:
    """The objects in log order, and True if there are more than were listed."""
    at = LandingLocation(location)
    found = list(islice(list_objects(at, MAX_TIME), MOST_LISTED + 1))
    objects = [
        ListedObject(item.uri, at.path(item.uri), item.size, item.modified)
        for item in found[:MOST_LISTED]
        if at.refusal(item.uri) is None
    ]
    return in_log_order(objects), len(found) > MOST_LISTED


def _sources(landing: str, location: str, target: Path, found: Grouped) -> list[ProposedSource]:
    base = location if is_remote(location) or Path(landing).is_absolute() else _relative(location, target)
    sources: list[ProposedSource] = []
    for group in found.groups:
        folder = group.prefix.rstrip("/")
        name = _name(folder or location.rstrip("/"), [source.name for source in sources])
        inside = [item._replace(uri=item.uri.removeprefix(group.prefix)) for item in group.objects]
        written = f"{base}/{folder}" if folder else base
        source = propose_source(name, written, group.look.format, inside, group.folders, group.strays)
        if source.sample.rows and source.sample.types:
            sources.append(source)
    if not sources:
        raise UsageError(f"the files in {landing} hold no rows", hint="wait until rows have landed")
    return sources


def _relative(location: str, target: Path) -> str:
    path = os.path.relpath(location, target.parent.absolute())
    return path if path.startswith(".") else f"./{path}"


def _name(folder: str, taken: Sequence[str]) -> str:
    name = identifier(folder.rpartition("/")[2], "source")
    if name in taken:
        name = identifier("_".join(folder.split("/")[-2:]), "source")
    number, found = 2, name
    while found in taken:
        number, found = number + 1, f"{name}_{number}"
    return found


def _nothing(landing: str, found: Grouped) -> UsageError:
    kinds = [(folder, kind) for folder, each in found.rest.items() for kind in each]
    if not kinds:
        return UsageError(f"there are no files with content in {landing}", hint="wait until files have landed there")
    if len(kinds) == 1 and not kinds[0][1].what.startswith(("JSON lines", "CSV", "Parquet", "ORC")):
        return UsageError(
            f"{landing} holds no files that can be read: {kinds[0][1]}",
            hint="what can be read is JSON lines, CSV, Parquet and ORC, compressed by gzip where the format has it",
        )
    return UsageError(
        f"the files in {landing} are of kinds that no one source can take: {_kinds(kinds)}", hint=_APART
    )


def _left(found: Grouped) -> list[str]:
    notes = [
        f"Left out, in {folder or 'the landing folder itself'}: {'; '.join(map(str, kinds))}."
        for folder, kinds in found.rest.items()
    ]
    mixed = any(len(kinds) > 1 for kinds in found.rest.values())
    return [*notes, f"To take what is left out: {_APART}."] if mixed else notes


def _kinds(kinds: Sequence[tuple[str, SkippedFiles]]) -> str:
    shown = "; ".join(str(kind) for _, kind in kinds[:10])
    return f"{shown}; {len(kinds) - 10} more" if len(kinds) > 10 else shown


def _write(target: Path, text: str) -> list[ProblemRecord]:
    """Write the file if its configuration is valid and no such file exists; returns its warnings."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        warnings = load_pipeline(part).warnings
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{target} is there already, and nothing is written over", hint="give --out FILE") from None
    except ConfigError as error:
        problems = [str(problem).replace(str(part), str(target)) for problem in error.problems]
        raise UsageError(f"no configuration of what was found holds: {'; '.join(problems)}") from error
    finally:
        part.unlink(missing_ok=True)
    return [
        {"file": each.file.replace(str(part), str(target)), "key": each.key, "message": each.message}
        for each in warnings
    ]
