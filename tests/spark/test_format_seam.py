"""A format is one value: a fifth, which no module of the product knows, is judged from landing to replay.

Its files have a line `#pairs`, then `key=value` pairs with blanks between them, one row a line.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence

import pytest
from landed import LANDED, land
from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F

from oracle import Source
from product import Product
from tidemark.config import SourceSpec
from tidemark.config.formats import FORMATS, Format
from tidemark.core.batch import LandedObject
from tidemark.errors import ConfigError
from tidemark.spark.columns import BLOCK, CORRUPT, PATH, ROW, TEXT
from tidemark.spark.read import codecs
from tidemark.spark.read.format import METADATA, FormatReader, Sight, positioned
from tidemark.spark.read.formats import READERS
from tidemark.spark.read.text_formats import has_no_line

BEGIN = "#pairs"
LOUD = Source(arrival_column=False, single=True, late=None, early=None)
verified = []


def _look(_: SourceSpec, item: LandedObject) -> Sight:
    refused = codecs.refusal(item, exact=True)
    first = next(codecs.lines(item), b"").decode()
    return Sight(refused or (None if first == BEGIN else f"it begins with {first!r}, not with {BEGIN}"))


def _scan(reader: DataFrameReader, _: SourceSpec, paths: Sequence[str], __: Sight) -> DataFrame:
    return reader.text(list(paths)).where(F.col("value") != BEGIN)


def _parse(source: SourceSpec, found: DataFrame, _: Sight, share: float) -> DataFrame:
    rows = positioned(found, F.col(METADATA), share, F.col("value"))
    texts = {column.name: _text(column.name) for column in source.columns}
    values = {column.name: texts[column.name].try_cast(column.type) for column in source.columns}
    lost = [texts[name].isNotNull() & value.isNull() for name, value in values.items()]
    corrupt = F.exists(F.array(*lost), lambda each: each).alias(CORRUPT)
    payload = [value.alias(name) for name, value in values.items()]
    return rows.select(*payload, corrupt, F.col("value").alias(TEXT), PATH, BLOCK, ROW)


def _text(name: str) -> Column:
    found = F.regexp_extract("value", rf"(?:^| ){name}=(\S*)", 1)
    return F.when(found != "", found)


def _verify(item: LandedObject) -> None:
    verified.append(item.uri)
    codecs.read_through(item)


def _is_bare(_: SourceSpec, item: LandedObject) -> bool:
    return has_no_line(item, b" ", headers=1)


PAIRS = FormatReader(look=_look, scan=_scan, parse=_parse, verify=_verify, is_bare=_is_bare)
"""All that reading needs to know of the format."""

FILES = {
    "a.pairs": f"{BEGIN}\ne=2026-05-28T20:00:00Z n=1\ne=2026-05-28T20:00:02Z n=two\nn=3 e=2026-05-28T20:00:01Z\n",
    "b.pairs": f"{BEGIN}\n",
    "c.pairs.gz": gzip.compress(f"{BEGIN}\ne=2026-05-28T20:00:03Z n=4\n".encode(), mtime=0)[:-8],
    "d.pairs": "e=2026-05-28T20:00:03Z n=5\n",
    "e.pairs.gz": gzip.compress(f"{BEGIN}\ne=2026-05-28T20:00:03Z n=6\n".encode(), mtime=0),
}


@pytest.fixture
def pairs(monkeypatch):
    """The format, by an entry in the table of facts and one among the readers."""
    monkeypatch.setitem(FORMATS, "pairs", Format("pairs", frozenset({"dateFormat"}), text=True))
    monkeypatch.setitem(READERS, "pairs", PAIRS)


@pytest.mark.usefixtures("quick", "pairs")
def test_rows_of_a_fifth_format_are_judged_and_replayed(tmp_path):
    product = Product(tmp_path, {"s": LOUD})
    product.write(s={"format": "pairs", "schema": "e TIMESTAMP, n INT"})
    land(tmp_path / "landing/s", FILES)
    (batch,) = product.run(LANDED + 1)["batches"]
    assert (batch["rows"], batch["quarantined"]) == (6, 3)
    events = product.events("s")
    assert [(row["_file"], row["n"], row["_disposition"]) for row in events if row["n"]] == [
        ("a.pairs", 1, "on_time"),
        ("a.pairs", 3, "on_time"),
        ("e.pairs.gz", 6, "on_time"),
    ]
    raw = {row["_file"]: row["_raw"] for row in events if row["_disposition"] == "quarantined"}
    assert raw["a.pairs"] == "e=2026-05-28T20:00:02Z n=two"
    assert raw["c.pairs.gz"].startswith("object cannot be read: it is cut off or damaged")
    assert raw["d.pairs"].startswith("object cannot be read: it begins with 'e=2026")
    assert "c.pairs.gz" in verified
    states = {row["uri"]: row["state"] for row in product.table("objects")}
    assert states == {name: "quarantined" if name[0] in "cd" else "read" for name in FILES}
    assert not [row for row in product.table("diagnostics") if row["type"] == "ObjectWithoutRows"]
    assert product.pipeline().replay()["identical"]


@pytest.mark.usefixtures("pairs")
def test_settings_and_their_messages_know_a_fifth_format(tmp_path):
    product = Product(tmp_path, {"s": LOUD})
    mistaken = {
        "rows": "Records[]", "rescue": "_more", "header_columns": {"N": "n"}, "options": {"header": "true"},
    }  # fmt: skip
    product.write(s={"format": "pairs", "schema": "e TIMESTAMP, n INT", **mistaken})
    with pytest.raises(ConfigError) as caught:
        product.pipeline()
    assert {problem.key.split(".")[2]: problem.message for problem in caught.value.problems} == {
        "rows": "is for format json: the rows of pairs are not nested; remove it",
        "rescue": "is for format json: pairs has no members outside the schema to keep; remove it",
        "header_columns": "is for csv and json: pairs files name their columns themselves, as the schema must",
        "options": "'header' is not a reader option that can be set for pairs. There are: dateFormat",
    }
    with pytest.raises(ValueError, match="'xml' is not allowed: write json, csv, parquet, orc or pairs"):
        SourceSpec.model_validate({"landing": "/", "format": "xml", "schema": "n INT"})


def test_each_format_has_a_reader():
    assert FORMATS.keys() == READERS.keys()
    assert all(form.name == name for name, form in FORMATS.items())
