"""How often each pair of choices occurs in the generated pipelines of the long suite, as tables of docs/proven.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from aggregates import KINDS
from payload import FORMATS, TYPES, columns_of
from pipelines import OPERATORS

SHAPES = ("point", "interval", "edge")
TOLERANCES = ("early", "late", "out of order")
POLICIES = (
    *[f"{name} {action}" for name in TOLERANCES[:2] for action in ("off", "drop", "adjust")],
    *[f"{TOLERANCES[2]} {action}" for action in ("drop", "adjust", "keep")],
    "arrival only",
)
NO_TIME = ("arrival only", "interval")
ADMISSION = ("require", "deduplicate")
VIOLATIONS = ("violations drop", "violations adjust")
Pairs = Counter[tuple[str, str]]


def possible() -> Iterator[tuple[str, str]]:
    """Every pair that can be: tolerances are for points and intervals, of which the latter have a time of their own,
    and csv has no values with parts."""
    yield from ((operator, kind) for operator in OPERATORS for kind in KINDS)
    yield from ((one, other) for one in KINDS for other in KINDS if one <= other)
    yield from ((policy, shape) for policy in POLICIES for shape in SHAPES[:2] if (policy, shape) != NO_TIME)
    yield from ((asked, shape) for asked in ADMISSION for shape in SHAPES)
    yield from ((policy, shape) for policy in VIOLATIONS for shape in SHAPES)
    yield from ((kind, type_) for kind in FORMATS for type_ in columns_of(kind).values())


def tables(found: Pairs) -> str:
    """The counts as tables in Markdown."""
    return "\n".join(
        [
            *_table("below or in the window", OPERATORS, KINDS, found),
            "",
            *_table(
                "in one `select`", KINDS, KINDS, Counter({pair: n for pair, n in found.items() if pair[0] <= pair[1]})
            ),
            "",
            *_table("policy", (*ADMISSION, *POLICIES, *VIOLATIONS), SHAPES, found),
            "",
            *_table("format", FORMATS, tuple(TYPES.values()), found),
        ]
    )


def _table(name: str, rows: Sequence[str], columns: Sequence[str], found: Pairs) -> Iterator[str]:
    yield _line([name, *[f"`{column}`" for column in columns]])
    yield "|---" * (len(columns) + 1) + "|"
    for row in rows:
        yield _line([row, *[str(found[row, column] or "") for column in columns]])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
