"""Peers in processes of their own, which stay up between turns: what is warm is compared with what is warm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.memory import family, peak

ROOT = Path(__file__).parents[2]
_TOLD = 2000


@dataclass
class Worker:
    """A process that serves (`bench.peers.serving`), where it answers, and the seconds of each job that it did."""

    process: subprocess.Popen[str]
    answers: IO[str]
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
        line = self.answers.readline()
        if not line:
            raise ChildProcessError(f"a worker died: {self.log.read_text(errors='replace')[-_TOLD:]}")
        return dict(json.loads(line))

    @property
    def peak(self) -> int:
        """The most memory that it held so far, in bytes, with the JVM that it may have started."""
        return sum(map(peak, family(self.process.pid)))


@contextmanager
def worker(name: str, command: Sequence[str], environ: Mapping[str, str], folder: Path) -> Iterator[Worker]:
    """A worker that is up, with its log in the folder; it ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    reading, writing = os.pipe()
    with (
        os.fdopen(reading) as answers,
        log.open("w") as printed,
        subprocess.Popen(
            command,
            env={**os.environ, **environ, "BENCH_ANSWERS": str(writing)},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=printed,
            text=True,
            pass_fds=(writing,),
        ) as process,
    ):
        os.close(writing)
        found = Worker(process, answers, log)
        try:
            found.answer()
            yield found
        finally:
            assert process.stdin is not None, "the worker takes no requests"
            process.stdin.close()  # it ends when nobody asks any more
