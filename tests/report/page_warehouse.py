"""Tables of a page for tests, written by delta-rs from what the oracle judged, and a reader of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyarrow.dataset import Dataset
from report_warehouse import TIME, record
from ruamel.yaml import YAML

from oracle import Obj, Outcome, Row, Run, Source, Verdict
from tidemark.config.load import load_pipeline
from tidemark.core.advance import SourceRules
from tidemark.core.batch_result import Account, BatchRecord, TableDigest
from tidemark.core.policy import Fate, Reason
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.times import HOUR, MINUTE, parse_time
from tidemark.core.watermarks import PartitionState
from tidemark.ledger.tables.rows import batch_row, finding_row, state_row
from tidemark.ledger.tables.schemas import BATCHES, DIAGNOSTICS, WATERMARKS, with_integer_times
from tidemark.report.page.data import tables as page_tables
from tidemark.report.page.data.tables import Scope, Tables
from tidemark.report.status import status

T0 = parse_time("2026-01-01T12:00:00Z")
HOSTILE = "<script>alert('x')</script>\"&\x1b\u202e"
SETTINGS = Source(
    early=(5 * MINUTE, "drop"), late=(10 * MINUTE, "adjust"), out_of_order=(2 * MINUTE, "adjust"), arrival_column=True
)
FILE: dict[str, Any] = {
    "warehouse": "./warehouse",
    "sources": {
        "readings": {
            "landing": "./landing",
            "format": "json",
            "schema": "EnqueuedAt TIMESTAMP, passed TIMESTAMP, lane STRING",
            "partition": {"column": "lane"},
            "arrival_time": "EnqueuedAt",
            "landing_delay": "0s",
            "timestamp_by": "passed",
            "early_arrival": {"tolerance": "5m", "action": "drop"},
            "late_arrival": {"tolerance": "10m", "action": "adjust"},
            "out_of_order": {"tolerance": "2m", "action": "adjust"},
        }
    },
    "streams": {"rolling": {"from": "readings", "tumbling": "1h", "select": {"n": "count(*)"}}},
}
LETTERS = pa.schema(
    [
        ("_source", pa.string()),
        ("_partition", pa.string()),
        ("_offset", pa.int64()),
        *(
            (name, TIME)
            for name in ("_event_time", "_system_timestamp", "_watermark", "_window_start", "_window_end")
        ),
        ("_batch_id", pa.int64()),
    ]
)
QUALITY = pa.schema(
    [
        ("batch_id", pa.int64()),
        ("run_id", pa.string()),
        ("table", pa.string()),
        ("expectation", pa.string()),
        ("observed", pa.float64()),
        ("limit", pa.float64()),
        ("success", pa.bool_()),
        ("severity", pa.string()),
        ("examples", pa.list_(pa.string())),
    ]
)


def write_file(folder: Path, name: str) -> Path:
    """A pipeline file over tables beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yml"
    with path.open("w") as file:
        YAML().dump({"pipeline": name} | FILE, file)
    return path


def rows(count: int, partition: str = "0", first: int = 0) -> tuple[Row, ...]:
    """Rows a minute apart; some are late, far behind, early, or lack a time."""
    made = []
    for number in range(first, first + count):
        arrival = T0 + number * MINUTE
        away = {3: -30 * MINUTE, 5: -7 * MINUTE, 8: 9 * MINUTE}.get(number % 10, 0)
        event = None if number % 17 == 16 else arrival + away
        made.append(Row(partition, event, arrival))
    return tuple(made)


def two_runs(*names: str) -> list[Run]:
    """One run of all partitions, one of the first."""
    parts = names or ("0", "1")
    first = tuple(Obj(f"{n}-a.json", T0 + HOUR, rows(40, name)) for n, name in enumerate(parts))
    second = (Obj("0-b.json", T0 + 2 * HOUR, rows(40, parts[0], 40)),)
    return [Run(T0 + HOUR, first), Run(T0 + 2 * HOUR, second)]


def delta(place: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Dataset:
    """Rows as a Delta table; times are integers."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=with_integer_times(schema)).cast(schema)
    write_deltalake(str(place), table)
    return DeltaTable(str(place)).to_pyarrow_dataset()


def accounts_of(verdicts: Iterable[Verdict]) -> tuple[Account, ...]:
    """What the ledger would count of these rows."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.partition, []).append(verdict)
    return tuple(
        Account(
            "readings",
            partition,
            {fate: sum(v.disposition == fate for v in mine) for fate in Fate},
            {reason: sum(reason in v.reasons for v in mine) for reason in Reason},
        )
        for partition, mine in found.items()
    )


@dataclass(frozen=True)
class Warehouse:
    """One source's judged log, and the tables of a page about it."""

    tables: Tables
    outcome: Outcome


def warehouse(
    place: Path,
    source: Source,
    runs: Sequence[Run],
    *,
    letters: Sequence[Mapping[str, Any]] = (),
    findings: Sequence[Mapping[str, Any]] = (),
    quality: Sequence[Mapping[str, Any]] | None = None,
    pipeline: str = "toll",
    **values: Any,
) -> Warehouse:
    """Everything that a page is made from; each run is one batch."""
    recorded = record(place / "events", source, runs)
    batches = [_batch(recorded.ledger.batches[n], recorded.outcome, n, len(letters)) for n in range(1, len(runs) + 1)]
    states = [
        state_row(batch, "readings", partition, state)
        for partition, history in recorded.ledger.history.items()
        for batch, state in history
    ]
    newest: dict[tuple[str, str], PartitionState] = {
        ("readings", name): past[-1][1] for name, past in recorded.ledger.history.items()
    }
    rules = {"readings": SourceRules("readings", recorded.facts.policy, (), 0, recorded.facts.substreams)}
    given: dict[str, Any] = {
        "spec": load_pipeline(write_file(place, pipeline)).spec,
        "config": "toll.yml",
        "scope": Scope(1, len(runs)),
        "sources": [
            page_tables.SourceTable(
                "readings",
                recorded.events,
                recorded.facts.policy,
                source.timestamp_by,
                substreams=recorded.facts.substreams,
            )
        ],
        "batches": delta(place / "batches", map(batch_row, batches), BATCHES),
        "watermarks": delta(place / "watermarks", states, WATERMARKS),
        "diagnostics": delta(place / "diagnostics", findings, DIAGNOSTICS),
        "status": {
            "pending": [],
            **status(newest, batches[-1].combined, batches[-1].as_of, batches, sources=rules, config="toll.yml"),
        },
        "letters": {"rolling": delta(place / "letters", letters, LETTERS)} if letters else {},
        "quality": None if quality is None else delta(place / "quality", quality, QUALITY),
        "versions": [{"version": 1, "created": 0, "promoted": 0, "live": True}],
    }
    return Warehouse(Tables(**(given | values)), recorded.outcome)


def _batch(batch: BatchRecord, outcome: Outcome, number: int, letters: int) -> BatchRecord:
    mine = [verdict for verdict in outcome.verdicts if verdict.run == number - 1]
    last = number == len(outcome.ends)
    stream = StreamEnd(StreamState(), rows=7 * number, outside=number, dead_letters=letters if last else 0)
    return replace(
        batch,
        accounts=accounts_of(mine),
        objects=number,
        bytes=10 * number,
        engine='{"versions": {"pyspark": "4.2.0"}, "settings": {}}',
        fingerprint="f" * 64,
        digests=(TableDigest("events/readings", len(mine), "d" * 64),),
        streams={"rolling": stream} if letters else {},
    )


def found(**values: Any) -> dict[str, Any]:
    """A row of diagnostics."""
    from tidemark.core.batch_result import Diagnostic, Finding, FindingSample

    given = {"source": "readings", "partition": "0", "type": Diagnostic.LATE, "count": 1, "first_time": 0}
    given |= {"last_time": 0, "sample": FindingSample(3, 0, 0, "a.json"), "tolerance": None, "message": "late"}
    batch = values.pop("batch_id", 1)
    return finding_row(batch, Finding(**(given | values)))


@dataclass
class Page(HTMLParser):
    """A page as a reader without eyes gets it: texts by element, tables by name, attributes of all elements."""

    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    captions: dict[str, str] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    tags: Counter[str] = field(default_factory=Counter)
    attributes: list[tuple[str, str, str | None]] = field(default_factory=list)
    drawn: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Page:
        page = cls()
        page.__dict__["_open"] = []
        HTMLParser.__init__(page)
        page.feed(text)
        return page

    def __post_init__(self) -> None:
        self._open: list[str] = []
        self._table, self._figure = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "figure":
            self._figure = given["id"] or ""
        if tag == "table":
            self._table = given["id"] or ""
            self.tables[self._table] = []
        if tag == "tr":
            self.tables[self._table].append([])
        if tag in {"td", "th"}:
            self.tables[self._table][-1].append("")
        if tag in {"p", "li"}:
            self.sentences.append("")
        if tag == "figcaption":
            self.captions[self._figure] = ""
        if tag in {"dt", "dd"}:
            self.facts.append("")
        if tag not in {"meta", "br", "link", "input"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            self.tables[self._table][-1][-1] += data
        elif "figcaption" in self._open:
            self.captions[self._figure] += data
        elif "svg" in self._open:
            self.drawn.setdefault(self._figure, []).append(data)
        elif "dt" in self._open or "dd" in self._open:
            self.facts[-1] += data
        elif self._open and {"p", "li"} & set(self._open):
            self.sentences[-1] += data

    def lines(self, name: str) -> list[dict[str, str]]:
        """A table's lines by its headings."""
        head, *body = self.tables.get(name, [[]])
        return [dict(zip(head, line, strict=True)) for line in body]
