"""Landing files that nobody would write: each row, or else its object, is judged or quarantined, nothing is lost."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from samples import at, hold_conservation, hold_replay

from oracle import SECOND, Source
from product import Product

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = Source(
    late=(4 * SECOND, "adjust"), out_of_order=(2 * SECOND, "adjust"), landing_delay=SECOND, single=True, partitions=()
)
SCHEMA = "k STRING, e TIMESTAMP, a TIMESTAMP, n INT, d DECIMAL(6,2), f DOUBLE"
LANDED = at(20)
GOOD = {"k": "x", "e": "2026-01-01T00:00:19Z", "a": "2026-01-01T00:00:20Z", "n": 1, "d": 1.5, "f": 2.5}

TIMES = [
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "+10000-01-01T00:00:00Z",
    "-0001-01-01T00:00:00Z",
    "2016-12-31T23:59:60Z",
    "2026-02-29T00:00:00Z",
    "2026-01-01T00:00:19+14:00",
    "2026-01-01T00:00:19+99:00",
    "2026-03-29T02:30:00",
    "2026-01-01T00:00:19.123456789Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01",
    "19",
    "",
    "now",
    " ",
    "\uff12\uff10\uff12\uff16-01-01T00:00:19Z",
    1_767_225_619,
    -1e30,
    None,
    [],
    {},
    True,
]
NUMBERS = [0, -0.0, 2**31, -(2**63), 1e308, "1", "NaN", "Infinity", 99999.99, 1e-30, "0x10", None, [1], True]
NAMES = [
    "two words",
    "ä ö 😀",
    "100%",
    "%2e%2e",
    "a..b",
    "new\nline",
    "tab\t",
    "q?s#f",
    "{a,b}",
    "[x]*",
    "back\\slash",
    "c:d",
    "'\"`$(x)",
    "x" * 250,
    "-rf",
    "a=b",
    "\u202eright",
]


def mutated(content: bytes, dice: Random) -> bytes:
    """The bytes with some of them changed, left out, doubled or added."""
    found = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        place = dice.randrange(len(found) + 1)
        match dice.randint(0, 3):
            case 0:
                found[place : place + 1] = bytes([dice.randrange(256)])
            case 1:
                del found[place : place + dice.randint(1, 20)]
            case 2:
                found[place:place] = found[place : place + 10]
            case _:
                found[place:place] = dice.randbytes(dice.randint(1, 8))
    return bytes(found)


def json_objects(dice: Random) -> dict[str, bytes]:
    """Lines of odd values, and lines of which bytes are changed."""
    times = [GOOD | {key: value} for key in ("e", "a") for value in TIMES]
    odd = times + [GOOD | {key: value} for key in ("n", "d", "f", "k") for value in NUMBERS]
    good = "\n".join(json.dumps(GOOD) for _ in range(5)).encode()
    broken = {f"broken-{number:02}.json": mutated(good, dice) for number in range(25)}
    return {"odd.json": b"\n".join(json.dumps(row).encode() for row in odd), **broken}


def csv_objects(dice: Random) -> dict[str, bytes]:
    line = ",".join(map(str, GOOD.values()))
    good = "\n".join([",".join(GOOD), *[line] * 5, '"a,b",,,,,']).encode()
    found = {f"broken-{number:02}.csv": mutated(good, dice) for number in range(15)}
    zipped = gzip.compress(good, mtime=0)
    return found | {f"zipped-{number:02}.csv.gz": mutated(zipped, dice) for number in range(5)} | {"good.csv": good}


def columnar_objects(write: Callable[[pa.Table, Path], None], suffix: str, folder: Path) -> dict[str, bytes]:
    moment = datetime(2026, 1, 1, 0, 0, 19, tzinfo=UTC)
    rows = pa.table(
        {
            "k": ["x", None, "y"],
            "e": pa.array([moment, None, moment + timedelta(days=9999)], pa.timestamp("us", "UTC")),
            "a": pa.array([moment] * 3, pa.timestamp("us", "UTC")),
            "n": pa.array([1, None, 3], pa.int32()),
            "d": pa.array([None] * 3, pa.decimal128(6, 2)),
            "f": [1.0, float("nan"), float("-inf")],
        }
    )
    path = folder / f"good.{suffix}"
    write(rows, path)
    good, dice = path.read_bytes(), Random(3)  # noqa: S311 - the same bytes each time
    return {f"broken-{number:02}": mutated(good, dice) for number in range(15)} | {"good": good}


def lay(folder: Path, objects: dict[str, bytes]) -> None:
    for name, content in objects.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(LANDED * 1000, LANDED * 1000))


def hold_all_taken(product: Product, landed: dict[str, set[str]]) -> None:
    """Each object was read or quarantined whole, with a reason that people can read, and all counts agree."""
    states = {(row["source"], row["uri"]): row["state"] for row in product.table("objects")}
    assert set(states) == {(name, uri) for name, uris in landed.items() for uri in uris}
    assert set(states.values()) <= {"read", "quarantined"}
    for name in landed:
        for row in product.events(name):
            assert row["_disposition"] in ("on_time", "adjusted", "dropped", "quarantined")
            if row["_disposition"] == "quarantined":
                assert row["_reasons"]
                assert row["_raw"] is not None
                assert "\tat " not in row["_raw"]
    hold_conservation(product)
    hold_replay(product)
    assert product.pipeline().replay(input="events")["identical"]


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)]
)
def test_rows_of_any_bytes_and_values_are_judged_or_quarantined(tmp_path, seed):
    dice = Random(seed)  # noqa: S311 - the same bytes each time
    product = Product(tmp_path / "p", dict.fromkeys(("json", "csv", "parquet", "orc"), SOURCE))
    formats = {name: {"format": name, "schema": SCHEMA} for name in product.sources}
    formats["csv"]["options"] = {"header": "true"}
    product.write(**formats)
    objects = {
        "json": json_objects(dice),
        "csv": csv_objects(dice),
        "parquet": columnar_objects(parquet.write_table, "parquet", tmp_path),
        "orc": columnar_objects(orc.write_table, "orc", tmp_path),
    }
    for name, found in objects.items():
        lay(product.folder / "landing" / name, found)
    product.run(at(30))
    hold_all_taken(product, {name: set(found) for name, found in objects.items()})
    fates = Counter(row["_disposition"] for row in product.events("json"))
    assert fates["quarantined"] > 20
    assert fates["adjusted"] + fates["on_time"] > 20


def test_objects_of_any_name_are_taken(tmp_path):
    product = Product(tmp_path / "p", {"s": SOURCE})
    product.write(s={"schema": SCHEMA})
    names = {f"{folder}{name}.json" for name in NAMES for folder in ("", "a b/", "d=%/")}
    lay(product.folder / "landing" / "s", {name: json.dumps(GOOD | {"k": name}).encode() for name in names})
    product.run(at(30))
    hold_all_taken(product, {"s": names})
    judged = {row["_file"]: row["k"] for row in product.events("s") if row["_disposition"] != "quarantined"}
    assert all(uri == key for uri, key in judged.items())
    assert len(judged) > len(names) / 2


@pytest.mark.long
def test_rows_of_ten_megabytes_are_judged_or_quarantined(tmp_path):
    product = Product(tmp_path / "p", {"json": SOURCE, "csv": SOURCE})
    product.write(**{name: {"format": name, "schema": SCHEMA} for name in product.sources})
    long = GOOD | {"k": "x" * 10_000_000}
    rows = {
        "json": [json.dumps(GOOD), json.dumps(long), json.dumps(long)[:-2]],
        "csv": [",".join(map(str, row.values())) for row in (GOOD, long, GOOD | {"e": long["k"]})],
    }
    for name, lines in rows.items():
        lay(product.folder / "landing" / name, {"long": "\n".join(lines).encode()})
    product.run(at(30))
    hold_all_taken(product, {name: {"long"} for name in rows})
    for name in rows:
        first, second, third = product.events(name)
        assert (first["k"], second["k"]) == ("x", long["k"])
        assert third["_disposition"] == "quarantined"
        assert len(third["_raw"]) > 10_000_000
