"""Metrics of pipelines, sent by Airflow's own statsd or OpenTelemetry settings.

Each is a gauge, so that a task that runs again sends equal numbers. Pipeline, source, stream and fate are tags;
statsd has no tags, so they are the end of the name, in this order. Durations are in seconds, shares from 0 to 1.
Airflow itself sends durations of tasks and runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from airflow.configuration import conf
from airflow.sdk.observability.stats import gauge, normalize_name_for_stats

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline
    from tidemark.records.status import StatusRecord

PREFIX = "tidemark"
_WAYS = ("statsd_on", "statsd_datadog_enabled", "otel_on")
_WITH_TAGS = ("otel_on", "statsd_datadog_enabled", "statsd_influxdb_enabled")
Metric = tuple[str, float, dict[str, str]]


def send(pipeline: Pipeline, as_of: datetime) -> None:
    """If Airflow sends metrics: send delays of sources and streams at `as_of`, whether quality blocks the pipeline,
    and rows and shares of its newest run."""
    if not _any_on(_WAYS):
        return  # a status reads tables, for nobody
    tagged = _any_on(_WITH_TAGS)
    for metric, value, of in metrics_of(pipeline.status().record, as_of):
        tags = {"pipeline": pipeline.spec.name, **of}
        parts = [PREFIX, metric, *(() if tagged else tags.values())]
        gauge(normalize_name_for_stats(".".join(parts), log_warning=False), value, tags=tags)


def _any_on(keys: Iterable[str]) -> bool:
    return any(conf.getboolean("metrics", key, fallback=False) for key in keys)


def metrics_of(status: StatusRecord, as_of: datetime) -> Iterator[Metric]:
    """The metrics of a status: names, values, tags. A source that is complete has no delay."""
    since = datetime.fromisoformat(status["as_of"]) if status["as_of"] else as_of
    later = max(0.0, (as_of - since).total_seconds())
    for source in status["sources"]:
        for metric, delay in (
            ("watermark_delay", source["watermark_delay_micros"]),
            ("output_delay", source["output_delay_micros"]),
        ):
            if delay is not None and not source["complete"]:
                yield metric, delay / 1e6 + later, {"source": source["source"]}
    for stream in status["streams"]:
        if stream["output_delay_micros"] is not None and not stream["complete"]:
            yield "output_delay", stream["output_delay_micros"] / 1e6 + later, {"stream": stream["stream"]}
    yield "blocked", float(status["standing"]["state"] == "blocked"), {}
    yield from _of_run(status)


def _of_run(status: StatusRecord) -> Iterator[Metric]:
    """Rows by fate of the newest run, and each fate's share of them."""
    for run in status["runs"][:1]:
        counts = {
            "on_time": run["on_time"],
            "adjusted": run["adjusted"],
            "dropped": run["dropped"],
            "quarantined": run["quarantined"],
        }
        for fate, rows in counts.items():
            yield "rows", float(rows), {"fate": fate}
            yield "share", rows / run["rows"] if run["rows"] else 0.0, {"fate": fate}
