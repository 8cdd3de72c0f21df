"""Names of tables without Spark, in a warehouse of an earlier tidemark: the link, its readers, statements, `path`."""

from __future__ import annotations

import errno
import json
import shlex
import shutil
import tarfile
import threading
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

import stored
from tidemark.cli import invoke
from tidemark.commands import maintain as upkeep
from tidemark.commands.names.follow import ensure_movable, follow
from tidemark.commands.names.published import follow_link
from tidemark.errors import TidemarkError, UsageError
from tidemark.ledger import versions
from tidemark.pipeline import Pipeline
from tidemark.storage.folders import tables_below

FILE = sorted(stored.DATA.glob("*.tar.gz"))[0]
TABLE = "events/readings"


@pytest.fixture
def pipeline(tmp_path) -> Pipeline:
    """A pipeline with two versions, of which the first is live."""
    with tarfile.open(FILE) as archive:
        archive.extractall(tmp_path / "p", filter="data")
    return Pipeline.load(tmp_path / "p" / "pipeline.yml", {})


def root_of(pipeline: Pipeline) -> Path:
    return Path(str(pipeline.root))


def switch(pipeline: Pipeline, version: int) -> Pipeline:
    """Make a version live and do nothing else, as a promotion that dies does."""
    versions.promote(pipeline.root, version, 0)
    return Pipeline.load(pipeline.spec.path, {})


def rows(place: Path) -> list[str]:
    return sorted(map(repr, DeltaTable(place).to_pyarrow_table().to_pylist()))


def test_path_warns_of_a_path_that_stays_and_gives_the_name_that_follows(pipeline, capsys):
    config, folder = str(pipeline.spec.path), root_of(pipeline)
    assert invoke(["path", config, TABLE]) == 0
    said = capsys.readouterr()
    assert said.out == f"{folder}/v1/{TABLE}\n"
    register = shlex.join(["tidemark", "register", config])
    assert said.err == (
        f"{folder}/v1/{TABLE} does not follow `promote`: read a name that `{register}` makes instead\n"
    )
    assert invoke(["register", config]) == 0
    assert f"{folder}/published/TABLE follows `promote`." in capsys.readouterr().out.replace("\n", "")
    assert invoke(["path", config, TABLE, "--json"]) == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    assert (record["path"], record["names"]) == (f"{folder}/v1/{TABLE}", [f"{folder}/published/{TABLE}"])
    assert record["warnings"] == [
        f"{folder}/v1/{TABLE} does not follow `promote`: read {folder}/published/{TABLE} instead"
    ]
    assert said.err == ""


def test_the_link_follows_and_is_neither_data_nor_damage(pipeline):
    folder = root_of(pipeline)
    before = tables_below(folder), versions.numbers(folder), pipeline.verify()["findings"]
    assert pipeline.register()["published"] == f"{folder}/published"
    after = tables_below(folder), versions.numbers(folder), pipeline.verify()["findings"]
    assert after == before
    for number in (2, 1):
        switched = switch(pipeline, number)
        assert f"not to version {number}" in switched.status()["names"][0]
        assert follow(switched.context) == switched.status()["names"] == []
        assert rows(folder / "published" / TABLE) == rows(folder / f"v{number}" / TABLE)
    assert rows(folder / "v1" / TABLE) != rows(folder / "v2" / TABLE)
    moved = Path(shutil.copytree(folder.parents[1], folder.parents[2] / "moved", symlinks=True))
    assert (moved / "warehouse/stored/published").resolve() == moved / "warehouse/stored/v1"


def test_nothing_is_made_in_a_warehouse_that_did_not_ask_for_names(pipeline):
    before = sorted(root_of(pipeline).iterdir())
    assert follow(pipeline.context) == []
    assert pipeline.status()["names"] == []
    assert sorted(root_of(pipeline).iterdir()) == before


@pytest.mark.parametrize(
    "read",
    [lambda place: DeltaTable(place).to_pyarrow_table(), lambda place: pl.scan_delta(place).collect().to_arrow()],
    ids=["delta-rs", "polars"],
)
def test_a_reader_of_the_link_never_fails_while_versions_are_promoted(pipeline, read):
    folder = root_of(pipeline)
    pipeline.register()

    def read_sorted(place: Path) -> list[str]:
        return sorted(map(repr, read(str(place)).select(["_partition", "_offset", "_disposition"]).to_pylist()))

    known = [read_sorted(folder / f"v{number}" / TABLE) for number in (1, 2)]
    ended = threading.Event()

    def promote() -> None:
        while not ended.is_set():
            for number in (2, 1):
                follow_link(folder, number)

    promoting = threading.Thread(target=promote)
    promoting.start()
    try:
        found = [read_sorted(folder / "published" / TABLE) for _ in range(60)]
    finally:
        ended.set()
        promoting.join()
    assert [each for each in found if each not in known] == []


def test_no_name_leads_to_a_version_that_retention_removes(pipeline, monkeypatch):
    folder, config = root_of(pipeline), Path(pipeline.spec.path)
    pipeline.register()
    config.write_text(f"{config.read_text()}\nretention: {{versions: 1}}\n")
    monkeypatch.setattr(upkeep, "maintained", lambda *_given: {})  # the rest of maintenance needs Spark
    upkeep.maintain(switch(pipeline, 2).context)
    assert not (folder / "v1").exists()
    assert (folder / "published").resolve() == folder / "v2"


def test_a_copy_that_followed_the_link_is_named_before_anything_is_promoted(pipeline):
    folder = root_of(pipeline)
    pipeline.register()
    (folder / "published").unlink()
    shutil.copytree(folder / "v1", folder / "published")
    for refused in (pipeline.register, lambda: ensure_movable(pipeline.context)):
        with pytest.raises(TidemarkError, match="no link to the live version") as failed:
            refused()
        assert failed.value.where == f"{folder}/published"
    assert follow(pipeline.context) == pipeline.status()["names"] != []


def test_a_file_system_without_links_has_no_path_that_follows(pipeline, monkeypatch, capsys):
    def refuse(_self: Path, _target: str) -> None:
        raise OSError(errno.ENOTSUP, "no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert invoke(["register", str(pipeline.spec.path)]) == 0
    assert "no path follows `promote`" in capsys.readouterr().out
    assert not (root_of(pipeline) / "published").exists()


def test_paths_and_statements_of_any_length_are_printed_on_one_line(pipeline, capsys):
    long = root_of(pipeline).parents[2] / ("n" * 200) / ("m" * 200)
    long.parent.mkdir()
    config = Path(shutil.move(Path(pipeline.spec.path).parent, long)) / "pipeline.yml"
    assert invoke(["path", str(config), TABLE]) == 0
    assert capsys.readouterr().out == f"{config.parent}/warehouse/stored/v1/{TABLE}\n"
    assert invoke(["register", str(config), "--catalog", "main", "--sql"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(";\n") == printed.count("\n") > 10


def test_statements_for_a_person_are_printed_alone_quoted_and_asked_for_again(pipeline, capsys):
    config, folder = str(pipeline.spec.path), root_of(pipeline)
    odd = "main`; DROP SCHEMA x; --"
    assert invoke(["register", config, "--catalog", odd, "--schema", "s", "--sql"]) == 0
    schema, *views = capsys.readouterr().out.splitlines()
    assert schema == "CREATE SCHEMA IF NOT EXISTS `main``; DROP SCHEMA x; --`.`s`;"
    name = "`main``; DROP SCHEMA x; --`.`s`.`events_readings`"
    parts = [
        f"CREATE OR REPLACE VIEW {name} WITH SCHEMA EVOLUTION AS",
        f"SELECT * FROM delta.`{folder}/v1/{TABLE}`",  # noqa: S608 # only compared
        "WHERE `_batch_id` <=",
        f"(SELECT max(`batch_id`) FROM delta.`{folder}/v1/batches`",  # noqa: S608
        "WHERE `status` = 'committed');",
    ]
    assert " ".join(parts) in views
    assert not [view for view in views if "_plans`" in view or "open_lifetimes" in view]
    assert pipeline.path(TABLE)["names"] == [f"{folder}/published/{TABLE}"]
    switched = switch(pipeline, 2)
    (again,) = follow(switched.context)
    command = shlex.join(["tidemark", "register", config, "--catalog", odd, "--schema", "s", "--sql"])
    assert again.endswith(f"do not show all of version 2: run the statements that `{command}` prints")
    assert switched.register(odd, schema="s", sql=True)["names"] == []
    assert switched.register(odd, schema="s", forget=True)["names"] == []
    with pytest.raises(UsageError, match="no views are registered"):
        switched.register(odd, schema="s", forget=True)


@pytest.mark.parametrize("asked", [["--sql"], ["--schema", "x"], ["--forget"], ["--catalog", ""]])
def test_views_need_a_catalog(pipeline, asked):
    assert invoke(["register", str(pipeline.spec.path), *asked]) == 2


def test_before_the_first_run_there_is_nothing_to_name(pipeline):
    shutil.rmtree(root_of(pipeline))
    with pytest.raises(UsageError, match="no run is committed"):
        pipeline.register()


def test_a_record_of_views_that_cannot_be_read_is_named(pipeline):
    pipeline.register("main", sql=True)
    place = root_of(pipeline) / "registered.json"
    place.write_text("[{")
    with pytest.raises(TidemarkError, match="cannot be read") as failed:
        pipeline.status()
    assert failed.value.where == str(place)
