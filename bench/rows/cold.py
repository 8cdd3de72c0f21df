"""Row `cold`: a scheduled run of a thousand rows, each time in a process of its own, from its start to its end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.clock import alternate, seconds
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import STREAMS, configure
from tidemark.core.times import format_time, parse_time
from tidemark.pipeline import Pipeline

ROWS = 1_000
PEER = Path(__file__).parents[1] / "peers" / "cold_start.py"
BEGIN = parse_time("2026-01-01T00:00:00Z")
SECOND = 1_000_000
OTHERS = {
    "session": "a bare session with Delta, one append",
    "streaming": "a restarted Structured Streaming query",
    "duckdb": "DuckDB, without tables that last",
}


def measure(place: Place) -> Section:
    """Copies of a pipeline that has run once, and of a streaming query that has, each given another file."""
    base = place.work / "base"
    _prepare(base)
    cases: dict[str, Callable[[], float]] = {"tidemark": partial(_turn, place.work, base, _run)}
    cases |= {name: partial(_turn, place.work, base, partial(_peer, name)) for name in OTHERS}
    cases["nothing to do"] = partial(_turn, place.work, base, _run, landed=0)
    taken = alternate(cases, place.repeats, place.say)
    reach = {"session": 1.0}
    figures = [
        Figure.of(f"a cold run of {ROWS:,} rows", what, taken["tidemark"], taken[name], reach.get(name))
        for name, what in OTHERS.items()
    ]
    idle = sorted(taken["nothing to do"])[len(taken["nothing to do"]) // 2]
    return Section("cold", "A cold start", figures, [f"A run with nothing to do takes {idle:.2f} s."])


def write_rows(folder: Path, number: int) -> None:
    """The file of a minute: `ROWS` rows of JSON in order."""
    folder.mkdir(parents=True, exist_ok=True)
    first, step = BEGIN + 60 * SECOND * number, 60 * SECOND // ROWS
    rows = [
        {"id": index, "lane": "0", "device": f"d{index % 10}", "speed": float(index % 70)}
        | dict.fromkeys(("event_time", "arrived"), format_time(first + index * step))
        for index in range(ROWS)
    ]
    (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _prepare(base: Path) -> None:
    write_rows(base / "landing", 0)
    keys = {"format": "json", "landing_delay": "36500d"}
    Pipeline.load(configure(base, Path("landing"), 1, keys, streams=STREAMS, warehouse="warehouse"), {}).run()
    _peer("streaming", base, base / "landing")


def _turn(work: Path, base: Path, action: Callable[[Path, Path], object], landed: int = 1) -> float:
    """Seconds of the action on a copy of the base with so many more files; its answer is checked by itself."""
    folder = work / "turn"
    shutil.copytree(base, folder)
    for number in range(1, landed + 1):
        write_rows(folder / "landing", number)
    taken = seconds(lambda: action(folder, folder / "landing"))
    shutil.rmtree(folder)
    return taken


def _run(folder: Path, landing: Path) -> None:
    """`tidemark run`, from a shell. Raises if the run has not taken what landed."""
    done = _started("-m", "tidemark", "run", str(folder / "pipeline.yml"), "--json")
    rows = sum(batch["rows"] for batch in json.loads(done)["batches"])
    assert rows == ROWS * (len(list(landing.iterdir())) - 1), f"{rows} rows were judged"


def _peer(name: str, folder: Path, landing: Path) -> None:
    _started(str(PEER), name, str(folder), str(landing))


def _started(*words: str) -> str:
    return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout
