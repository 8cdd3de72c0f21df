"""The task that emits asset events. The ledger and Airflow's record of earlier events decide what it emits; which run
or which try of a task did the work does not matter.

Airflow records the events of a task and the task's success in one transaction, and executes one `publish` of a DAG at
a time. So a task that died has emitted nothing, and a task that runs again finds all emitted events: each transaction
has an event of the asset `tidemark_<pipeline>:emitted` with the records of all assets. No DAG may wait for that
asset: Airflow 3.3 gives a task no events of an asset while a DAG run that one of them made is queued.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, get_current_context
from airflow.sdk.exceptions import AirflowSkipException

from tidemark.airflow import aws
from tidemark.airflow.assets import pipeline_asset, record_asset, stream_assets

_NUMBER, _RECORDS = "number", "records"
_NEWEST = 20
"""Number of events that are searched for the newest one: clocks of servers may differ slightly."""


def publish(config: str) -> dict[str, Any]:
    """Emit an event of the pipeline's asset if runs have published anything since the last event, and for each stream
    an event with a partition key for each period that is complete now. Skipped if there is nothing to emit."""
    from tidemark.commands.completeness.signals import run_signal, stream_signal
    from tidemark.config.scheduling.periods import periods_of
    from tidemark.core.completeness.emitted import Emitted

    pipeline = aws.load(config)
    journal, known = record_asset(pipeline.spec), _recorded(record_asset(pipeline.spec))
    before = {name: Emitted.of(record) for name, record in known[_RECORDS].items()}
    whole, streams = pipeline_asset(pipeline.spec), stream_assets(pipeline.spec)
    found = {whole: run_signal(pipeline.context, before.get(whole.name))}
    for name, asked in periods_of(pipeline.spec).items():
        emitted = before.get(streams[name].name)
        found[streams[name]] = stream_signal(pipeline.context, name, asked, emitted)
    signals = {asset: signal for asset, signal in found.items() if signal is not None}
    if not signals:
        raise AirflowSkipException("nothing was published, and no period was completed, since the last event")
    context = get_current_context()
    for asset, signal in signals.items():
        context["outlet_events"][asset].extra = dict(signal.extra)
        context["outlet_events"][asset].add_partitions(list(signal.keys))
        print(f"{asset.name}: {', '.join(signal.keys) or 'an event without a key'}")  # the task's log
    records = known[_RECORDS] | {asset.name: signal.after.record for asset, signal in signals.items()}
    context["outlet_events"][journal].extra = {_NUMBER: known[_NUMBER] + 1, _RECORDS: records}
    own = {journal.name, *(asset.name for asset in found)}
    others = [outlet for outlet in context["task"].outlets if getattr(outlet, "name", None) not in own]
    context["task"].outlets = [*signals, journal, *others]  # Airflow makes an event of every outlet
    return {asset.name: {"keys": list(signal.keys), **signal.extra} for asset, signal in signals.items()}


def _recorded(journal: Asset) -> dict[str, Any]:
    """Return the records of emitted events, by asset, and their number, from the newest event.

    Events may be deleted (`airflow db clean`). Therefore the next call also keeps them in the asset's store: the
    store only ever has records of emitted events.
    """
    context = get_current_context()
    events = context["inlet_events"][journal].ascending(False).limit(_NEWEST)
    store = context["asset_state_store"][journal]
    stored: Any = store.get(_RECORDS)
    recorded: list[Any] = [event.extra for event in events if {_NUMBER, _RECORDS} <= set(event.extra or {})]
    found: list[dict[str, Any]] = [*recorded, stored] if stored else recorded
    newest = max(found, key=lambda extra: int(extra[_NUMBER]), default=None)
    if newest is None:
        return {_NUMBER: 0, _RECORDS: {}}
    if newest != stored:
        store.set(_RECORDS, newest)
    return newest
