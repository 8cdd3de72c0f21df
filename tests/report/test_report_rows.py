"""Which rows, newest first, with an exact total, reading only files that may hold some."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow.dataset import Dataset
from report_warehouse import COLUMNS, TIME, event, table_of, write

from tidemark.core.times import DAY, MAX_TIME, MIN_TIME, MINUTE, SECOND, format_time
from tidemark.errors import UsageError
from tidemark.report.rows import LONGEST, Filter, export_rows, find_rows

T0 = 1_767_225_600 * SECOND


def found(datasets: dict[str, Dataset], **where: Any) -> list[tuple[str, str, int]]:
    answer = find_rows(datasets, Filter(**where), limit=LONGEST)
    assert answer["total"] == len(answer["rows"])
    json.dumps(answer, allow_nan=False)
    return [(row["source"], row["partition"], row["offset"]) for row in answer["rows"]]


@pytest.fixture
def two(tmp_path: Path) -> dict[str, Dataset]:
    """Source a: an adjusted, a dropped, a quarantined row without arrival; source b: two on time."""
    a = [
        event(0, T0, _system_timestamp=T0 + MINUTE, _disposition="adjusted", _reasons=["late", "out_of_order"]),
        event(1, T0 + DAY, _system_timestamp=None, _disposition="dropped", _reasons=["early"], _batch_id=2),
        event(
            0,
            None,
            _partition="_unknown",
            _disposition="quarantined",
            _reasons=["invalid_row"],
            _raw="[red]\x1b[31m",
            _batch_id=2,
        ),
    ]
    b = [event(0, T0 + DAY, _batch_id=2, _partition="1"), event(7, T0 + DAY, _batch_id=2, _partition="0")]
    return {
        "a": write(tmp_path / "a", table_of(a[:1]), table_of(a[1:])),
        "b": write(tmp_path / "b", table_of(b)),
    }


A0, A1, AQ, B0, B1 = ("a", "0", 0), ("a", "0", 1), ("a", "_unknown", 0), ("b", "0", 7), ("b", "1", 0)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({}, [A1, B0, B1, A0, AQ]),
        ({"source": "b"}, [B0, B1]),
        ({"fate": "dropped"}, [A1]),
        ({"reason": "out_of_order"}, [A0]),
        ({"reason": "late", "fate": "dropped"}, []),
        ({"partition": "_unknown"}, [AQ]),
        ({"since": T0 + DAY}, [A1, B0, B1]),
        ({"since": T0 + DAY + 1}, []),
        ({"until": T0 + DAY}, [A0]),
        ({"since": T0, "until": T0 + 1}, [A0]),
        ({"batch": 2}, [A1, B0, B1, AQ]),
        ({"batch": 2, "fate": "quarantined", "reason": "invalid_row", "source": "a"}, [AQ]),
    ],
    ids=str,
)
def test_every_condition_must_hold_and_rows_come_newest_first(
    two: dict[str, Dataset], where: dict[str, Any], rows: list[tuple[str, str, int]]
) -> None:
    assert found(two, **where) == rows


def test_csv_comes_newest_first_by_number_and_not_by_text(tmp_path: Path) -> None:
    rows = [event(n, T0, _batch_id=batch) for n, batch in ((9, 9), (10, 9), (1, 10))]
    export_rows({"a": write(tmp_path / "a", table_of(rows))}, Filter(), tmp_path / "o.csv", "csv")
    with (tmp_path / "o.csv").open(newline="") as lines:
        assert [row["_offset"] for row in csv.DictReader(lines)] == ["1", "10", "9"]


def test_equal_arrivals_come_by_batch_then_source_partition_and_offset(tmp_path: Path) -> None:
    rows = [
        event(n, T0, _partition=part, _batch_id=batch) for n, part, batch in ((0, "0", 1), (1, "0", 2), (2, "0", 2))
    ]
    rows.append(event(0, T0, _partition="1", _batch_id=2))
    tables = {"b": write(tmp_path / "b", table_of(rows)), "a": write(tmp_path / "a", table_of(rows[3:]))}
    assert found(tables) == [("a", "1", 0), ("b", "0", 2), ("b", "0", 1), ("b", "1", 0), ("b", "0", 0)]


def test_a_row_says_what_became_of_it_and_by_how_much_it_was_moved(two: dict[str, Dataset]) -> None:
    adjusted, dropped = (find_rows(two, Filter(fate=fate))["rows"][0] for fate in ("adjusted", "dropped"))
    assert adjusted == {
        "source": "a",
        "partition": "0",
        "offset": 0,
        "disposition": "adjusted",
        "reasons": ["late", "out_of_order"],
        "event_time": "2026-01-01T00:00:00Z",
        "arrival_time": "2026-01-01T00:00:00Z",
        "system_timestamp": "2026-01-01T00:01:00Z",
        "end_time": None,
        "watermark": None,
        "substream": None,
        "moved_by": "+1m",
        "moved_micros": MINUTE,
        "batch_id": 1,
        "file": "a.json",
        "raw": None,
        "payload": {},
    }
    assert (dropped["moved_by"], dropped["moved_micros"], dropped["system_timestamp"]) == (None, None, None)


def test_the_total_counts_all_and_the_newest_are_shown(tmp_path: Path) -> None:
    rows = [event(n, T0 + n) for n in range(2500)]
    tables = {"a": write(tmp_path / "a", table_of(rows))}
    few, most = find_rows(tables, Filter(), limit=3), find_rows(tables, Filter(), limit=5000)
    assert ([row["offset"] for row in few["rows"]], few["total"], few["truncated"]) == (
        [2499, 2498, 2497],
        2500,
        True,
    )
    assert (len(most["rows"]), most["truncated"]) == (LONGEST, True)
    assert find_rows(tables, Filter(), limit=0) == {"rows": [], "total": 2500, "truncated": True}


@pytest.mark.parametrize(
    "where",
    [{"source": "c"}, {"fate": "lost"}, {"reason": "x' OR 1=1"}, {"since": T0, "until": T0}],
    ids=["source", "fate", "reason", "empty range"],
)
def test_what_cannot_match_anything_is_refused(two: dict[str, Dataset], where: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        find_rows(two, Filter(**where))
    assert refused.value.hint


def test_no_source_has_no_rows() -> None:
    assert find_rows({}, Filter()) == {"rows": [], "total": 0, "truncated": False}


@pytest.mark.parametrize(
    "ask",
    [
        lambda tables: find_rows(tables, Filter(since=T0 + 2 * DAY)),
        lambda tables: find_rows(tables, Filter(since=T0 + 2 * DAY, reason="late")),
        lambda tables: find_rows(tables, Filter(batch=3), limit=2),
    ],
    ids=["since", "since and reason", "batch"],
)
def test_files_that_cannot_hold_a_match_are_not_read(
    tmp_path: Path, ask: Callable[[dict[str, Dataset]], Any]
) -> None:
    days = [
        table_of(event(10 * day + n, T0 + day * DAY + n, _batch_id=day + 1, _reasons=["late"]) for n in range(5))
        for day in range(3)
    ]
    tables = {"a": write(tmp_path / "a", *days)}
    for file in [*tmp_path.glob("a/_arrival_date=2026-01-01/*"), *tmp_path.glob("a/_arrival_date=2026-01-02/*")]:
        file.unlink()
    assert ask(tables)["total"] == 5


def test_only_files_of_the_rows_shown_are_read_whole(tmp_path: Path) -> None:
    """The payload of old files is damaged: counting and ranking don't touch it."""
    payload = pa.schema([("text", pa.string())])
    old, new = (table_of([event(n, T0 + n * DAY, text="x" * 50_000, _batch_id=n + 1)], payload) for n in range(2))
    tables = {"a": write(tmp_path / "a", old, new)}
    place = next(tmp_path.glob("a/_arrival_date=2026-01-01/*"))
    chunk = pq.ParquetFile(place).metadata.row_group(0).column(len(COLUMNS) - 1)
    assert chunk.path_in_schema == "text"
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    raw = bytearray(place.read_bytes())
    raw[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    place.write_bytes(raw)
    answer = find_rows(tables, Filter(), limit=1)
    assert (answer["total"], answer["rows"][0]["offset"]) == (2, 1)


# -- extremes


NESTED = pa.schema(
    [
        ("when", TIME),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("number", pa.float64()),
        ("exact", pa.decimal128(38, 10)),
        ("bytes", pa.binary()),
        ("deep", pa.struct([("list", pa.list_(pa.struct([("t", TIME), ("n", pa.float64())])))])),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("by number", pa.map_(pa.int64(), pa.string())),
        ('odd "name"', pa.string()),
    ]
)
ODD = {
    "when": MAX_TIME + DAY,
    "local": MIN_TIME,
    "day": -719_162,
    "number": float("nan"),
    "exact": 1,
    "bytes": b"\x00\xff",
    "deep": {"list": [{"t": MAX_TIME, "n": float("-inf")}, {"t": None, "n": 0.5}]},
    "map": [("k", 1)],
    "by number": [(1, "v")],
    'odd "name"': '"quoted", and\nlines',
}


@pytest.fixture
def extremes(tmp_path: Path) -> dict[str, Dataset]:
    rows = [event(0, MIN_TIME, **ODD), event(1, MAX_TIME, **ODD), event(2, None), event(3, T0 + 123_456)]
    return {"a": write(tmp_path / "a", *(table_of([row], NESTED) for row in rows))}


def test_the_first_and_last_microsecond_of_time_can_be_looked_for(extremes: dict[str, Dataset]) -> None:
    assert [offset for *_, offset in found(extremes)] == [1, 3, 0, 2]
    assert [offset for *_, offset in found(extremes, until=MIN_TIME + 1)] == [0]
    assert [offset for *_, offset in found(extremes, since=MAX_TIME)] == [1]
    assert [offset for *_, offset in found(extremes, since=T0 + 123_456, until=T0 + 123_457)] == [3]


def test_payload_of_any_type_is_shown_as_json_has_it(extremes: dict[str, Dataset]) -> None:
    row = find_rows(extremes, Filter(until=MIN_TIME + 1))["rows"][0]
    assert row["arrival_time"] == "0001-01-01T00:00:00Z"
    assert row["payload"] == {
        "when": f"{MAX_TIME + DAY} us since 1970-01-01T00:00:00Z",
        "local": "0001-01-01T00:00:00",
        "day": "0001-01-01",
        "number": "NaN",
        "exact": "1.0000000000",
        "bytes": "AP8=",
        "deep": {"list": [{"t": format_time(MAX_TIME), "n": "-Infinity"}, {"t": None, "n": 0.5}]},
        "map": {"k": 1},
        "by number": [{"key": 1, "value": "v"}],
        'odd "name"': '"quoted", and\nlines',
    }


def test_rows_of_older_files_have_null_in_a_column_added_since(tmp_path: Path) -> None:
    write(tmp_path / "a", table_of([event(0, T0)]))
    place = str(tmp_path / "a")
    wider = table_of([event(1, T0 + 1, added=5)], pa.schema([("added", pa.int64())]))
    write_deltalake(place, wider, mode="append", schema_mode="merge", partition_by=["_arrival_date"])
    rows = find_rows({"a": DeltaTable(place).to_pyarrow_dataset()}, Filter())["rows"]
    assert [row["payload"] for row in rows] == [{"added": 5}, {"added": None}]


def test_a_dataset_that_is_already_cut_stays_so(two: dict[str, Dataset], tmp_path: Path) -> None:
    cut = {name: data.filter(pc.field("_batch_id") <= 1) for name, data in two.items()}
    assert found(cut) == [A0]
    assert found(cut, fate="dropped") == []
    assert export_rows(cut, Filter(), tmp_path / "cut.csv", "csv")["rows"] == 1


# -- export


def read_csv(place: Path) -> list[dict[str, str]]:
    with place.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_csv_holds_every_match_newest_first_with_times_in_iso(two: dict[str, Dataset], tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert export_rows(two, Filter(), target, "csv") == {"path": str(target), "format": "csv", "rows": 5}
    rows = read_csv(target)
    assert [(row["_source"], row["_partition"], int(row["_offset"])) for row in rows] == [A1, B0, B1, A0, AQ]
    assert rows[3]["_reasons"] == "late;out_of_order"
    assert rows[3]["_system_timestamp"] == "2026-01-01T00:01:00.000000Z"
    assert (rows[3]["_moved_micros"], rows[0]["_moved_micros"]) == ("60000000", "")
    assert list(tmp_path.glob(".*")) == []


def test_parquet_keeps_types_and_extremes(extremes: dict[str, Dataset], tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    assert export_rows(extremes, Filter(), target, "parquet")["rows"] == 4
    table = pq.read_table(target)
    assert table["_arrival_time"].cast(pa.int64()).to_pylist() == [MAX_TIME, T0 + 123_456, MIN_TIME, None]
    assert table.schema.field("deep").type.field("list").type.value_type.field("t").type == TIME
    assert table["deep"][2].as_py()["list"][0]["n"] == float("-inf")


def test_csv_writes_nested_values_as_json_and_bytes_as_base64(extremes: dict[str, Dataset], tmp_path: Path) -> None:
    export_rows(extremes, Filter(), tmp_path / "out.csv", "csv")
    row = read_csv(tmp_path / "out.csv")[0]
    assert row["_arrival_time"] == "9999-12-31T23:59:59.999999Z"
    assert row["bytes"] == "AP8="
    assert json.loads(row["map"]) == {"k": 1}
    assert row['odd "name"'] == '"quoted", and\nlines'


def test_sources_with_other_columns_are_exported_together(tmp_path: Path) -> None:
    tables = {
        "a": write(tmp_path / "a", table_of([event(0, T0, x=1)], pa.schema([("x", pa.int64())]))),
        "b": write(tmp_path / "b", table_of([event(0, T0 + 1, y="q")], pa.schema([("y", pa.string())]))),
    }
    export_rows(tables, Filter(), tmp_path / "o.parquet", "parquet")
    assert pq.read_table(tmp_path / "o.parquet", columns=["x", "y"]).to_pylist() == [
        {"x": None, "y": "q"},
        {"x": 1, "y": None},
    ]


def test_names_that_differ_in_case_alone_are_one_exported_column(tmp_path: Path) -> None:
    tables = {
        name: write(tmp_path / name, table_of([event(0, T0 + at, **{column: at})], pa.schema([(column, pa.int64())])))
        for at, (name, column) in enumerate((("a", "v"), ("b", "V")))
    }
    export_rows(tables, Filter(), tmp_path / "o.parquet", "parquet")
    payload = pq.read_table(tmp_path / "o.parquet").select(["v"])
    assert payload.to_pylist() == [{"v": 1}, {"v": 0}]
    export_rows(tables, Filter(), tmp_path / "o.csv", "csv")
    rows = read_csv(tmp_path / "o.csv")
    assert [row["v"] for row in rows] == ["1", "0"]
    assert "v_1" not in map(str.lower, rows[0])


def test_columns_of_one_name_and_two_types_are_refused_in_parquet_only(tmp_path: Path) -> None:
    tables = {
        name: write(tmp_path / name, table_of([event(0, T0, x=value)], pa.schema([("x", kind)])))
        for name, value, kind in (("a", 1, pa.int64()), ("b", "q", pa.string()))
    }
    with pytest.raises(UsageError, match="column x"):
        export_rows(tables, Filter(), tmp_path / "o.parquet", "parquet")
    assert export_rows(tables, Filter(), tmp_path / "o.csv", "csv")["rows"] == 2
    assert list(tmp_path.glob("*o.parquet*")) == []


def test_a_payload_column_of_the_same_name_as_the_added_one_keeps_its_name(tmp_path: Path) -> None:
    payload = pa.schema([("_moved_micros", pa.string())])
    tables = {"a": write(tmp_path / "a", table_of([event(0, T0, _moved_micros="mine")], payload))}
    export_rows(tables, Filter(), tmp_path / "o.csv", "csv")
    row = read_csv(tmp_path / "o.csv")[0]
    assert (row["_moved_micros"], row["_moved_micros_"]) == ("mine", "0")


def test_an_export_filters_as_the_list_does(two: dict[str, Dataset], tmp_path: Path) -> None:
    where = Filter(reason="early", since=T0)
    assert export_rows(two, where, tmp_path / "o.csv", "csv")["rows"] == find_rows(two, where)["total"] == 1
    assert export_rows(two, Filter(partition="none"), tmp_path / "e.csv", "csv")["rows"] == 0
    assert (tmp_path / "e.csv").read_text().startswith("_source,_partition")


@pytest.mark.parametrize(("target", "form"), [("o.txt", "xlsx"), ("no/such/o.csv", "csv")])
def test_an_export_that_cannot_be_is_refused(two: dict[str, Dataset], tmp_path: Path, target: str, form: str) -> None:
    with pytest.raises(UsageError):
        export_rows(two, Filter(), tmp_path / target, form)


# -- size


def many(count: int) -> pa.Table:
    offsets = np.arange(count)
    arrivals = T0 + offsets * 100_000
    base = {
        "_partition": pa.array((offsets % 4).astype(str)),
        "_offset": pa.array(offsets),
        "_arrival_time": pa.array(arrivals, TIME),
        "_arrival_date": pa.array((arrivals // DAY).astype(np.int32)).cast(pa.date32()),
        "_disposition": pa.array(np.where(offsets % 50 == 0, "dropped", "on_time")),
        "_reasons": pa.array([["late"] if n % 50 == 0 else [] for n in range(count)], pa.list_(pa.string())),
        "_batch_id": pa.array(offsets // 1000 + 1),
        "_file": pa.array([f"readings/{n // 1000}.json" for n in range(count)]),
    }
    columns = [base.get(field.name, pa.nulls(count, field.type)) for field in COLUMNS]
    text = pa.array([f"some text of the row {n}" for n in range(count)])
    names = [*COLUMNS.names, "text"]
    return pa.Table.from_arrays([*columns, text], names=names).cast(pa.schema([*COLUMNS, ("text", pa.string())]))


@pytest.mark.long
def test_a_million_rows_are_searched_and_exported(tmp_path: Path) -> None:
    tables = {"a": write(tmp_path / "a", many(1_000_000))}
    for where in (Filter(), Filter(fate="dropped"), Filter(reason="late", since=T0 + DAY)):
        assert find_rows(tables, where)["rows"]
    assert export_rows(tables, Filter(), tmp_path / "o.parquet", "parquet")["rows"] == 1_000_000
    assert export_rows(tables, Filter(), tmp_path / "o.csv", "csv")["rows"] == 1_000_000
