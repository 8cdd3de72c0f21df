"""Data Docs: one page for each run, drawn by Great Expectations from its results."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
    from great_expectations.render.view.view import DefaultJinjaPageView


def page(results: Sequence[ExpectationSuiteValidationResult], title: str) -> str:
    """Return the page of all results of a run."""
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer

    found = [_escaped(each) for result in results for each in result.results]
    held = sum(bool(each.success) for each in found)
    whole = ExpectationSuiteValidationResult(
        success=held == len(found),
        results=found,
        suite_name=escape(title),
        statistics={
            "evaluated_expectations": len(found),
            "successful_expectations": held,
            "unsuccessful_expectations": len(found) - held,
            "success_percent": 100.0 * held / len(found) if found else None,
        },
        meta=results[0].meta,
    )
    drawn = ValidationResultsPageRenderer().render(whole)
    return str(_view().render(drawn))  # type: ignore[no-untyped-call] # it has no types


@cache
def _view() -> DefaultJinjaPageView:
    """Return the view that makes a page; it compiles its templates once."""
    from great_expectations.render.view.view import DefaultJinjaPageView

    return DefaultJinjaPageView()


def _escaped(result: ExpectationValidationResult) -> ExpectationValidationResult:
    """Return a copy of a result with its values escaped: they come from rows, and the page shows them unescaped."""
    copied = deepcopy(result)
    copied.result = _safe(copied.result)
    return copied


def _safe(value: Any) -> Any:  # noqa: ANN401 # a value of JSON
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {key: _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list | tuple) else value
