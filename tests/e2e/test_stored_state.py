"""What earlier versions of the product have stored is read: their runs are finished, replayed and carried on."""

from __future__ import annotations

import json
import tarfile

import pytest

import stored
from tidemark.cli import invoke
from tidemark.pipeline import Pipeline

pytestmark = [pytest.mark.usefixtures("quick"), pytest.mark.long]
FILES = sorted(stored.DATA.glob("*.tar.gz"))


def test_there_is_something_stored():
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_what_was_stored_is_carried_on_as_by_the_version_that_stored_it(tmp_path, file):
    with tarfile.open(file) as archive:
        archive.extractall(tmp_path, filter="data")
    expected = json.loads((tmp_path / stored.EXPECTED).read_text())
    stored.carry_on(tmp_path)
    assert stored.digests(tmp_path, expected["columns"]) == expected["digests"]
    config = tmp_path / "pipeline.yml"
    for asked in (["status"], ["versions"], ["rows", "--limit", "5"], ["rows", "--fate", "adjusted"]):
        assert invoke([asked[0], str(config), *asked[1:]]) == 0
    replayed = Pipeline.load(config, {}).replay(all_batches=True)
    assert replayed["identical"]
    assert [each["digest_version"] for each in replayed["batches"]] == [1] * (stored.RUNS - 1) + [2, 2]
    assert Pipeline.load(config, {}).promote(2)["brought_up"] == [stored.RUNS, stored.RUNS + 1]
    assert Pipeline.load(config, {}).promote(1)["live"] == 1
