"""Validates lines of numbers and rows of tables with Great Expectations: one check for each expectation and table."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from tidemark.core.quality import MOST_EXAMPLES, Check, Severity
from tidemark.errors import ConfigError, Problem, first_line
from tidemark.quality.metrics import Line
from tidemark.quality.suites import Suite, names_of

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuite, ExpectationSuiteValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext

CAPS = {"critical": Severity.BLOCK, "warning": Severity.WARN, "info": Severity.RECORD}
"""The strongest effect of a failed expectation, by the severity in its suite."""
_POSITION, _REASON, _LONGEST_REASON = "tidemark_position", "not_evaluated", 300
_MILDER = (Severity.BLOCK, Severity.WARN, Severity.RECORD)
Result = dict[str, Any]


def imported() -> Any:  # noqa: ANN401 # a module
    """Import Great Expectations, which is slow, with its usage reporting switched off."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations

    return great_expectations


def made(suite: Suite) -> ExpectationSuite:
    """Return a suite as an object of Great Expectations. Raises ConfigError if it refuses an expectation."""
    if wrong := refused(suite):
        raise ConfigError(problems(suite, wrong))
    return _suite(suite, range(len(suite.content["expectations"])))


def refused(suite: Suite) -> dict[int, str]:
    """Return the reasons why Great Expectations refuses expectations of a suite, by their positions."""
    imported()
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    found = {}
    for index, each in enumerate(suite.content["expectations"]):
        try:
            ExpectationConfiguration(**each).to_domain_obj()  # a suite would only log the error
        except Exception as error:  # noqa: BLE001 # any error means that it refuses the expectation
            found[index] = _reason(error)
    return found


def problems(suite: Suite, reasons: Mapping[int, str]) -> list[Problem]:
    """Return the problems of expectations of a suite, each with its key in the file; `reasons` are by position."""
    names = names_of(suite.content["expectations"])
    return [
        Problem(str(suite.file), f"expectations.{index}", f"{names[index]}: {reason}")
        for index, reason in sorted(reasons.items())
    ]


def _suite(suite: Suite, which: Iterable[int]) -> ExpectationSuite:
    """Return some expectations as a suite of Great Expectations; `meta` carries the position of each."""
    asked = suite.content["expectations"]
    own = [asked[index] | {"meta": {**(asked[index].get("meta") or {}), _POSITION: index}} for index in which]
    found: ExpectationSuite = imported().ExpectationSuite(**{**suite.content, "expectations": own})
    return found


def _reason(error: Exception) -> str:
    """Text of an error about an expectation; for an error about its settings, each setting with its problem."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return _first_line(error)
    messages = dict.fromkeys(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors())
    return "; ".join(messages)[:_LONGEST_REASON]


def _first_line(error: object) -> str:
    """Return an error's first line, shortened for people."""
    return first_line(error)[:_LONGEST_REASON]


@cache
def _context() -> EphemeralDataContext:
    """Return the context that Great Expectations needs to validate anything; it stores no results."""
    made: EphemeralDataContext = imported().get_context(mode="ephemeral")
    from great_expectations.data_context.types.base import ProgressBarsConfig

    made.variables.progress_bars = ProgressBarsConfig(globally=False)
    return made


@cache
def _batches(kind: str, table: str) -> Any:  # noqa: ANN401 # its own type is deep inside
    """Return the batch definition for the frames of a table, of pandas or of Spark."""
    sources, name = _context().data_sources, f"{kind} {table}"
    source = sources.add_pandas(name) if kind == "pandas" else sources.add_spark(name, persist=False)
    return source.add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)


@dataclass
class Validation:
    """The checks of one run. `severity` gives the effect of a failed check of a table; results are kept for Data
    Docs."""

    severity: Callable[[str], Severity]
    results: list[ExpectationSuiteValidationResult] = field(default_factory=list)

    def lines(self, suite: Suite, lines: Sequence[Line]) -> Iterator[Check]:
        """Yield the checks of a shipped suite, for each table that has a line."""
        if not lines:
            return
        import pandas as pd

        names = list(dict.fromkeys(name for line in lines for name in line.values))
        frame = pd.DataFrame({name: [line.values.get(name) for line in lines] for name in names}, dtype="float64")
        for result in self.validated(suite, "pandas", frame, "COMPLETE"):
            wrong = set(result["result"].get("unexpected_index_list") or ())
            wrong |= set(range(len(lines))) if _REASON in result else set()
            for table in dict.fromkeys(line.table for line in lines):
                own = [(line, index in wrong) for index, line in enumerate(lines) if line.table == table]
                if (check := self.checked(result, own)) is not None:
                    yield check

    def rows(self, suite: Suite, rows: Any, keys: Sequence[str]) -> Iterator[Check]:  # noqa: ANN401 # a data frame
        """Yield the checks of a suite over the rows of a table, a Spark data frame; `keys` are columns that identify
        a row."""
        form = {
            "result_format": "SUMMARY",
            "unexpected_index_column_names": list(keys),
            "partial_unexpected_count": MOST_EXAMPLES,
        }
        names = names_of(suite.content["expectations"])
        for name, result in zip(names, self.validated(suite, "spark", rows, form), strict=True):
            config, found = result["expectation_config"], result["result"]
            observed, limit = _seen(config["kwargs"], found)
            failed = not result["success"]
            severity = self.capped(suite.table, config["severity"])
            named = [_named(suite.table, row, keys) for row in found.get("partial_unexpected_index_list") or ()]
            notes = config.get("notes") or f"{suite.file.name} expects {name}"
            message = "\n".join(notes) if isinstance(notes, list) else notes
            if reason := result.get(_REASON):
                message = f"{suite.file.name}: {name} cannot be evaluated: {reason}"
            examples = tuple(named[:MOST_EXAMPLES]) if failed else ()
            yield Check(suite.table, name, observed, limit, not failed, severity, examples, message if failed else "")

    def validated(self, suite: Suite, kind: str, frame: Any, form: Any) -> list[Result]:  # noqa: ANN401
        """Return the results of a suite's expectations over a frame of a kind (pandas or spark), in their order. An
        expectation that cannot be evaluated counts as failed, and its result has the reason; the others are still
        evaluated."""
        asked, wrong = suite.content["expectations"], refused(suite)
        sound = [index for index in range(len(asked)) if index not in wrong]
        batch = _batches(kind, suite.table).get_batch({"dataframe": frame})
        results = self._judged(suite, sound, batch, form) if sound else {}
        return [
            results[index] if index in results else _not_judged(each, wrong[index])
            for index, each in enumerate(asked)
        ]

    def not_evaluated(self, suite: Suite, frame: Any) -> dict[int, str]:  # noqa: ANN401 # a data frame
        """Return, by position, why expectations of a suite cannot be evaluated over a frame of Spark; whether they
        hold does not matter."""
        results = self.validated(suite, "spark", frame, "BOOLEAN_ONLY")
        return {index: each[_REASON] for index, each in enumerate(results) if _REASON in each}

    def _judged(self, suite: Suite, which: Sequence[int], batch: Any, form: Any) -> dict[int, Result]:  # noqa: ANN401
        """Return the results of expectations by position; if evaluating all together raises an error, evaluate each
        alone."""
        asked = suite.content["expectations"]
        try:
            found = batch.validate(_suite(suite, which), result_format=form)
        except Exception as error:  # noqa: BLE001 # any error means: not evaluated
            if len(which) == 1:
                return {which[0]: _not_judged(asked[which[0]], _first_line(error))}
            alone = [self._judged(suite, [index], batch, form) for index in which]
            return {index: result for each in alone for index, result in each.items()}
        self.results.append(found)
        results: dict[int, Result] = {}
        for each in found.results:
            result = each.to_json_dict()
            index = result["expectation_config"]["meta"].pop(_POSITION)
            reason = _why_not_judged(result)
            results[index] = result if reason is None else _not_judged(asked[index], reason)
        return results

    def checked(self, result: Result, lines: Sequence[tuple[Line, bool]]) -> Check | None:
        """Return the check of one table; None if there is nothing to check. It is decided by the failed lines with
        the strongest effect, among these by the line furthest beyond its limit."""
        config = result["expectation_config"]
        meta, table = config["meta"], lines[0][0].table
        known = [(line, bad) for line, bad in lines if line.values.get(meta["observed"]) is not None]
        judged = sorted(known, key=lambda each: each[0].where)  # of equals the first is named, however they came
        judged.sort(key=lambda each: _beyond(meta, each[0]), reverse=True)
        if not judged:
            return None
        effects = {line.owner: self.capped(line.owner, config["severity"]) for line, _ in judged}
        failing = [line for line, bad in judged if bad]
        failing.sort(key=lambda line: _MILDER.index(effects[line.owner]))
        looked_at = failing or [line for line, _ in judged]
        observed, limit, told = _observed(looked_at, meta)
        column = meta.get("examples", meta["observed"])
        examples = [text for line in failing for text in line.examples.get(column, ())]
        named = failing if failing else [told] if told is not None and len(judged) > 1 else []
        where = ", ".join(line.where for line in named[:MOST_EXAMPLES] if line.where)
        message = " ".join([*([config["notes"]] if failing else []), *([f"(in {where})"] if where else [])])
        severity = min((effects[line.owner] for line in looked_at), key=_MILDER.index)
        shown = tuple(examples[:MOST_EXAMPLES])
        return Check(table, name_of(config), observed, limit, not failing, severity, shown, message)

    def capped(self, table: str, stated: str) -> Severity:
        """Return the effect of a failed check: the configured effect, but no stronger than the suite allows."""
        return max(self.severity(table), CAPS[stated], key=_MILDER.index)


def name_of(config: Mapping[str, Any]) -> str:
    """Return the name of an expectation: its name in the suite, otherwise its type."""
    return str((config.get("meta") or {}).get("name", config["type"]))


def _observed(lines: Sequence[Line], meta: Mapping[str, Any]) -> tuple[float, float | None, Line | None]:
    """Return the observed value of several lines, its limit, and its line: the first line decides. Counts with one
    fixed limit are summed instead, and the line is None."""
    column, limit = meta["observed"], meta["limit"]
    if isinstance(limit, int | float) and meta.get("counted", True):
        return sum(line.values[column] or 0.0 for line in lines), float(limit), None
    first = lines[0]
    bound = limit if isinstance(limit, int | float) else first.values.get(limit)
    return first.values[column] or 0.0, None if bound is None else float(bound), first


def _beyond(meta: Mapping[str, Any], line: Line) -> tuple[bool, float, float]:
    """Return a sort key: how far a line's value is beyond its own limit. Lines without a limit are lowest. The excess
    is relative to the limit (infinite if the limit is 0); equal ones are sorted by the excess itself."""
    value, limit = line.values[meta["observed"]] or 0.0, meta["limit"]
    bound = float(limit) if isinstance(limit, int | float) else line.values.get(limit)
    if bound is None:
        return False, 0.0, value
    off = {"least": bound - value, "equal": abs(value - bound)}.get(meta.get("holds", "most"), value - bound)
    return True, off / abs(bound) if bound else math.copysign(math.inf, off) if off else 0.0, off


def _seen(asked: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the observed value and the limit of a result over rows: a number of rows; with `mostly`, a share of
    rows; else a value and the bound that it exceeds."""
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
    """Return a row as arguments of `tidemark explain`, or by its key columns."""
    owner = table.partition("/")[2]
    return " ".join([owner, *(str(row.get(key)) for key in keys)])


def _why_not_judged(result: Result) -> str | None:
    """Return the reason why an expectation could not be evaluated; None if it was. Errors are recorded for the
    expectation, or for each metric that it needs."""
    raised = result["exception_info"] or {}
    found = [raised] if "raised_exception" in raised else list(raised.values())
    messages = [each["exception_message"] for each in found if each.get("raised_exception")]
    return _first_line(messages[0]) if messages else None


def _not_judged(config: Mapping[str, Any], reason: str) -> Result:
    """Return the result of an expectation that could not be evaluated: it counts as failed."""
    asked = {"kwargs": {}, "severity": "critical", **config}
    return {"success": False, "expectation_config": asked, "result": {}, _REASON: reason}
