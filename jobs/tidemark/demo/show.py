"""Runs the demo: a year of flights in three runs, replayed, with the fate of every record and its reason."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.core.policy import FATES
from tidemark.core.times import from_datetime
from tidemark.demo.flights import AS_OF, write_landing, write_pipeline
from tidemark.demo.tables import say_streams
from tidemark.demo.weather import write_weather
from tidemark.pipeline import Pipeline
from tidemark.records.runs import DemoRecord, RunRecord

REPORT = "report.html"
_WHY = {
    "late": "in the air for more than late_arrival (6h): dropped",
    "out_of_order": "more than out_of_order (2h) behind its airline's latest departure: moved up to the watermark",
    "invalid_time": "cancelled (no departure) or diverted (no time in the air): cannot be judged, quarantined",
}


def run_demo(folder: Path, say: Callable[[str], None], **hooks: Any) -> DemoRecord:  # passed to Pipeline.load
    """Write, run and replay the demo under `folder`; return the results of all runs together.

    Tables of an earlier demo there are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    config = write_pipeline(folder)
    pipeline = Pipeline.load(config, **hooks)
    tables = Path(str(pipeline.root))
    if tables.exists():
        shutil.rmtree(tables)
    _land(pipeline, folder / "landing", say, hooks.get("progress") and _writing(hooks["progress"]))
    runs = [_one_run(pipeline, as_of, say) for as_of in map(from_datetime, AS_OF)]
    batches = [batch for run in runs for batch in run["batches"]]
    _say_fates(pipeline, say)
    _say_examples(pipeline, say)
    say_streams(pipeline, say)
    with ThreadPoolExecutor(1) as drawing:
        page = drawing.submit(pipeline.report, folder / REPORT)  # in parallel with the replay: it needs no Spark
        replay = pipeline.replay(all_batches=True)
        report = str(page.result()["path"])
    same = sum(batch["identical"] is True for batch in replay["batches"])
    say(f"\nReplayed from landing: {same} of {len(batches)} batches came out identical, digest by digest.")
    say(f"What became of all records, in pictures: {report} (open it in a browser)")
    say(f"All of it took {time.monotonic() - started:.0f} s. Look around:")
    _say_commands(config, say)
    return {**runs[-1], "batches": batches, "replay": replay, "report": report}


def _land(
    pipeline: Pipeline, folder: Path, say: Callable[[str], None], progress: Callable[[int, int], None] | None
) -> None:
    """Write the files of flights and weather while Spark starts."""
    with ThreadPoolExecutor(1) as starting:
        spark = starting.submit(lambda: pipeline.context.engine)
        landing = write_landing(folder, progress)
        hours = write_weather(folder)
        spark.result()
    say(f"{landing.rows:,} flights of 2013 landed as {landing.files} files, one a day, in {landing.folder}")
    say("A record lands when its flight does and carries its departure: short flights overtake long ones.")
    say(f"{hours:,} hourly observations of the weather at the three airports landed beside them.\n")


def _say_commands(config: Path, say: Callable[[str], None]) -> None:
    """List commands that show more of the demo."""
    for command in ("status", "rows --fate dropped", "rows --fate quarantined", "explain", "path"):
        rest = {"explain": " flights JFK 4711", "path": " dead_letters/board_hours"}.get(command, "")
        verb, *options = command.split()
        say("  " + " ".join(["tidemark", verb, str(config), *options]) + rest)


def _writing(progress: Callable[[str, int, int], Any]) -> Callable[[int, int], None]:
    return lambda done, count: progress("write landing files", done, count)


def _one_run(pipeline: Pipeline, as_of: int, say: Callable[[str], None]) -> RunRecord:
    """Do one run; the last one closes the pipeline, since the year is over."""
    started = time.monotonic()
    last = as_of == from_datetime(AS_OF[-1])
    run = pipeline.close(as_of=as_of) if last else pipeline.run(as_of)
    rows = sum(batch["rows"] for batch in run["batches"])
    streams = ", ".join(f"{name} {stream['rows']:,}" for name, stream in run["streams"].items() if stream["rows"])
    seconds = time.monotonic() - started
    what = "run and close" if last else "run"
    say(f"{what} as of {run['as_of'][:10]}: {rows:,} rows of three sources; written: {streams} ({seconds:.0f} s)")
    return run


def _say_fates(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    rows = pipeline.table("events/flights").to_table(columns=["_disposition", "_reasons"])
    fates, reasons = _counts(rows["_disposition"]), _counts(pc.list_flatten(rows["_reasons"]))
    say("\nWhat became of every record of the source flights:")
    for fate in FATES:
        say(f"  {fate.replace('_', ' '):<12}{fates[fate]:>9,}  {100 * fates[fate] / rows.num_rows:5.1f} %")
    say(f"  {'all':<12}{rows.num_rows:>9,}")
    say("Why:")
    for reason, why in _WHY.items():
        say(f"  {reason:<13}{reasons[reason]:>8,}  {why}")


def _counts(values: pa.ChunkedArray[Any] | pa.Array[Any]) -> dict[str, int]:
    counted = pa.table([values], names=["value"]).group_by("value").aggregate([([], "count_all")])
    return {each["value"]: each["count_all"] for each in counted.to_pylist()}


def _say_examples(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    """Explain one adjusted and one dropped row in sentences."""
    for fate in ("adjusted", "dropped"):
        found = pipeline.rows(source="flights", fate=fate, limit=1)["rows"]
        for row in found:
            story = pipeline.explain(row["source"], row["partition"], row["offset"])
            say(f"\nOne {fate} record, explained:")
            for sentence in story["sentences"]:
                say(f"  {sentence}")
