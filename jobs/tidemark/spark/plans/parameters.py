"""Numbers that differ from run to run in plans that may serve several runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.spark.jvm_functions import running

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class Parameter(Protocol):
    """Gives a number that is known by a name, or null, as a column; `beside` names a column of the same rows."""

    def __call__(self, name: str, number: int | None, beside: str) -> Column: ...


def constant(name: str, number: int | None, beside: str) -> Column:  # noqa: ARG001 # as others are `Known`
    """The number in a plan that serves one run."""
    return F.lit(number).cast("long")


@dataclass(frozen=True)
class PlanParameters:
    """Numbers told to the tasks of a job as it begins: a plan that was built with them serves other jobs, which are
    told others."""

    _held: dict[str, JavaObject] = field(default_factory=dict)

    def __call__(self, name: str, number: int | None, beside: str) -> Column:
        jvm = running()
        if name not in self._held:
            self._held[name] = jvm.tidemark.Held()
        held = self._held[name]
        held.set(number)
        return Column(held.beside(jvm.PythonUtils.toSeq([F.hash(beside)._jc])))

    def tell(self, numbers: Mapping[str, int | None]) -> None:
        """Tell jobs that begin later the numbers, of which every one that is asked for must be among them."""
        for name, held in self._held.items():
            held.set(numbers[name])
