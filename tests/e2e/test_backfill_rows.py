"""Law 5: bounded backfills over rows that look at others: rows before, the next row, left rows without a pair."""

from __future__ import annotations

from pathlib import Path

import pytest
import test_left_joins
import test_preceding
import test_until_next
from samples import at, feed
from test_joins import dense

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick")]
MADE = {"preceding": test_preceding.made, "until next": test_until_next.made, "left joins": test_left_joins.made}


@pytest.mark.parametrize("kind", MADE)
def test_law_5_a_bounded_backfill_under_unchanged_rules_differs_in_nothing(tmp_path: Path, kind: str) -> None:
    logs = dense(9, runs=4)
    product = MADE[kind](tmp_path, logs)
    feed(product, logs)
    for begin, end in ((10, 20), (17, 18)):
        found = product.pipeline().backfill(at(begin), at(end))
        assert found["identical"], (begin, end, found["difference"])
