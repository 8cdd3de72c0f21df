"""Writes docs/dependencies.md: what the lock files install, under which licence, and what needs it.

    .venv/bin/python .ci/dependencies.py

Run it when a lock file has changed. Licences are those that packages state of themselves.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import files, metadata, requires
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
PROJECTS = ("pyproject.toml", "jobs/pyproject.toml")
JARS = ("jars.lock", "jars-s3.lock", "jars-azure.lock", "jars-gcs.lock", "jvm/tools.lock")
_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*")
_SHORT, _FEW = 40, 3


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[._-]+", "-", name).lower()


def locked() -> dict[str, str]:
    """Versions by name, as the lock has them."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return {
        normal(name): version for name, version in re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==(\S+)", text, re.MULTILINE)
    }


def licence(name: str) -> str:
    """What a package says of its licence: an expression, else what it is classified as, else its first words."""
    told = metadata(name)
    known = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or () if each.startswith("License")]
    words = (told.get("License") or "").strip().splitlines()
    short = words[0] if len(words) == 1 and len(words[0]) <= _SHORT and words[0] != "UNKNOWN" else ""
    return told.get("License-Expression") or ", ".join(known) or short or _in_file(name)


def _in_file(name: str) -> str:
    """The first line of the licence that comes with a package."""
    texts = [file.read_text() for file in files(name) or () if "licen" in file.name.lower()]
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "not stated"


def asked() -> set[str]:
    """What the project itself names."""
    named: set[str] = set()
    for file in PROJECTS:
        project = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]
        every = chain(project["dependencies"], *project["optional-dependencies"].values())
        named |= {normal(_NAME.match(each)[0]) for each in every}
    return named


def needed_by(names: dict[str, str]) -> dict[str, list[str]]:
    """By name, the locked packages that may need it."""
    found: dict[str, list[str]] = {}
    for name in names:
        for each in requires(name) or ():
            found.setdefault(normal(_NAME.match(each)[0]), []).append(name)
    return found


def some(names: list[str]) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return (", ".join(names[:_FEW]) or "its build") + more


def page() -> str:
    """The page's text."""
    names, direct = locked(), asked()
    above = needed_by(names)
    lines = [
        "# Dependencies",
        "",
        "What the lock files install, by hash: written by `.ci/dependencies.py`, checked by",
        "`tests/test_foundation.py`. Licences are those that packages state of themselves. Packages that the project",
        "does not name itself come with those that do.",
        "",
        "| package | version | licence | named by |",
        "|---|---|---|---|",
    ]
    for name, version in sorted(names.items()):
        by = "**tidemark**" if name in direct else some(sorted(set(above.get(name, ()))))
        lines.append(f"| {name} | {version} | {licence(name)} | {by} |")
    licences = "Those of `jvm/tools.lock` are under EPL-2.0, all others under Apache-2.0."
    lines += ["", "## Jars", "", licences, "", "| coordinate | lock file |", "|---|---|"]
    for file in JARS:
        text = (ROOT / file).read_text(encoding="utf-8")
        lines += [f"| {name} | {file} |" for name in re.findall(r"^(\S+:\S+:\S+)\s+sha256:", text, re.MULTILINE)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
