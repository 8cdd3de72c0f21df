"""Great Expectations judges lines of numbers, and rows of tables: one check an expectation and table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from tidemark.core.quality import MOST_EXAMPLES, Check, Severity
from tidemark.errors import ConfigError, Problem
from tidemark.quality.measures import Line
from tidemark.quality.suites import Suite

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuite, ExpectationSuiteValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext

CAPS = {"critical": Severity.BLOCK, "warning": Severity.WARN, "info": Severity.RECORD}
"""The most that an expectation of a severity, as a suite states it, may do."""
_MILDER = (Severity.BLOCK, Severity.WARN, Severity.RECORD)
Result = dict[str, Any]


def imported() -> Any:  # noqa: ANN401 # a module
    """Great Expectations, which is slow to import and tells nobody that it is used."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations

    return great_expectations


def made(suite: Suite) -> ExpectationSuite:
    """A suite as Great Expectations has it; ConfigError where it has another opinion of an expectation."""
    gx = imported()
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    problems = []
    for index, each in enumerate(suite.content["expectations"]):
        try:
            ExpectationConfiguration(**each).to_domain_obj()  # a suite would only log what is wrong
        except Exception as error:  # noqa: BLE001 # whatever it raises is its opinion of the file
            told = next(iter(str(error).splitlines()), type(error).__name__)
            problems.append(Problem(str(suite.file), f"expectations.{index}", f"{each['type']}: {told}"))
    if problems:
        raise ConfigError(problems)
    found: ExpectationSuite = gx.ExpectationSuite(**suite.content)
    return found


@cache
def _context() -> EphemeralDataContext:
    """What Great Expectations asks for to judge anything; it keeps nothing of what was judged."""
    made: EphemeralDataContext = imported().get_context(mode="ephemeral")
    from great_expectations.data_context.types.base import ProgressBarsConfig

    made.variables.progress_bars = ProgressBarsConfig(globally=False)
    return made


@cache
def _batches(kind: str, table: str) -> Any:  # noqa: ANN401 # its own type is deep inside
    """What takes the frames of a table, of pandas or of Spark."""
    sources, name = _context().data_sources, f"{kind} {table}"
    source = sources.add_pandas(name) if kind == "pandas" else sources.add_spark(name, persist=False)
    return source.add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)


@dataclass
class Judging:
    """The checks of one run. `severity` is what a failed check of a table does; results are kept for Data Docs."""

    severity: Callable[[str], Severity]
    results: list[ExpectationSuiteValidationResult] = field(default_factory=list)

    def lines(self, suite: Suite, lines: Sequence[Line]) -> Iterator[Check]:
        """The checks of a shipped suite: of each table that a line is about."""
        if not lines:
            return
        import pandas as pd

        names = list(dict.fromkeys(name for line in lines for name in line.values))
        frame = pd.DataFrame({name: [line.values.get(name) for line in lines] for name in names}, dtype="float64")
        for result in self.validated(suite, "pandas", frame, "COMPLETE"):
            wrong = set(result["result"].get("unexpected_index_list") or ())
            for table in dict.fromkeys(line.table for line in lines):
                own = [(line, index in wrong) for index, line in enumerate(lines) if line.table == table]
                if (check := self.checked(result, own)) is not None:
                    yield check

    def rows(self, suite: Suite, rows: Any, keys: Sequence[str]) -> Iterator[Check]:  # noqa: ANN401 # a data frame
        """The checks of a suite over the rows of a table, a Spark data frame; `keys` are the columns that name a
        row."""
        form = {
            "result_format": "SUMMARY",
            "unexpected_index_column_names": list(keys),
            "partial_unexpected_count": MOST_EXAMPLES,
        }
        for result in self.validated(suite, "spark", rows, form):
            config, found = result["expectation_config"], result["result"]
            observed, limit = _seen(config["kwargs"], found)
            failed = not result["success"]
            severity = self.capped(suite.table, config["severity"])
            named = [_named(suite.table, row, keys) for row in found.get("partial_unexpected_index_list") or ()]
            notes = config.get("notes") or f"{suite.file.name} expects {config['type']}"
            told = "\n".join(notes) if isinstance(notes, list) else notes
            examples = tuple(named[:MOST_EXAMPLES]) if failed else ()
            yield Check(
                suite.table, name_of(config), observed, limit, not failed, severity, examples, told if failed else ""
            )

    def validated(self, suite: Suite, kind: str, frame: Any, form: Any) -> list[Result]:  # noqa: ANN401
        """The results of a suite's expectations over a frame of a kind (pandas or spark), in their order."""
        found = _batches(kind, suite.table).get_batch({"dataframe": frame}).validate(made(suite), result_format=form)
        self.results.append(found)
        results: list[Result] = [each.to_json_dict() for each in found.results]
        for result in results:
            _raise_if_not_judged(suite, result)
        names = [name_of(each) for each in suite.content["expectations"]]
        return sorted(results, key=lambda result: names.index(name_of(result["expectation_config"])))

    def checked(self, result: Result, lines: Sequence[tuple[Line, bool]]) -> Check | None:
        """The check of one table; None where there was nothing to judge."""
        config = result["expectation_config"]
        meta, table = config["meta"], lines[0][0].table
        judged = [(line, bad) for line, bad in lines if line.values.get(meta["observed"]) is not None]
        if not judged:
            return None
        failing = [line for line, bad in judged if bad]
        observed, limit = _told(failing or [line for line, _ in judged], meta)
        column = meta.get("examples", meta["observed"])
        examples = [text for line in failing for text in line.examples.get(column, ())]
        where = ", ".join(line.where for line in failing[:MOST_EXAMPLES] if line.where)
        message = f"{config['notes']} (in {where})" if where else config["notes"] if failing else ""
        severity = self.capped(table, config["severity"])
        return Check(
            table,
            name_of(config),
            observed,
            limit,
            not failing,
            severity,
            tuple(examples[:MOST_EXAMPLES]),
            message,
        )

    def capped(self, table: str, stated: str) -> Severity:
        """What a failed check does: what the configuration says, and no more than the suite."""
        return max(self.severity(table), CAPS[stated], key=_MILDER.index)


def name_of(config: Mapping[str, Any]) -> str:
    """The name of an expectation: what the suite calls it, else its type."""
    return str((config.get("meta") or {}).get("name", config["type"]))


def _told(lines: Sequence[Line], meta: Mapping[str, Any]) -> tuple[float, float | None]:
    """What is observed of several lines: the sum of counts, else the value furthest off, with the limit of that."""
    observed = [value for line in lines if (value := line.values[meta["observed"]]) is not None]
    limit = meta["limit"]
    if isinstance(limit, int | float):
        return (min(observed) if min(observed) < limit else sum(observed)), float(limit)
    limits = [value for line in lines if (value := line.values.get(limit)) is not None]
    if len(lines) == 1 or len(limits) != len(observed):
        return observed[0], (limits[0] if limits else None)
    return sum(observed), sum(limits)


def _seen(asked: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """What a result over rows observed, and the limit: rows, or with `mostly` their share, else a value and the bound
    that it passes."""
    if found.get("unexpected_count") is not None:
        mostly = asked.get("mostly", 1)
        if mostly < 1:
            return (found.get("unexpected_percent") or 0.0) / 100, 1 - mostly
        return float(found["unexpected_count"]), 0.0
    value = found.get("observed_value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, None
    low, high = asked.get("min_value"), asked.get("max_value", asked.get("value"))
    bound = low if isinstance(low, int | float) and value < low else high
    return float(value), float(bound) if isinstance(bound, int | float) else None


def _named(table: str, row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """A row as `tidemark explain` takes it, or by what names it in its table."""
    owner = table.partition("/")[2]
    return " ".join([owner, *(str(row.get(key)) for key in keys)])


def _raise_if_not_judged(suite: Suite, result: Result) -> None:
    """An expectation that could not be evaluated is a mistake in its suite."""
    if result["result"]:
        return
    raised = result["exception_info"]
    found = raised if "exception_message" in raised else next(iter(raised.values()))
    config = result["expectation_config"]
    raise ConfigError([Problem(str(suite.file), config["type"], str(found["exception_message"]).splitlines()[0])])
