"""Commands that do not compare the file with the recorded settings go by those, whatever the file says meanwhile.

Without Spark, in a warehouse of an earlier tidemark."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from ruamel.yaml import YAML

import stored
from tidemark.commands import maintain as upkeep
from tidemark.commands import recover
from tidemark.commands.abandon import Abandonment
from tidemark.commands.repair.repair import TableRepair
from tidemark.commands.replay import Replay
from tidemark.commands.versions import NONE
from tidemark.context import RunContext
from tidemark.core.batch import Batch, RunPlan
from tidemark.core.batch_result import writer_of
from tidemark.core.times import DAY, SECOND
from tidemark.errors import UsageError
from tidemark.ledger import versions
from tidemark.ledger.lost_commits import left_notes
from tidemark.ledger.tables.commits import commit_properties
from tidemark.pipeline import Pipeline
from tidemark.spark.rebuild import repair, truncate

FILE = sorted(stored.DATA.glob("*.tar.gz"))[0]


@pytest.fixture
def context(tmp_path) -> RunContext:
    with tarfile.open(FILE) as archive:
        archive.extractall(tmp_path / "p", filter="data")
    return Pipeline.load(tmp_path / "p" / "pipeline.yml", {}).context


def edited(context: RunContext) -> RunContext:
    """The pipeline once its file has lost all sources but one, which has another tolerance."""
    yaml, file = YAML(), Path(context.spec.path)
    content = yaml.load(file)
    for name in ("readings", "gates"):
        del content["sources"][name]
    for name in ("good", "passing"):
        del content["streams"][name]
    content["sources"]["kept"]["out_of_order"]["tolerance"] = "7s"
    content["retention"] = {"events": "9d"}
    with file.open("w") as out:
        yaml.dump(content, out)
    found = Pipeline.load(file, {}).context
    found.__dict__["engine"] = SimpleNamespace(spark=None)  # whatever asks for Spark is replaced
    return found


def planned(context: RunContext) -> int:
    """Plan a run that takes one object of `readings`; returns its batch."""
    tail = context.ledger.last()
    objects = [
        item for item in context.ledger.objects_of(context.ledger.batches(1, 1)[0]) if item.source == "readings"
    ]
    plan = RunPlan("next", (tail.as_of or 0) + SECOND, (Batch(tail.next_batch_id, (objects[0],)),))
    context.ledger.plan(plan, context.planning.records(plan, context.spec))
    return tail.next_batch_id


@pytest.mark.parametrize("version", [1, 2])
def test_maintenance_goes_by_the_settings_of_the_live_version_and_todays_retention(context, monkeypatch, version):
    versions.promote(context.root, version, 0)
    monkeypatch.setattr(upkeep, "maintained", lambda maintenance, *_: maintenance.spec)
    monkeypatch.setattr(upkeep, "planned", lambda maintenance, *_: maintenance.spec)
    now = edited(context)
    for dry_run in (False, True):
        spec: Any = upkeep.maintain(now, dry_run=dry_run)
        assert spec.retention.events == 9 * DAY
        assert spec.sources.keys() == {"readings", "kept", "gates"}
        assert spec.sources["kept"].out_of_order.tolerance == SECOND


def test_nothing_is_recorded_before_the_first_run(context, tmp_path):
    file = tmp_path / "new" / "pipeline.yml"
    file.parent.mkdir()
    file.write_text(Path(context.spec.path).read_text())
    assert upkeep.maintain(Pipeline.load(file, {}).context, dry_run=True) == {"dry_run": True, "tables": {}}


def test_a_recovery_finds_objects_of_a_source_that_the_file_has_lost(context, monkeypatch):
    planned(context)
    found: list[Path] = []

    def run(_spec: Any, ledger: Any, _engine: Any, _outputs: Any, locate: Any, *_more: Any) -> Any:
        def execute(records: Any, _recovering: bool) -> list[Any]:
            found.extend(Path(locate(item).path) for record in records for item in ledger.objects_of(record))
            return []

        return SimpleNamespace(execute=execute)

    monkeypatch.setattr(recover, "Run", run)
    recover.recover(edited(context))
    assert found
    assert all(path.is_file() for path in found)


def test_an_abandonment_withdraws_states_of_a_source_that_the_file_has_lost(context, monkeypatch):
    batch, place = planned(context), context.ledger.folder / "substreams"
    table = pa.schema(DeltaTable(place).schema()).empty_table()
    write_deltalake(place, table, mode="append", commit_properties=commit_properties(writer_of("readings"), batch))
    withdrawn, fenced = [], []
    monkeypatch.setattr(repair, "withdraw", lambda _spark, table, *_: withdrawn.append(Path(table).name))
    monkeypatch.setattr(repair, "know", lambda _spark, table, writer, _: fenced.append((Path(table).name, writer)))
    monkeypatch.setattr(RunContext, "holds_lease", True)
    Abandonment(edited(context)).abandon("next", "its source is gone")
    assert withdrawn == ["substreams"]
    assert ("substreams", writer_of("kept")) in fenced


def test_a_repair_makes_states_again_under_the_recorded_settings(context, monkeypatch):
    next((context.ledger.folder / "substreams").glob("*.parquet")).unlink()
    taken = {}
    monkeypatch.setattr(truncate, "write_substreams", lambda _spark, _root, sources, *_: taken.update(sources) or 0)
    monkeypatch.setattr(repair, "know", lambda *_: None)
    assert TableRepair(edited(context), NONE).repair()["repaired"][0]["table"] == "substreams"
    assert taken.keys() == {"readings", "kept", "gates"}
    assert taken["kept"].out_of_order.tolerance == SECOND


def test_a_repair_looks_for_events_of_a_source_that_the_file_has_lost_until_they_are_back(context, monkeypatch):
    place = context.ledger.folder / "events" / "readings"
    copy = shutil.copytree(place, place.with_name("copy"))
    copy = copy.rename(context.root.parent / "copy")
    next(place.rglob("*.parquet")).unlink()
    paths: list[Path] = []

    def recomputed(_self: Replay, _record: Any, objects: Any, *_: Any) -> Any:
        paths.extend(Path(item.path) for item in objects if item.source == "readings")
        raise UsageError("no Spark")

    monkeypatch.setattr(Replay, "recomputed", recomputed)
    now = edited(context)
    for attempt in (1, 2):
        found = TableRepair(now, NONE).repair()
        assert {each["table"] for each in found["left"]} == {"events/readings"}
        assert len(paths) == attempt * len({*paths}) > 0
        (named,) = left_notes(now.ledger)
        assert "the table events/readings is damaged: repair could not put back rows of batch 1:" in named
    assert all("landing" in path.parts for path in paths)
    shutil.rmtree(place)
    copy.rename(place)
    now.ledger.store("events/readings").close()
    assert TableRepair(now, NONE).repair()["left"] == left_notes(now.ledger) == []
