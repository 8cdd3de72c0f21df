"""Peers in processes of their own, which stay up between turns: what is warm is compared with what is warm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_TOLD = 2000


@dataclass
class Worker:
    """A process that serves (`bench.peers.serving`), and the seconds of each job that it did."""

    process: subprocess.Popen[str]
    log: Path
    taken: list[float] = field(default_factory=list)

    def do(self, **arguments: Any) -> float:
        """Have the job done; returns its seconds. The first one is cold, and all start-up is left out of it."""
        assert self.process.stdin is not None, "the worker takes no requests"
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()
        self.taken.append(float(self.answer()["seconds"]))
        return self.taken[-1]

    def answer(self) -> dict[str, Any]:
        """What the worker says next; one that died instead stops the measurement."""
        assert self.process.stdout is not None, "the worker gives no answers"
        line = self.process.stdout.readline()
        if not line:
            raise ChildProcessError(f"a worker died: {self.log.read_text(errors='replace')[-_TOLD:]}")
        return dict(json.loads(line))

    @property
    def peak(self) -> int:
        """The most memory that it held so far, in bytes, with the JVM that it may have started."""
        return sum(_number(Path(f"/proc/{pid}/status"), "VmHWM") << 10 for pid in _family(self.process.pid))


@contextmanager
def worker(name: str, command: Sequence[str], environ: Mapping[str, str], folder: Path) -> Iterator[Worker]:
    """A worker that is up, with its log in the folder; it ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            env={**os.environ, **environ},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        found = Worker(process, log)
        try:
            found.answer()
            yield found
        finally:
            assert process.stdin is not None, "the worker takes no requests"
            process.stdin.close()  # it ends when nobody asks any more


def _family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {int(status.parent.name): _number(status, "PPid") for status in Path("/proc").glob("[0-9]*/status")}
    known = {pid}
    while more := {child for child, parent in parents.items() if parent in known} - known:
        known |= more
    return known


def _number(status: Path, name: str) -> int:
    """A number of a process as the kernel tells it; 0 of one that is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in status.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
    return 0
