"""Memory of processes, as the kernel counts it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def peak(process: int | str) -> int:
    """The most memory that a process ever had in use, bytes; 0 of one that is gone."""
    return _number(Path(f"/proc/{process}/status"), "VmHWM") << 10


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {int(status.parent.name): _number(status, "PPid") for status in Path("/proc").glob("[0-9]*/status")}
    known = {pid}
    while more := {child for child, parent in parents.items() if parent in known} - known:
        known |= more
    return known


def _number(status: Path, name: str) -> int:
    """A number that the kernel tells of a process."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in status.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
    return 0
