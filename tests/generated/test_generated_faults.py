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
from sources import finish, judged
from test_generated_additions import passed
from wholes import PIPELINES, Whole, whole

from oracle import SECOND, Run
from product import Product
from tidemark.cli import invoke

LONGEST = 40
"""More steps than a run of these streams has."""
FEW = 5


@dataclass
class Used:
    """Commands that the dice of a pipeline choose, of which any may die."""

    drawn: Whole
    monkeypatch: pytest.MonkeyPatch

    def go(self, product: Product, run: Run) -> None:
        """The run, which dies until it has come to its end."""
        faults = self._faults(product)
        while faults.perhaps_dies(lambda: finish(product, run) or True) is None:  # it died
            pass

    def between(self, product: Product, _: int) -> None:
        """Some of the commands that a pipeline's keeper has."""
        verbs = (self._replay, self._backfill, self._promote, self._damage, self._maintain)
        for _ in range(self.drawn.dice.randint(1, 4)):
            self.drawn.dice.choice(verbs)(product)
            finish(product, Run(newest_as_of(product), ()))  # what died is recovered
            product.version = product.pipeline().ledger.version

    def _faults(self, product: Product) -> Faults:
        return Faults(product, self.drawn.dice, self.monkeypatch, LONGEST)

    def _perhaps(self, product: Product, command: Callable[[], Any]) -> Any:
        return self._faults(product).perhaps_dies(command)

    def _replay(self, product: Product) -> None:
        number = self.drawn.dice.randint(1, product.pipeline().ledger.last().committed_through)
        found = product.pipeline().replay(from_batch=number, to_batch=number)
        assert found["identical"], (found, self.drawn.where)

    def _backfill(self, product: Product) -> None:
        begin = self.drawn.a_time(product)
        end = begin + 3 * SECOND if self.drawn.dice.random() < 0.5 and begin + 3 * SECOND < passed(product) else None
        made = self._perhaps(product, lambda: product.pipeline().backfill(begin, end))
        assert made is None or made["identical"], (begin, end, made["difference"], self.drawn.where)

    def _promote(self, product: Product) -> None:
        known = [each["version"] for each in product.pipeline().versions()["versions"]]
        self._perhaps(product, lambda: product.pipeline().promote(self.drawn.dice.choice(known)))

    def _damage(self, product: Product) -> None:
        self._faults(product).damage()

    def _maintain(self, product: Product) -> None:
        assert invoke(["maintain", str(product.config)]) == 0


def newest_as_of(product: Product) -> int:
    """The time as of which the last run was, microseconds."""
    found = product.pipeline().ledger.last().as_of
    assert found is not None
    return found


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_pipelines_that_died_and_met_damage_have_the_rows_of_another_engine(quick, tmp_path, monkeypatch, number):
    drawn = whole("used", number, FEW)
    used = Used(drawn, monkeypatch)
    product = judged(tmp_path, drawn.landing, used.between, used.go, streams=drawn.made.streams)
    wanted, found = Duck(drawn.landing).tables(drawn.made), written(quick, product, drawn.made)
    assert_equal(found, wanted, drawn.where)
    assert wanted
    assert product.pipeline().replay(all_batches=True)["identical"]
