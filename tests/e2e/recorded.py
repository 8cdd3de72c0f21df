"""Pipelines whose runs were judged by the oracle and recorded without a JVM, many sources in one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oracle import Outcome
from product import Product
from report.report_warehouse import batch_of, record
from strategies import Log
from tidemark.core.batch_result import Account
from tidemark.core.policy import Fate
from tidemark.ledger import versions
from tidemark.ledger.tables.rows import batch_row, state_row


def recorded(folder: Path, logs: Mapping[str, Log], **settings: Any) -> Product:
    """The tables that these logs would have left, each run one batch; runs of the same number are one run. What is
    recorded of as_of is good for the sources' states alone."""
    product = Product(folder, {name: log.source for name, log in logs.items()}, settings)
    versions.first(product.pipeline().root, 0)
    ledger = product.pipeline().ledger
    configuration = product.pipeline().spec.resolved()
    told = {name: record(ledger.folder / "events" / name, log.source, log.runs) for name, log in logs.items()}
    states = [
        state_row(batch, name, partition, state)
        for name, each in told.items()
        for partition, history in each.ledger.history.items()
        for batch, state in history
    ]
    ledger.stores["watermarks"].append(states)
    last = max(len(log.runs) for log in logs.values())
    as_of = max(end.as_of for each in told.values() for end in each.outcome.ends)
    fingerprint = product.pipeline().spec.fingerprint()
    whole = {"configuration": json.dumps(configuration), "fingerprint": fingerprint}
    batches = [
        batch_of(number, as_of, **whole, accounts=_accounts({n: t.outcome for n, t in told.items()}, number))
        for number in range(1, last + 1)
    ]
    ledger.stores["batches"].append([batch_row(batch) for batch in batches])
    return product


def _accounts(outcomes: Mapping[str, Outcome], batch_id: int) -> Sequence[Account]:
    found: Counter[tuple[str, str, str]] = Counter(
        (name, verdict.partition, verdict.disposition)
        for name, outcome in outcomes.items()
        for verdict in outcome.verdicts
        if verdict.run == batch_id - 1
    )
    parts = sorted({key[:2] for key in found})
    return tuple(Account(*part, {fate: found[(*part, fate)] for fate in Fate}, {}) for part in parts)
