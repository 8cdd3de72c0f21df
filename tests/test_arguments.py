"""Arguments of the Python verbs: a wrong one is named, and what a person passes is taken."""

from __future__ import annotations

import pytest

from tidemark import Pipeline
from tidemark.errors import TidemarkError, UsageError

CONFIG = """
pipeline: asked
warehouse: ./warehouse
sources:
  readings: {landing: ./landing, format: json, schema: "v STRING"}
"""


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    (tmp_path / "landing").mkdir()
    (tmp_path / "p.yml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    found = Pipeline.load("p.yml")
    found.run()
    return found


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda p: p.rows(fates="dropped"), "rows has no argument 'fates'", "did you mean 'fate'"),
        (lambda p: p.rows(Source="readings"), "rows has no argument 'Source'", "did you mean 'source'"),
        (lambda p: p.rows(limit="many"), "limit is 'many'", "whole number of 0 or more"),
        (lambda p: p.rows(limit=True), "limit is True", "whole number"),
        (lambda p: p.rows(partition=1.5), "1.5 is not a partition", "its name"),
        (lambda p: p.rows(batch=0), "batch is 0", "whole number of 1 or more"),
        (lambda p: p.rows(since=1.5), "1.5 is not a time", "ISO 8601"),
        (lambda p: p.export_rows(3, "csv"), "target is 3", "path"),
        (lambda p: p.explain("readings", "0", "first"), "offset is 'first'", "whole number"),
        (lambda p: p.report(out=3), "out is 3", "path"),
        (lambda p: p.advise(target_droped="1%"), "advise has no argument 'target_droped'", "'target_dropped'"),
        (lambda p: p.replay(every=True), "replay has no argument 'every'", "all"),
        (lambda p: p.backfill("2026-01-01T00:00:00Z", sets=["a=b"]), "backfill has no argument 'sets'", "'set'"),
        (lambda p: p.backfill("2026-01-01T00:00:00Z", set=[3]), "set has 3 in it", "text"),
        (lambda p: p.promote("two"), "version is 'two'", "whole number"),
        (lambda _: Pipeline("p.yml"), "a pipeline is not made from 'p.yml'", "Pipeline.load"),
        (lambda _: Pipeline.load(3), "path is 3", "path"),
    ],
)
def test_an_argument_that_cannot_be_is_named_with_what_to_give(pipeline, call, message, hint):
    with pytest.raises(UsageError) as caught:
        call(pipeline)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_what_a_person_passes_is_taken(pipeline, tmp_path):
    assert pipeline.rows(limit=None, partition=0)["total"] == 0
    assert pipeline.report(out="page.html")["path"] == "page.html"
    assert (tmp_path / "page.html").is_file()
    assert pipeline.replay(all=True)["identical"]
    for partition in (0, "0"):
        with pytest.raises(TidemarkError, match="events/readings"):
            pipeline.explain("readings", partition, 2)
