"""`tidemark verify` and its bundle: what people, programs and auditors get."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from samples import KEYED, at, fork, obj

from product import Product
from tidemark.cli import invoke
from tidemark.core.times import format_time
from tidemark.errors import TidemarkError
from tidemark.pipeline import Pipeline

pytestmark = pytest.mark.spark


def audited(bundle: Path, folder: Path) -> tuple[int, str]:
    """What a Python without tidemark, pyarrow or anything else says of a bundle."""
    with zipfile.ZipFile(bundle) as packed:
        packed.extract("verify.py", folder)
    command = [sys.executable, "-I", "-S", str(folder / "verify.py"), str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603 - own python
    assert done.stderr == ""
    return done.returncode, done.stdout


def repacked(bundle: Path, name: str, content: bytes) -> Path:
    """The bundle with one of its files replaced."""
    other = bundle.with_name("other.zip")
    with zipfile.ZipFile(bundle) as packed, zipfile.ZipFile(other, "w") as changed:
        for each in packed.namelist():
            changed.writestr(each, content if each == name else packed.read(each))
    return other


@pytest.fixture
def bundle(made, tmp_path) -> Path:
    record = made.product.pipeline().verify(bundle=tmp_path / "audit.zip")
    assert record["sound"]
    assert record["chain"] == made.head
    return tmp_path / "audit.zip"


def test_an_auditor_needs_python_alone(made, bundle, tmp_path):
    status, said = audited(bundle, tmp_path)
    assert status == 0
    assert said.startswith("Sound: 6 batches, ")
    assert said.endswith(f"{made.head}\n")


@pytest.mark.parametrize(
    ("name", "before", "after", "found"),
    [
        ("batches.jsonl", '"adjusted": ', '"adjusted": 1', "batches, batch 1"),
        ("objects.jsonl", '"size": ', '"size": 1', "objects, batch"),
        ("watermarks.jsonl", '"next_offset": ', '"next_offset": 1', "watermarks, batch"),
        ("logs/events/keyed/00000000000000000001.json", '"size":', '"size":1', "events/keyed, batch"),
        ("files.jsonl", '"sha256": "', '"sha256": "0', "batch"),
    ],
)
def test_an_auditor_finds_what_was_changed_in_a_bundle(bundle, tmp_path, name, before, after, found):
    with zipfile.ZipFile(bundle) as packed:
        text = packed.read(name).decode()
    assert before in text
    status, said = audited(repacked(bundle, name, text.replace(before, after).encode()), tmp_path)
    assert (status, said.startswith("NOT SOUND")) == (1, True)
    assert found in said


def test_people_and_programs_get_the_answer_first_and_what_to_do(made, tmp_path, capsys):
    product = fork(made.product, tmp_path / "copy")
    assert invoke(["verify", str(product.config)]) == 0
    assert capsys.readouterr().out.startswith("Sound: 6 batches, ")
    (file, *_) = sorted((product.folder_of("events/plain")).rglob("*.parquet"))
    file.unlink()
    assert invoke(["verify", str(product.config)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("NOT SOUND: 1 table not as recorded. Checked: 6 batches, ")
    assert f"Next: tidemark repair {product.config}" in said
    assert invoke(["verify", str(product.config), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert not record["sound"]
    assert {each["table"] for each in record["findings"]} == {"events/plain"}
    assert all(each["batch_id"] for each in record["findings"])
    product.pipeline().repair()
    assert invoke(["verify", str(product.config), "--all"]) == 0


def test_a_head_that_was_noted_must_still_be_in_the_chain(made, capsys):
    assert invoke(["verify", str(made.product.config), "--head", made.head]) == 0
    assert invoke(["verify", str(made.product.config), "--head", "0" * 64]) == 1
    assert "no batch has the noted head" in capsys.readouterr().out
    assert made.product.pipeline().status()["chain"] == made.head


def test_what_cannot_be_verified_is_refused_with_what_to_do(tmp_path, capsys):
    (tmp_path / "landing").mkdir()
    text = "pipeline: idle\nwarehouse: {}\nsources: {{a: {{landing: ./landing, format: json, schema: 'v STRING'}}}}\n"
    config = tmp_path / "idle.yml"
    config.write_text(text.format("./warehouse"))
    assert invoke(["verify", str(config)]) == 2
    assert "nothing to verify" in capsys.readouterr().err
    config.write_text(text.format("s3://bucket/warehouse"))
    with pytest.raises(TidemarkError, match="object storage cannot be verified"):
        Pipeline.load(config).verify()


@pytest.mark.usefixtures("quick")
def test_a_pipeline_whose_first_run_is_blocked_is_sound(tmp_path, capsys):
    blocking = {"quality": {"max_adjusted": "0%", "on_failure": "block"}}
    product = Product(tmp_path / "p", {"a": KEYED}, blocking)
    product.land("a", [obj("000", 10)])
    assert invoke(["run", str(product.config), "--as-of", format_time(at(12))]) == 1
    for more in ([], ["--all"]):
        assert invoke(["verify", str(product.config), *more]) == 0, capsys.readouterr()
