"""The task that emits asset events. What it emits follows from the ledger and from the newest events that Airflow
has, never from which run or call of a task did the work.

Airflow records the events of a task and the task's success in one transaction, and carries out one `publish` of a DAG
at a time. So a task that died has emitted nothing, and a task that runs again finds what it has emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset, get_current_context
from airflow.sdk.exceptions import AirflowSkipException

from tidemark.airflow import aws
from tidemark.airflow.assets import pipeline_asset, stream_assets

_NEWEST = 50
"""Number of events among which the newest is looked for: servers' clocks may differ a little."""


def publish(config: str) -> dict[str, Any]:
    """Emit an event of the pipeline's asset if runs have published anything since the last one, and for each stream
    an event with a partition key for each period that is complete by now. Skipped if there is nothing to emit."""
    from tidemark.commands.completeness.signals import run_signal, stream_signal
    from tidemark.config.periods import periods_of

    pipeline = aws.load(config)
    whole, streams = pipeline_asset(pipeline.spec), stream_assets(pipeline.spec)
    found = {whole: run_signal(pipeline.context, _newest(whole))}
    for name, asked in periods_of(pipeline.spec).items():
        found[streams[name]] = stream_signal(pipeline.context, name, asked, _newest(streams[name]))
    signals = {asset: signal for asset, signal in found.items() if signal is not None}
    if not signals:
        raise AirflowSkipException("nothing was published, and no period was completed, since the last event")
    context = get_current_context()
    for asset, signal in signals.items():
        event = context["outlet_events"][asset]
        event.extra = dict(signal.extra)
        event.add_partitions(list(signal.keys))
        print(f"{asset.name}: {', '.join(signal.keys) or 'an event without a key'}")  # the task's log
    context["task"].outlets = list(signals)  # Airflow makes an event of every outlet, also of one without a signal
    return {asset.name: {"keys": list(signal.keys), **signal.extra} for asset, signal in signals.items()}


def _newest(asset: Asset) -> Mapping[str, Any]:
    """The extra of the newest event of an asset, else what the asset's store kept of it; empty if there was none.

    Events may be deleted (`airflow db clean`). Therefore the record of the newest one is kept in the asset's store by
    the next call: it never has what was not emitted.
    """
    from tidemark.commands.completeness.signals import RECORD

    context = get_current_context()
    events = context["inlet_events"][asset].ascending(False).limit(_NEWEST)
    extras: list[dict[str, Any]] = [event.extra for event in events if event.extra]
    recorded = [extra for extra in extras if isinstance(extra.get(RECORD), dict)]
    store = context["asset_state_store"][asset]
    stored = store.get(RECORD)
    if not recorded:
        return {RECORD: stored} if stored else next(iter(extras), {})
    newest = max(recorded, key=lambda extra: int(extra[RECORD]["number"]))
    if newest[RECORD] != stored:
        store.set(RECORD, newest[RECORD])
    return newest
