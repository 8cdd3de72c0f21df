"""Commands that die on their way: at one of their steps, or before or after a commit of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from samples import Crash, CrashAt

from product import Product
from tidemark.ledger.tables.store import Store

LONGEST = 14
"""More steps than a run of these streams has."""


@dataclass
class Faults:
    """Faults that `dice` choose for the commands of a pipeline."""

    product: Product
    dice: Random
    monkeypatch: pytest.MonkeyPatch
    longest: int = LONGEST
    died: int = 0

    def perhaps_dies(self, command: Callable[[], Any]) -> Any:
        """The command's record; None where it died."""
        fate = self.dice.random()
        if fate < 0.25:
            self.product.hooks = {"on_checkpoint": CrashAt(self.dice.randint(1, self.longest))}
        try:
            with self._broken_commit() if fate > 0.85 else nullcontext(), suppress(Crash):
                return command()
        finally:
            self.product.hooks = {}
        self.died += 1
        return None

    def damage(self) -> None:
        """A file of the live version is lost, and repaired."""
        pipeline = self.product.pipeline()
        if pipeline.ledger.last().pending or not pipeline.ledger.last().committed_through:
            return
        found = [
            path
            for kind in ("events", "streams", "dead_letters")
            for path in sorted(Path(pipeline.ledger.folder, kind).rglob("*.parquet"))
            if "_delta_log" not in path.parts
        ]
        if found:
            self.dice.choice(found).unlink()
            assert pipeline.repair()["left"] == []

    @contextmanager
    def _broken_commit(self) -> Iterator[None]:
        left, after = self.dice.randint(1, 6), self.dice.random() < 0.5

        def broken(write: Callable[..., None], *given: Any, **more: Any) -> None:
            nonlocal left
            left -= 1
            if not left and not after:
                raise Crash("before a commit")
            write(*given, **more)
            if not left:
                raise Crash("after a commit")

        with self.monkeypatch.context() as patched:
            for name in ("append", "append_next", "replace", "turn"):
                write = getattr(Store, name)
                patched.setattr(Store, name, lambda *given, _write=write, **more: broken(_write, *given, **more))
            yield
