"""Whether a cause is over, from the rows that came since; samples of quarantined rows stay text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from page_warehouse import HOSTILE, SETTINGS, T0, Page, Warehouse, rows, two_runs, warehouse

from oracle import Obj, Row, Run
from tidemark.core.times import HOUR, MINUTE
from tidemark.report.causes.causes import Cause, Kind
from tidemark.report.page.build import build
from tidemark.report.page.charts.vega import Picture
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.lost.samples import LONGEST, MOST
from tidemark.report.page.data.tables import Scope
from tidemark.report.page.over import over

LATE = replace(SETTINGS, late=(10 * MINUTE, "drop"))


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picture, "svg", lambda *_: "")


def hours(*late: int) -> list[Run]:
    """A run for each hour, of a row a minute of partitions a and b; of a so many are an hour late."""
    made = []
    for hour, number in enumerate(late):
        start, landed = T0 + hour * HOUR, T0 + (hour + 1) * HOUR
        a = [Row("a", start + n * MINUTE - HOUR * (n < number), start + n * MINUTE) for n in range(60)]
        b = [Row("b", start + n * MINUTE, start + n * MINUTE) for n in range(60)]
        made.append(Run(landed, (Obj(f"{hour}.json", landed, tuple(a + b)),)))
    return made


def cause(made: Warehouse, **values: object) -> Cause:
    """The late rows of partition a in the first hour."""
    dropped = [v for v in made.outcome.verdicts if v.disposition == "dropped" and v.run == 0]
    first, last = (each(v.arrival or 0 for v in dropped) for each in (min, max))
    given = {"fate": "dropped", "reason": "late", "kind": Kind.LATE_SENDER, "sentence": "Much is late.", "remedy": ""}
    given |= {"source": "readings", "partitions": ("a",), "rows": len(dropped), "first": first, "last": last}
    return Cause(**(given | {"files": ("0.json",)} | values))  # type: ignore[arg-type]


def told(made: Warehouse, scope: Scope | None = None, **values: object) -> str:
    tables = replace(made.tables, causes=[cause(made, **values)], scope=scope or made.tables.scope)
    found = Answers.of(tables).aftermath
    assert found is not None
    return over(found)


@pytest.mark.parametrize(
    ("late", "answer"),
    [
        ((30,), "Not known: no row of a has come since 2026-01-01 13:00:00."),
        ((30, 0), "Yes: of 60 rows of a that arrived since 2026-01-01 13:00:00 none was dropped (late)"),
        ((30, 3, 2), "Yes: 5 of 120 rows of a that arrived since 2026-01-01 13:00:00 (4.2 %) were dropped (late)"),
        ((30, 4, 3), "No: 7 of 120 rows of a that arrived since 2026-01-01 13:00:00 (5.8 %) were dropped (late)"),
    ],
    ids=["nothing came since", "none since", "a tenth of the share", "more than a tenth"],
)
def test_it_is_over_if_at_most_a_tenth_of_the_share_is_hit_since(
    tmp_path: Path, late: tuple[int, ...], answer: str
) -> None:
    """30 of 60 rows were late: a half, of which 5 % is a tenth."""
    said = told(warehouse(tmp_path, LATE, hours(*late)))
    last = f"; the last arrived at 2026-01-01 {11 + len(late)}:59:00." if len(late) > 1 else ""
    assert said == f"{answer}{last}"


def test_a_page_of_a_past_hour_says_what_came_of_it(tmp_path: Path) -> None:
    made = warehouse(tmp_path, LATE, hours(30, 0, 0))
    assert told(made, Scope(1, 1)).startswith("Yes: of 120 rows of a")


def test_a_partition_that_brings_nothing_is_not_over_until_it_does(tmp_path: Path) -> None:
    made = warehouse(tmp_path, LATE, hours(30))
    silent = {"kind": Kind.IDLE_PARTITION, "fate": "", "reason": ""}
    assert told(made, **silent) == "No: no row of a has come since 2026-01-01 13:00:00."
    made = warehouse(tmp_path / "again", LATE, hours(30, 0))
    assert told(made, **silent).startswith("It seems so: 60 rows of a arrived since 2026-01-01 13:00:00; the last")


def test_quarantined_rows_are_counted_by_runs_as_they_may_lack_an_arrival(tmp_path: Path) -> None:
    broken = tuple(Row("a", None, None, broken=True) for _ in range(20))
    bad = Run(T0 + HOUR, (Obj("bad.json", T0 + HOUR, broken),))
    good = Run(T0 + 2 * HOUR, (Obj("good.json", T0 + 2 * HOUR, rows(30, "a", 60)),))
    made = warehouse(tmp_path, SETTINGS, [bad, good])
    values = {"fate": "quarantined", "reason": "invalid_row", "kind": Kind.BAD_FILE, "partitions": ()}
    given = {"files": ("bad.json",), "rows": 20, "first": T0, "last": T0 + HOUR}
    tables = replace(made.tables, causes=[Cause(source="readings", sentence="", remedy="", **values, **given)])  # type: ignore[arg-type]
    found = Answers.of(tables).aftermath
    assert found is not None
    assert over(found).startswith("Yes: of 30 rows that were taken in later runs none was quarantined (invalid row)")
    rows_of = "tidemark rows toll.yml --source readings --fate quarantined --reason invalid_row"
    assert f"Its rows: {rows_of}" in Page.of(build(tables)).sentences, "no times, as these rows have none"


def test_the_page_answers_below_its_first_sentence_and_gives_the_command(tmp_path: Path) -> None:
    made = warehouse(tmp_path, LATE, hours(30, 0))
    page = Page.of(build(replace(made.tables, causes=[cause(made)])))
    at = page.sentences.index("Much is late.")
    assert page.sentences[at + 1].startswith("Is it over? Yes: of 60 rows of a")
    assert page.sentences[at + 2] == (
        "Its rows: tidemark rows toll.yml --source readings --partition a --fate dropped --reason late "
        "--since 2026-01-01T12:00:00Z --until 2026-01-01T13:00:00Z"
    )


# -- quarantined rows


def with_texts(place: Path, text: str) -> Warehouse:
    """Two runs whose quarantined rows have this text."""
    import page_warehouse
    import report_warehouse

    with pytest.MonkeyPatch.context() as patch:
        plain = report_warehouse.event
        patch.setattr(
            report_warehouse, "event", lambda *a, **v: plain(*a, **(v | {"_raw": text if v["_raw"] else None}))
        )
        return page_warehouse.warehouse(place, SETTINGS, two_runs())


def test_quarantined_rows_are_counted_by_reason_with_the_newest_as_samples(tmp_path: Path) -> None:
    made = with_texts(tmp_path, '{"passed": "never"')
    page = Page.of(build(made.tables))
    mine = [v for v in made.outcome.verdicts if v.disposition == "quarantined"]
    (line,) = page.lines("quarantined-table")
    files = {v.uri for v in mine}
    assert [line[name] for name in ("reason", "rows", "files")] == [
        mine[0].reasons[0],
        str(len(mine)),
        str(len(files)),
    ]
    samples = page.lines("samples")
    newest = sorted(mine, key=lambda v: (v.run, v.partition, v.offset), reverse=True)[:MOST]
    assert [(s["partition"], s["offset"], s["file"]) for s in samples] == [
        (v.partition, str(v.offset), v.uri) for v in newest
    ]
    assert {s["text"] for s in samples} == {'{"passed": "never"'}
    most = max(sorted(files), key=lambda name: sum(v.uri == name for v in mine))
    assert any(
        each.endswith(f"in no stream: {len(mine)} {mine[0].reasons[0].replace('_', ' ')}, most from {most}.")
        for each in page.sentences
    )


def test_texts_of_rows_are_cut_escaped_and_can_be_left_out(tmp_path: Path) -> None:
    made = with_texts(tmp_path, HOSTILE + "x" * 2 * LONGEST)
    text = build(made.tables)
    page = Page.of(text)
    assert not page.tags["script"]
    assert "\x1b" not in text
    shown = page.lines("samples")[0]["text"]
    assert shown.startswith("<script>alert('x')</script>\"&\\x1b\\u202e")
    assert shown.endswith(f"x ... {LONGEST + len(HOSTILE):,} more characters")
    without = build(replace(made.tables, samples=False))
    assert "alert" not in without
    assert "Their text is not shown: the page was asked to be without samples." in Page.of(without).sentences
    assert Page.of(without).lines("quarantined-table") == page.lines("quarantined-table")
