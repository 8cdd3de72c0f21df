"""Virtual environments that hold a wheel and what it asks for, linked from the environment that runs the tests.

A package that a distribution uses without naming it is missing there, and so is each that it does not need.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def built(folder: Path) -> list[Path]:
    """The wheels of both distributions, built into a folder."""
    for project in (ROOT / "jobs", ROOT):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(command, cwd=project, check=True)  # noqa: S603 - the tests' own interpreter
    return sorted(folder.glob("*.whl"))


def environment(folder: Path, wheels: Sequence[Path], extras: Sequence[str] = ()) -> Path:
    """Python of a new environment with these wheels, the last one's extras, and what they need."""
    venv.create(folder, symlinks=True)
    python, packages = folder / "bin" / "python", next(folder.glob("lib/python*/site-packages"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", *wheels], check=True)  # noqa: S603
    ours = {canonicalize_name(each.metadata["Name"]): each for each in Distribution.discover(path=[str(packages)])}
    first = canonicalize_name(wheels[-1].name.partition("-")[0])
    for found in needed(ours, f"{first}[{','.join(extras)}]"):
        if canonicalize_name(found.metadata["Name"]) not in ours:
            link(found, packages)
    return python


def needed(ours: dict[str, Distribution], wanted: str) -> Iterator[Distribution]:
    """Each distribution that a requirement needs, whether a wheel or installed here."""
    waiting, seen = [Requirement(wanted)], set[tuple[str, str]]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found = ours.get(name) or distribution(name)
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                every = [Requirement(each) for each in found.requires or ()]
                waiting += [each for each in every if applies(each, extra)]
                yield found


def applies(requirement: Requirement, extra: str) -> bool:
    """Whether an extra of a distribution (empty: the distribution itself) brings a requirement."""
    if requirement.marker is None:
        return not extra
    plain = requirement.marker.evaluate({"extra": ""})
    return requirement.marker.evaluate({"extra": extra}) and (not extra or not plain)


def link(found: Distribution, packages: Path) -> None:
    """Put the files of an installed distribution into another environment's folder of packages."""
    for file in found.files or ():
        target = packages / file
        if ".." in file.parts or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        source = Path(str(found.locate_file(file)))
        if source.is_file():
            try:
                os.link(source, target)
            except OSError:  # on another file system
                shutil.copy(source, target)


def script(python: Path, name: str, module: str) -> Path:
    """A command of an environment, which calls `main` of a module."""
    path = python.with_name(name)
    path.write_text(f"#!{python}\nimport sys\nfrom {module} import main\nsys.exit(main())\n")
    path.chmod(0o755)
    return path
