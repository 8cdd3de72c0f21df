"""Disks that are full, or may not be written to: an error says so, and the next run comes to what it would have."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from samples import KEYED, at, contents, fork, hold_conservation, hold_replay, lines, obj

from oracle import SECOND
from product import Product
from tidemark.cli import invoke
from tidemark.core.times import format_time

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = replace(KEYED, out_of_order=(2 * SECOND, "keep"))
STREAMS = {"per_4s": {"from": "a", "tumbling": "4s", "select": {"n": "count(*)", "keys": "collect_list(k)"}}}
AS_OF = at(30)
RUN = ["--as-of", format_time(AS_OF), "--json"]
SIZE = 4 << 20


def mount(*arguments: str | Path) -> None:
    done = subprocess.run([shutil.which("mount") or "mount", *arguments], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        pytest.skip(f"this needs the right to mount a small file system: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A file system of its own, of a few MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place)
    yield place
    subprocess.run([shutil.which("umount") or "umount", "--lazy", place], check=True)  # noqa: S603


@pytest.fixture(scope="module")
def base(request, tmp_path_factory) -> Product:
    request.getfixturevalue("quick")
    product = Product(tmp_path_factory.mktemp("disks") / "base", {"a": SOURCE}, {"streams": STREAMS})
    product.land("a", [obj("000", 10), obj("001", 12)])
    product.run(at(14))
    product.land("a", [obj("002", 20), obj("003", 22)])
    return product


@pytest.fixture(scope="module")
def undisturbed(base, tmp_path_factory) -> Product:
    twin = fork(base, tmp_path_factory.mktemp("undisturbed") / "p")
    twin.run(AS_OF)
    return twin


@pytest.fixture
def product(base, tmp_path, disk) -> Product:
    """A pipeline whose warehouse is on the small disk."""
    product = fork(base, tmp_path / "p")
    shutil.move(product.folder / "warehouse", disk / "warehouse")
    (product.folder / "warehouse").symlink_to(disk / "warehouse")
    return product


def fill(disk: Path, free: int) -> Path:
    """A file that leaves so many bytes."""
    filler, room = disk / "filler", shutil.disk_usage(disk).free
    filler.write_bytes(bytes(max(0, room - free)))
    return filler


def hold_undisturbed(product: Product, undisturbed: Product) -> None:
    product.run(AS_OF)
    last = len(undisturbed.table("batches"))
    assert contents(product, last) == contents(undisturbed, last)
    assert lines(product.table("streams/per_4s")) == lines(undisturbed.table("streams/per_4s"))
    hold_conservation(product)
    hold_replay(product)


@pytest.mark.parametrize(
    "free", [0, *(pytest.param(kib << 10, marks=pytest.mark.long) for kib in (4, 16, 32, 64, 96))]
)
def test_a_full_disk_is_told_and_the_next_run_goes_on(product, undisturbed, disk, capsys, free):
    filler = fill(disk, free)
    status = invoke(["run", str(product.config), *RUN])
    told = capsys.readouterr()
    if status:
        assert status == 4
        error = json.loads(told.out)["error"]
        assert "no space left" in error["message"]
        assert "make space" in error["hint"]
        assert error["where"] == "" or error["where"].startswith(str(disk.parent))
        assert "Traceback" not in told.err
    assert status or free
    filler.unlink()
    hold_undisturbed(product, undisturbed)


def test_a_disk_that_may_only_be_read_is_told_and_answers_are_given(product, undisturbed, disk, capsys):
    mount("-o", "remount,ro", disk)
    assert invoke(["run", str(product.config), *RUN]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert "read-only" in error["message"]
    assert "warehouse" in error["where"]
    for asked in (["status"], ["rows"], ["replay", "--all"], ["run", "--dry-run"]):
        assert invoke([asked[0], str(product.config), *asked[1:]]) == 0, asked
    capsys.readouterr()
    mount("-o", "remount,rw", disk)
    hold_undisturbed(product, undisturbed)
