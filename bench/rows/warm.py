"""Row `warm`: a scheduled run of a thousand rows through a server, from the start of its process to its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.clock import alternate, seconds
from bench.figures import Figure, Section
from bench.place import Place
from bench.rows.cold import ROWS, write_rows
from bench.subject import STREAMS, configure
from tidemark.pipeline import Pipeline

WARM_UPS = 12
"""After ten commits a table has its first checkpoint; Java has compiled most by then."""
ROUNDS = 4
"""Runs measured for each repeat."""
REACH = 1.2

Run = Callable[[Path], Mapping[str, Any]]


def measure(place: Place) -> Section:
    """Two pipelines of one kind, each given another file in turns: one is run by a process of its own each time that
    asks a server, the other in this process."""
    with _server(place.work) as environ:
        runs = {"server": partial(_by_server, environ), "process": _here}
        cases = {name: partial(_turn, _made(place.work / name), run) for name, run in runs.items()}
        taken = alternate(cases, ROUNDS * place.repeats, place.say, WARM_UPS)
    what, against = f"a run of {ROWS:,} rows through a server", "a later run in one process"
    return Section("warm", "A session that stays", [Figure.of(what, against, *taken.values(), REACH)])


def _made(folder: Path) -> Path:
    keys = {"format": "json", "landing_delay": "36500d"}
    return configure(folder, Path("landing"), 1, keys, streams=STREAMS, warehouse="warehouse")


def _turn(config: Path, run: Run) -> float:
    """Seconds of a run that takes one more file; its answer is checked by itself."""
    landing, answers = config.parent / "landing", list[Mapping[str, Any]]()
    write_rows(landing, len([*landing.glob("*.json")]))
    taken = seconds(lambda: answers.append(run(config)))
    assert sum(batch["rows"] for batch in answers[0]["batches"]) == ROWS
    return taken


def _here(config: Path) -> Mapping[str, Any]:
    return Pipeline.load(config, {}).run()


def _by_server(environ: Mapping[str, str], config: Path) -> Mapping[str, Any]:
    line = [sys.executable, "-m", "tidemark", "run", str(config), "--warm", "--json"]
    done = subprocess.run(line, env=environ, check=True, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


@contextmanager
def _server(folder: Path) -> Iterator[dict[str, str]]:
    """A server, and the environment of its clients."""
    environ = os.environ | {"TIDEMARK_SOCKET": str(folder / "s" / "serve.sock")}
    server = subprocess.Popen([sys.executable, "-m", "tidemark", "serve"], env=environ, stderr=subprocess.DEVNULL)
    try:
        while not Path(environ["TIDEMARK_SOCKET"]).exists():
            assert server.poll() is None, "the server has ended"
            time.sleep(0.1)
        yield environ
    finally:
        server.terminate()
        server.wait()
