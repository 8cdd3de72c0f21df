"""Rows by fate in tables and cards of pages."""

from __future__ import annotations

import re

import pytest

from tidemark.report.page.fates import HEADS, cards, fate_cells


@pytest.mark.parametrize(
    ("counts", "parts"),
    [
        ({"on_time": 3, "dropped": 1}, [("on-time", 75.0), ("dropped", 25.0)]),
        ({"quarantined": 7}, [("quarantined", 100.0)]),
        ({"on_time": 999_999, "adjusted": 1}, [("on-time", 97.09), ("adjusted", 2.91)]),
    ],
)
def test_a_bar_has_a_part_for_each_fate_with_rows_and_few_can_be_seen(counts, parts):
    *numbers, bar = fate_cells(counts)
    assert numbers == [sum(counts.values()), *(counts.get(name.replace(" ", "_"), 0) for name in HEADS[1:-1])]
    found = re.findall(r'<rect x="([\d.]+)" width="([\d.]+)" height="10" class="([a-z-]+)">', str(bar))
    assert [(kind, float(width)) for _, width, kind in found] == parts
    begins = [sum(width for _, width in parts[:place]) for place in range(len(parts))]
    assert [float(begin) for begin, _, _ in found] == pytest.approx(begins, abs=0.01)


def test_a_bar_says_its_shares_and_nothing_is_drawn_without_rows():
    assert "<title>on time 75.0 %, dropped 25.0 %</title>" in str(fate_cells({"on_time": 3, "dropped": 1})[-1])
    assert fate_cells({}) == [0, 0, 0, 0, 0, None]
    assert fate_cells(None) == [None] * len(HEADS)
    assert "(none)" in str(cards(dict.fromkeys(("on_time", "adjusted", "dropped", "quarantined"), 0)))
