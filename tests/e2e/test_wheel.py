"""A wheel, installed where there is no clone, runs pipelines once `tidemark setup` has put the jars in place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from short_lived import SHORT_LIVED
from tidemark.demo.first_run import prepare
from tidemark.spark.session.jars import jars_folder, read_lock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `tidemark` of an environment that has the wheel, and everything else from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)  # noqa: S603
    venv.create(folder / "env", symlinks=True)
    packages = next(folder.glob("env/lib/python*/site-packages"))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(others))
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", folder / "env" / "bin" / "python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True)  # noqa: S603
    return folder / "env" / "bin" / "tidemark"


@pytest.mark.long
def test_a_wheel_runs_pipelines_after_its_setup(command, tmp_path):
    def called(*words: str) -> tuple[int, dict[str, object]]:
        outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TIDEMARK_JARS")}
        asked, env = [command, *words, "--json"], outside | SHORT_LIVED
        done = subprocess.run(asked, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)  # noqa: S603
        return done.returncode, json.loads(done.stdout)

    prepare(tmp_path)
    status, failed = called("run", "small.yml")
    assert (status, "`tidemark setup`" in str(failed["error"])) == (4, True)
    assert list(tmp_path.glob("warehouse/**/batches")) == [], "nothing is planned"
    status, found = called("setup")
    assert status == 0
    names = {jar.file_name for jar in read_lock(ROOT / "jars.lock")} | {"tidemark-functions.jar"}
    assert {path.name for path in Path(str(found["path"])).iterdir()} == names
    assert Path(str(found["path"])) != jars_folder()
    assert called("setup") == (0, found), "what is there is left alone"
    status, ran = called("run", "small.yml")
    assert (status, [batch["rows"] for batch in ran["batches"]]) == (0, [60])
    status, replayed = called("replay", "small.yml", "--all")
    assert (status, replayed["identical"]) == (0, True)
