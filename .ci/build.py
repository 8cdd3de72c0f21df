"""Builds both distributions into a folder: `make build REPOSITORY=https://...`.

    .venv/release/bin/python .ci/build.py dist [REPOSITORY]

They are built from copies of their files, whose metadata name the repository's address and the pages in it. Without
an address they name none, which is enough to try them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECTS = ("jobs", ".")
PAGES = {"Changelog": "CHANGELOG.md", "Documentation": "docs/", "Security": "SECURITY.md"}


def with_addresses(project: str, repository: str) -> str:
    """A project's file with the addresses of the repository and of pages in it. Raises ValueError for another address
    than https."""
    if not repository.startswith("https://"):
        raise ValueError(f"{repository!r} is no address of a repository: it begins with https://")
    root = repository.rstrip("/")
    lines = [f'{name} = "{root}/blob/main/{path}"' for name, path in PAGES.items()]
    return "\n".join([project, "[project.urls]", f'Repository = "{root}"', f'Issues = "{root}/issues"', *lines, ""])


def build(target: Path, repository: str) -> None:
    """Build both distributions. Raises CalledProcessError if one can't be built."""
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in filter(None, known.stdout.split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
        for project in PROJECTS:
            file = copy / project / "pyproject.toml"
            if repository:
                file.write_text(with_addresses(file.read_text(encoding="utf-8"), repository), encoding="utf-8")
            command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(copy / project)]
            jars = ROOT / ".venv" / "share" / "tidemark" / "jars"
            environ = {"TIDEMARK_JARS": str(jars), **os.environ}
            subprocess.run(command, env=environ, check=True, stdout=sys.stderr)  # noqa: S603 - of this file


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "")
