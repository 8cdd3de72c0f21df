"""Pipelines made at random, used as pipelines are: commands die on their way or meet damage, versions become live.

After all that they have the rows that DuckDB computes at once from the oracle's rows. `PIPELINES=` are made, others
with `SEED=`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from engines import Duck, assert_equal, written
from faults import Faults
from samples import hold_replay
from sources import judged
from wholes import PIPELINES, Whole, newest, whole

from oracle import Run
from product import Product
from tidemark.cli import invoke

LONGEST = 40
"""More steps than a run of these streams has."""
FEW = 5


@dataclass
class Used:
    """Commands that the dice of a pipeline choose, of which many die."""

    drawn: Whole
    monkeypatch: pytest.MonkeyPatch
    died: int = 0

    def go(self, product: Product, run: Run) -> None:
        """Run or close until it does not die."""
        while self._perhaps_dies(product, lambda: product.go(run)) is None:
            pass

    def between(self, product: Product, _: int) -> None:
        """Use the pipeline; what died is recovered by a run in which nothing lands."""
        commands = (self._replay, self._backfill, self._promote, self._damage, self._maintain)
        for _ in range(self.drawn.dice.randint(1, 4)):
            self.drawn.dice.choice(commands)(product)
            product.run(newest(product).as_of)
            product.version = product.pipeline().ledger.version

    def _perhaps_dies(self, product: Product, command: Callable[[], Any]) -> Any:
        faults = Faults(product, self.drawn.dice, self.monkeypatch, LONGEST)
        record = faults.perhaps_dies(command)
        self.died += faults.died
        return record

    def _replay(self, product: Product) -> None:
        number = self.drawn.dice.randint(1, newest(product).batch_id)
        found = product.pipeline().replay(from_batch=number, to_batch=number)
        assert found["identical"], (found, self.drawn.where)

    def _backfill(self, product: Product) -> None:
        begin, end = self.drawn.a_range(product)
        made = self._perhaps_dies(product, lambda: product.pipeline().backfill(begin, end))
        assert made is None or made["identical"], (begin, end, made["difference"], self.drawn.where)

    def _promote(self, product: Product) -> None:
        known = [each["version"] for each in product.pipeline().versions()["versions"]]
        self._perhaps_dies(product, lambda: product.pipeline().promote(self.drawn.dice.choice(known)))

    def _damage(self, product: Product) -> None:
        Faults(product, self.drawn.dice, self.monkeypatch).damage()

    def _maintain(self, product: Product) -> None:
        assert invoke(["maintain", str(product.config)]) == 0


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_pipelines_that_died_and_met_damage_have_the_rows_of_another_engine(quick, tmp_path, monkeypatch, number):
    drawn = whole("used", number, FEW)
    used = Used(drawn, monkeypatch)
    product = judged(tmp_path, drawn.landing, used.between, used.go, streams=drawn.made.streams)
    wanted, found = Duck(drawn.landing).tables(drawn.made), written(quick, product, drawn.made)
    assert_equal(found, wanted, drawn.where)
    assert wanted
    assert used.died, f"choose another seed, since no command died: {drawn.where}"
    hold_replay(product)
