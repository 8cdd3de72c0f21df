"""Plan parameters: numbers that differ from run to run in a plan that is built once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.spark.compat.jvm import scala_columns
from tidemark.spark.jvm_functions import java_class

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class Parameter(Protocol):
    """Gives a named number, or null, as a column; `beside` names a column of the rows that it is added to."""

    def __call__(self, name: str, number: int | None, beside: str) -> Column: ...


def constant(name: str, number: int | None, beside: str) -> Column:  # noqa: ARG001 # signature of `Parameter`
    """The number as a literal, for a plan that serves one run."""
    return F.lit(number).cast("long")


@dataclass(frozen=True)
class PlanParameters:
    """Numbers that tasks get as a job begins, so that a plan built with them serves later jobs with other numbers."""

    _parameters: dict[str, JavaObject] = field(default_factory=dict)

    def __call__(self, name: str, number: int | None, beside: str) -> Column:
        if name not in self._parameters:
            self._parameters[name] = java_class("plans.PlanNumber")()
        parameter = self._parameters[name]
        parameter.set(number)
        return Column(parameter.beside(scala_columns([F.hash(beside)])))

    def set(self, numbers: Mapping[str, int | None]) -> None:
        """Set the numbers for later jobs; each parameter of the plan must be given, else KeyError."""
        for name, parameter in self._parameters.items():
            parameter.set(numbers[name])
