"""A pipeline that is used as pipelines are: hundreds of random commands, of which many die on their way or meet
damage, and at the end all laws hold."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import conformance
import pytest
from faults import Faults
from samples import KEYED, at, hold_conservation, hold_replay, obj
from test_streams import SELECTED, WINDOWS, columns_of, declared, of_all_runs, payload, rows_with, wanted

from interpreted import forget_tables
from oracle import SECOND, Obj, Run, judge
from oracle_streams import Step, flow
from product import Product, expected, micros, verdicts
from tidemark.cli import invoke

pytestmark = [pytest.mark.usefixtures("quick"), pytest.mark.soak]
SOURCE = replace(KEYED, out_of_order=(2 * SECOND, "keep"))
STREAMS: dict[str, dict[str, Any]] = {
    "good": {"from": "a", "publish": True},
    "lateness": declared(WINDOWS["lateness"], "a", SELECTED),
}
STEPS = {
    "good": Step(("a",), publish=True),
    "lateness": Step(("a",), window=WINDOWS["lateness"]),
}
OPERATIONS, SEED = int(os.environ.get("OPERATIONS", "500")), int(os.environ.get("SEED", "2"))
"""How many commands, and which; `make soak` has others each time."""
FORGOTTEN_EVERY = 50
"""Operations after which Delta forgets the tables: in 2,000 it would keep 9 GB of them."""


@dataclass
class Soak:
    """One pipeline, a clock that goes on, and what has landed by it."""

    product: Product
    dice: Random
    faults: Faults
    now: float = 10.0
    landed: dict[str, Obj] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def go(self, operations: int) -> None:
        """So many random operations, each of which may die."""
        kinds = {
            self.land: 40,
            self.ask: 32,
            self.run: 14,
            self.replay: 5,
            self.turn_back: 3,
            self.promote: 2.5,
            self.backfill: 1.5,
            self.faults.damage: 1.5,
            self.maintain: 0.5,
        }
        for number in range(operations):
            if number % FORGOTTEN_EVERY == 0:
                forget_tables()
            (operation,) = self.dice.choices(list(kinds), list(kinds.values()))
            operation()
            self.done[operation.__name__] += 1

    # -- what people and schedules do

    def land(self) -> None:
        for _ in range(self.dice.randint(1, 2)):
            self.now += self.dice.randint(1, 3)
            new = obj(f"{len(self.landed):04d}", self.now, self.dice.randint(0, 6))
            self.product.land("a", [new])
            self.landed[new.uri] = new

    def run(self) -> None:
        options = {"max_files": self.dice.randint(1, 3)} if self.dice.random() < 0.4 else {}
        self.now += 1
        self.faults.perhaps_dies(lambda: self.product.run(at(self.now), **options))

    def ask(self) -> None:
        """What only reads is answered at any moment."""
        verb = self.dice.choice(("status", "versions", "rows", "dry run"))
        if verb == "dry run":
            self.product.run(at(self.now + 1), dry_run=True)
        elif verb != "rows" or self.product.table("events/a"):
            assert invoke([verb, str(self.product.config)]) == 0

    def replay(self) -> None:
        if last := self.product.pipeline().ledger.last().committed_through:
            number = self.dice.randint(1, last)
            assert self.product.pipeline().replay(from_batch=number, to_batch=number)["identical"]

    def turn_back(self) -> None:
        """The clock has gone back."""
        before = self.product.pipeline().ledger.last()
        self.faults.perhaps_dies(lambda: self.product.run(at(self.now - self.dice.randint(1, 20))))
        after = self.product.pipeline().ledger.last()
        assert before.as_of is None or after.as_of >= before.as_of

    def backfill(self) -> None:
        if self.product.pipeline().ledger.last().committed_through:
            begin = self.now - self.dice.uniform(0, 20)
            made = self.faults.perhaps_dies(lambda: self.product.pipeline().backfill(at(begin), None))
            assert made is None or made["identical"], made["difference"]

    def promote(self) -> None:
        known = [each["version"] for each in self.product.pipeline().versions()["versions"]]
        if known:
            self.faults.perhaps_dies(lambda: self.product.pipeline().promote(self.dice.choice(known)))

    def maintain(self) -> None:
        assert invoke(["maintain", str(self.product.config)]) == 0

    # -- what holds in the end

    def end(self) -> None:
        """Back to the oldest version, with everything taken."""
        self.now += 10
        self.product.run(at(self.now))
        self.product.pipeline().promote(self.product.pipeline().versions()["versions"][0]["version"])
        self.now += 10
        self.product.run(at(self.now))

    def runs(self) -> list[Run]:
        """What the runs have taken, as the ledger has it."""
        took: dict[int, list[Obj]] = {}
        for item in self.product.table("objects"):
            if item["state"] in ("read", "quarantined"):
                took.setdefault(item["batch_id"], []).append(self.landed[item["uri"]])
        found: dict[str, Run] = {}
        for batch in sorted(self.product.table("batches"), key=lambda row: row["batch_id"]):
            before = found.get(batch["run_id"], Run(micros(batch["as_of"]) or 0))
            mine = took.get(batch["batch_id"], [])
            found[batch["run_id"]] = replace(before, objects=(*before.objects, *mine))
        return list(found.values())


def hold_oracle(soak: Soak) -> None:
    """Each object was taken once; rows and windows are the oracle's."""
    runs = soak.runs()
    assert sorted(item.uri for run in runs for item in run.objects) == sorted(soak.landed)
    assert verdicts(soak.product.events("a")) == expected(judge(SOURCE, runs))
    outputs = flow({"a": (SOURCE, runs)}, STEPS, payload)
    for name, step in STEPS.items():
        columns = columns_of(name, STREAMS)
        found = of_all_runs(soak.product, step, name)
        assert rows_with(columns, found) == sum((wanted(step, run[name], columns) for run in outputs), Counter()), (
            name
        )


def test_after_random_commands_with_random_faults_all_laws_hold(tmp_path, monkeypatch, capsys):
    product = Product(tmp_path / "soak", {"a": SOURCE}, {"streams": STREAMS, "retention": {"versions": 3}})
    dice = Random(SEED)  # noqa: S311 - the same commands each time
    soak = Soak(product, dice, Faults(product, dice, monkeypatch))
    soak.go(OPERATIONS)
    soak.end()
    capsys.readouterr()
    assert soak.faults.died
    hold_oracle(soak)
    hold_conservation(product)
    hold_replay(product)
    found, steps = conformance.check_folder(product.folder / "warehouse" / "tested")
    assert not found, f"after {steps} steps: {found}"
    whole = Product(tmp_path / "whole", {"a": SOURCE}, {"streams": STREAMS})
    whole.land("a", soak.landed.values())
    whole.run(at(soak.now))
    assert verdicts(whole.events("a")) == verdicts(product.events("a"))
