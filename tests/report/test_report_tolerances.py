"""What was advised on tolerances, as a page shows it: heat maps of every cell, and a table with their numbers."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from page_warehouse import Page, delta, warehouse

from oracle import Obj, Row, Run, Source
from tidemark.core.times import MINUTE, SECOND, parse_time
from tidemark.ledger.tables.schemas import ADVICE
from tidemark.report.advice import cost, share, target, yaml_of
from tidemark.report.page.build import build
from tidemark.report.page.charts.tolerances import moved_picture
from tidemark.report.page.charts.vega import NARROW, WIDE

T0 = parse_time("2026-01-01T12:00:00Z")
LATES, DISORDERS = (0, 5 * SECOND, None), (0, 30 * SECOND)


def cells(**values: Any) -> list[dict[str, Any]]:
    """Advice on one source; the first cell is present, the last but one recommended."""
    rows = []
    for number, (late, disorder) in enumerate(itertools.product(LATES, DISORDERS)):
        row = {"batch_id": 1, "as_of": T0, "source": "readings", "late": late, "out_of_order": disorder, "rows": 2000}
        row |= {"adjusted": 1000 - 150 * number, "dropped": 900 - 150 * number, "own_adjusted": 10, "own_dropped": 7}
        row |= {"delay": number * MINUTE, "longest_delay": number * MINUTE + SECOND, "present": number == 0}
        row |= {"recommended": number == 4, "target_dropped": None, "target_adjusted": 0.05}
        rows.append(row | values)
    return rows


def page_of(folder: Path, rows: list[dict[str, Any]] | None) -> Page:
    run = Run(T0 + MINUTE, (Obj("a", T0, (Row("0", T0, T0),)),))
    advice = None if rows is None else delta(folder / "advice", rows, ADVICE)
    return Page.of(build(warehouse(folder, Source(), [run, Run(T0 + 2 * MINUTE, ())], advice=advice).tables))


def test_every_cell_is_in_the_table_and_on_the_heat_maps(tmp_path):
    page = page_of(tmp_path, cells()[::-1])
    lines = page.lines("tolerances-readings")
    pairs = [(line["late"], line["out_of_order"]) for line in lines]
    assert pairs == list(itertools.product(("0s", "5s", "off"), ("0s", "30s")))
    assert [line["adjusted, if adjusted"] for line in lines] == ["1,000", "850", "700", "550", "400", "250"]
    assert [line["dropped, if dropped"] for line in lines] == ["900", "750", "600", "450", "300", "150"]
    assert [line["behind"] for line in lines] == ["0s", "1m", "2m", "3m", "4m", "5m"]
    assert [line[""] for line in lines] == ["present", "-", "-", "-", "recommended", "-"]
    drawn = {name: set(texts) for name, texts in page.drawn.items()}
    assert {"50%", "42.5%", "35%", "27.5%", "20%", "12.5%"} <= drawn["tolerances-adjusted-readings"]
    assert {"45%", "37.5%", "30%", "22.5%", "15%", "7.5%"} <= drawn["tolerances-dropped-readings"]
    assert {"0s", "1m", "2m", "3m", "4m", "5m", "off"} <= drawn["tolerances-delay-readings"]


def test_the_page_says_of_which_rows_it_is_what_they_cost_and_what_is_recommended(tmp_path):
    whole = " ".join(page_of(tmp_path, cells()).sentences)
    assert "readings: made of all rows up to batch 1, of the run as of 2026-01-01 12:00:00" in whole
    assert "Not in it: 1 later batch." in whole
    assert (
        "At present: late 0s, out_of_order 0s: 10 rows adjusted (0.5%), 7 dropped (0.35%); output 0s behind" in whole
    )
    assert "Recommended for at most 5% adjusted: late off, out_of_order 0s" in whole


def test_without_a_recommendation_and_where_actions_do_the_same_there_is_one_map_less(tmp_path):
    page = page_of(tmp_path, cells(recommended=False, adjusted=3, dropped=3))
    assert "tolerances-dropped-readings" not in page.drawn
    assert any("No pair of tolerances meets the target (at most 5% adjusted)" in each for each in page.sentences)


def test_a_page_without_advice_says_which_command_makes_it(tmp_path):
    assert any("tidemark advise toll.yml" in each for each in page_of(tmp_path, None).sentences)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_present_and_recommended_cells_are_framed(tmp_path, width):
    from tidemark.report.page.data.advised import advised_of

    run = Run(T0 + MINUTE, (Obj("a", T0, (Row("0", T0, T0),)),))
    tables = warehouse(tmp_path, Source(), [run], advice=delta(tmp_path / "advice", cells(), ADVICE)).tables
    (advised,) = advised_of(tables)
    drawing = moved_picture(advised, "adjusted").svg(width, "x")
    assert drawing.count('stroke="var(--ink)"') == 2
    assert drawing.count('stroke-dasharray="5,3"') == 1


SHARES = [
    (0, 5, "0%"),
    (5, 5, "100%"),
    (1, 3, "33.3%"),
    (1, 10**6, "<0.01%"),
    (99_999, 10**5, ">99.9%"),
    (0, 0, "0%"),
]


@pytest.mark.parametrize(("count", "rows", "text"), SHARES)
def test_a_share_is_never_rounded_to_none_or_all(count, rows, text):
    assert share(count, rows) == text


def test_costs_targets_and_settings_in_words():
    assert cost(100, 1, 0, None).endswith("there is no output, since some partition never has a watermark")
    assert target(0.01, 0.2) == "at most 1% dropped and at most 20% adjusted"
    assert target(0.9996, None) == "at most 99.96% dropped"
    assert yaml_of(None, 2 * MINUTE, ("adjust", "keep")) == (
        "late_arrival: off\nout_of_order: {tolerance: 2m, action: keep}"
    )
