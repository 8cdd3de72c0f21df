"""Records a case: rows that a pipeline has judged, and the rows of its tables when it gets only these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tidemark.arguments import file_path, known_names, texts
from tidemark.commands.cases import values
from tidemark.commands.cases.case import Case, GivenRow, Row
from tidemark.commands.cases.landing import unpacked
from tidemark.commands.cases.mask import RAW, Pseudonyms
from tidemark.commands.cases.recorded import RecordedRows, of_run, of_time
from tidemark.commands.cases.run import Ran, one_session, run_case
from tidemark.commands.cases.verbs import RecordOptions
from tidemark.commands.cases.write import case_text
from tidemark.commands.filters import instants
from tidemark.commands.read import Reader
from tidemark.config import PipelineSpec
from tidemark.config.pipeline_files import CASES
from tidemark.context import RunContext
from tidemark.core.policy import Reason
from tidemark.errors import UsageError
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.records.cases import RecordedCaseRecord
from tidemark.report.words import counted, iso

_FATE = ("_disposition", "_reasons", "_system_timestamp")
_OF_ROWS = {
    "events": ("_partition", "_offset", *_FATE, "_end_time"),
    "dead_letters": ("_source", "_partition", "_offset", "_window_start", "_window_end"),
}
"""Columns that a recorded case expects; for streams, all columns but the batch number."""


def record(context: RunContext, target: Path | str | None, options: RecordOptions) -> RecordedCaseRecord:
    """Write a case from recorded rows to a file, by default PIPELINE.recorded.test.yml beside the pipeline file."""
    known_names("record_case", options, ["target", *RecordOptions.__annotations__])
    config = context.spec.path
    file = config.with_name(f"{config.stem}.recorded{CASES[0]}") if target is None else file_path("target", target)
    if file.exists():
        raise UsageError(f"{file} is there already", hint="name another FILE, or move it away")
    pseudonyms = Pseudonyms(context.spec, texts("mask", options.get("mask") or [], "DeviceId"))
    stretch = _chosen(context, options)
    rows = {name: [*_given(context.spec, stretch, name, pseudonyms)] for name in stretch.rows}
    case = Case(
        f"{stretch.name}, as recorded", file, 1, context.spec, {k: tuple(v) for k, v in rows.items()}, stretch.runs
    )
    with one_session(), TemporaryDirectory(prefix="tidemark-test-") as folder:
        ran = run_case(case, Path(folder), context.environ)
        case = replace(case, expect=_outcome(ran))
        differing = sum(_differing(ran, stretch, name) for name in rows)
    file.write_text(case_text(case, _remarks(stretch, pseudonyms.names, differing)), encoding="utf-8")
    return {
        "path": str(file),
        "case": case.name,
        "rows": sum(map(len, rows.values())),
        "runs": len(case.runs),
        "differing": differing,
        "masked": pseudonyms.names,
    }


def _chosen(context: RunContext, options: RecordOptions) -> RecordedRows:
    reader = Reader(context.spec, context.ledger, context.clock)
    source, run = options.get("source"), options.get("run")
    since, until = instants(context.clock(), options.get("since"), options.get("until"))
    sources = [*context.spec.sources] if source is None else [reader.known(source)]
    ensure_whole(context.ledger)
    if since is None and until is None:
        return of_run(reader, sources, run)
    if run is not None:
        raise UsageError("a run and a range of time exclude one another", hint="give --run, or --since and --until")
    bounds = [f"{word} {iso(time)}" for word, time in (("since", since), ("until", until)) if time is not None]
    return of_time(reader, sources, since, until, f"{', '.join(sources)} {' '.join(bounds)}")


def _given(spec: PipelineSpec, stretch: RecordedRows, name: str, pseudonyms: Pseudonyms) -> Sequence[GivenRow]:
    """The rows of a source as they landed: the text of a row that could not be read, the payload of other rows."""
    source, schema = spec.sources[name], stretch.schemas[name]
    columns = [column.name for column in source.columns if column.name in schema.names]
    found = []
    for landed, row in stretch.rows[name]:
        file = unpacked(row["_file"]) if source.partition and source.partition.path else None
        if Reason.INVALID_ROW in row["_reasons"]:
            raw = RAW if pseudonyms.names else " ".join((row["_raw"] or "").splitlines())
            found.append(GivenRow(landed, landed, {}, raw, file))
            continue
        payload = {key: values.written(row[key], schema.field(key).type) for key in columns if row[key] is not None}
        found.append(GivenRow(landed, landed, pseudonyms.row(name, payload), None, file))
    return found


def _outcome(ran: Ran) -> dict[str, tuple[Row, ...]]:
    """Rows that the case produces: events of its sources, and all streams with their dead letters."""
    spec = ran.case.spec
    found: dict[str, tuple[Row, ...]] = {}
    for table in ran.reader.tables():
        kind, _, name = table.partition("/")
        if kind not in ("events", "streams", "dead_letters") or (kind == "events" and name not in ran.case.given):
            continue
        rows = ran.table(table)
        names = [each for each in _OF_ROWS.get(kind, rows.schema.names) if each in rows.schema.names]
        needless = {"_batch_id"}
        if kind == "events":
            needless |= set() if spec.sources[name].partition else {"_partition"}
            needless |= {"_end_time"} if spec.sources[name].longest == 1 else set()
        written = rows.all_written([each for each in names if each not in needless])
        found[table] = (*sorted(written, key=_by_values),)
    return found


def _by_values(row: Row) -> list[tuple[bool, object]]:
    """Key that sorts rows of one table; nulls last."""
    return [(each is None, each if isinstance(each, int | float) else str(each)) for each in row.values()]


def _differing(ran: Ran, stretch: RecordedRows, name: str) -> int:
    """Number of rows of a source with a fate that differs from the recorded one."""

    def fates(rows: Sequence[Row]) -> list[tuple[object, ...]]:
        ordered = sorted(rows, key=lambda row: (row["_partition"], row["_offset"]))
        return [tuple(str(row[key]) for key in _FATE) for row in ordered]

    then, now = fates([row for _, row in stretch.rows[name]]), fates(ran.table(f"events/{name}").rows)
    return sum(one != other for one, other in zip(then, now, strict=False)) + abs(len(then) - len(now))


def _remarks(stretch: RecordedRows, masked: Sequence[str], differing: int) -> list[str]:
    rows = sum(map(len, stretch.rows.values()))
    remarks = [f"Recorded: {counted(rows, 'row')} of {stretch.name}. Expected is what these rows give by themselves."]
    if masked:
        remarks.append(f"Values of {', '.join(masked)} are pseudonyms; lines that are no rows are left out.")
    if differing:
        remarks.append(f"{counted(differing, 'row')} had another fate when recorded, since watermarks stood then.")
    return remarks
