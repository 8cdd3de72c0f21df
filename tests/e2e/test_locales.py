"""Java's default locale changes nothing: neither the letters that expressions give nor the names of Delta's files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tidemark.pipeline import Pipeline
from tidemark.spark.compat.jvm import running

CONFIG = """
pipeline: p
warehouse: ./warehouse
sources:
  s: {landing: ./landing, format: json, schema: "k STRING, t TIMESTAMP", timestamp_by: t,
      partition: {column: lower(k)}, late_arrival: {tolerance: 20d, action: adjust}}
streams:
  letters: {from: s, publish: true, select: {up: upper(k), first: initcap(k), of: "format_string('%d', length(k))"}}
"""
DOTLESS = "\N{LATIN SMALL LETTER DOTLESS I}"
WORDS = ("TITLE", "ijs", "άλφα", f"{DOTLESS}I")
"""Turkish has two more i, Dutch capitals of ij, Greek capitals without accents."""


def run_in(folder: Path, tag: str) -> list[dict[str, Any]]:
    """The rows of a run in a JVM with a locale, which is left as it was."""
    folder.mkdir()
    (folder / "p.yml").write_text(CONFIG)
    (folder / "landing").mkdir()
    rows = [{"k": word, "t": "2026-01-01T00:00:00Z"} for word in WORDS]
    (folder / "landing" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(folder / "landing" / "a.json", (1_767_225_600, 1_767_225_600))
    locales = running().java.util.Locale
    before = locales.getDefault()
    locales.setDefault(locales.forLanguageTag(tag))
    try:
        pipeline = Pipeline.load(folder / "p.yml")
        pipeline.run(as_of="2026-01-02T00:00:00Z")
        pipeline.close(as_of="2026-01-03T00:00:00Z")
    finally:
        locales.setDefault(before)
    assert all(path.name.isascii() for path in (folder / "warehouse").rglob("*.json"))
    return sorted(pipeline.table("streams/letters").to_table().to_pylist(), key=str)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("tag", ["ar-EG-u-nu-arab", "tr-TR"])
def test_rows_do_not_depend_on_java_s_locale(tmp_path, spark, tag):  # noqa: ARG001 - a JVM that runs
    english, other = run_in(tmp_path / "english", "en-US"), run_in(tmp_path / "other", tag)
    assert [(row["_partition"], row["up"], row["first"], row["of"]) for row in english] == [
        ("ijs", "IJS", "Ijs", "3"),
        ("title", "TITLE", "Title", "5"),
        (f"{DOTLESS}i", "II", "Ii", "2"),
        ("άλφα", "ΆΛΦΑ", "Άλφα", "4"),
    ]
    assert other == english
