"""Advice on tolerances: every cell of its grid is what the oracle makes of the same runs with the cell's policy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from recorded import recorded
from samples import KEYED, PARTITIONS, PLAIN, at, drawn, obj

import oracle
from oracle import SECOND, Obj, Row, Run, Source
from product import Product
from strategies import NAMES, Log, logs, sources, started, wide_names
from tidemark import cli
from tidemark.commands.advise.advise import Advising
from tidemark.config import QualitySpec
from tidemark.core.advice import held_out
from tidemark.core.advice.costs import Targets
from tidemark.core.times import parse_duration, parse_time
from tidemark.errors import UsageError
from tidemark.ledger.lock import hold
from tidemark.spark.judge.engine import Engine

pytestmark = pytest.mark.usefixtures("quick")
LATES, DISORDERS = "0s,2s,5s,1m", "0s,1s,4s,30s"
ACTIONS = ("adjust", "drop")

Fates = dict[str, Counter[str]]


def micros(text: str) -> int | None:
    return None if text == "off" else parse_duration(text)


def advised(product: Product, spark: Any, tasks: int | None = None, **options: Any) -> dict[str, Any]:
    """The record of `advise`, of rows spread over so many tasks in chunks as small as there can be."""
    pipeline = product.pipeline()
    if tasks is not None:
        pipeline.context.__dict__["engine"] = Engine(spark, pipeline.ledger.folder, tasks=tasks, cell_bits=1)
    return pipeline.advise(**options)


def judged(source: Source, runs: Sequence[Run], cell: dict[str, Any], late: str, order: str) -> oracle.Outcome:
    """The runs under a cell's tolerances, with these actions."""
    tolerance = micros(cell["late"])
    policy = None if tolerance is None else (tolerance, late)
    tried = replace(source, late=policy, out_of_order=(micros(cell["out_of_order"]), order))
    return oracle.judge(tried, runs)


def counted(outcome: oracle.Outcome) -> Fates:
    """Fates by partition, duplicates apart; all of them under ''."""
    found: Fates = {"": Counter()}
    for verdict in outcome.verdicts:
        for name in ("", verdict.partition):
            found.setdefault(name, Counter())[_fate(verdict)] += 1
    return found


def delays(outcome: oracle.Outcome) -> list[int]:
    """How far the combined watermark was behind the latest arrival when runs that brought rows ended."""
    found, before = [], {}
    for end in outcome.ends:
        offsets = {name: state.next_offset for name, state in end.states.items() if name != oracle.UNKNOWN}
        known = {name: state for name, state in end.states.items() if name != oracle.UNKNOWN}
        arrival = oracle.latest(*[state.last_arrival for state in known.values()])
        brought = any(count != before.get(name, 0) for name, count in offsets.items())
        if brought and end.combined is not None and arrival is not None:
            found.append(max(0, arrival - end.combined))
        before = offsets
    return sorted(found)


def hold_cell(source: Source, runs: Sequence[Run], cell: dict[str, Any]) -> None:
    """One cell's counts, in all and by partition, under each action and the source's own, and its delay."""
    own = (source.late[1] if source.late else "adjust", source.out_of_order[1])
    outcomes = {
        actions: judged(source, runs, cell, *actions) for actions in {*zip(ACTIONS, ACTIONS, strict=True), own}
    }
    fates = {actions: counted(outcome) for actions, outcome in outcomes.items()}
    shown = {"": cell} | cell["partitions"]
    for name in fates[own]:
        told = (shown[name]["rows"], shown[name]["adjusted"], shown[name]["dropped"], shown[name]["own"])
        assert told == (
            fates[own][name].total(),
            fates["adjust", "adjust"][name]["adjusted"] + fates["adjust", "adjust"][name]["empty"],
            fates["drop", "drop"][name]["dropped"],
            _own(fates[own][name]),
        ), (cell["late"], cell["out_of_order"], name)
    assert shown.keys() == fates[own].keys()
    found = delays(outcomes[own])
    assert cell["delay_micros"] == (found[(len(found) - 1) // 2] if found else None)
    assert cell["longest_delay_micros"] == (found[-1] if found else None)


def hold_periods(source: Source, runs: Sequence[Run], record: dict[str, Any]) -> None:
    """Each newest period has the tolerances that the rows before it recommend, and its rows' fates under them."""
    (about,), cells = record["sources"], record["grid"]
    actions = source.late[1] if source.late else "adjust", source.out_of_order[1]
    asked = {pair: [judged(source, runs, cell, *pair).verdicts for cell in cells] for pair in {*BOTH, actions}}
    arrivals = [v.arrival for v in asked[actions][0] if v.arrival is not None and v.partition != oracle.UNKNOWN]
    newest, ranks = max(arrivals), [(_endless(cell["delay_micros"]), number) for number, cell in enumerate(cells)]
    for period in about["held_out"]:
        start, end = parse_time(period["from"]), parse_time(period["to"])
        assert ((newest - end) % held_out.PERIOD, end - start) == (0, held_out.PERIOD)
        before = {pair: [_fates(each, None, start) for each in asked[pair]] for pair in BOTH}
        met = [n for n in range(len(cells)) if all(_met(about, before[pair][n]) for pair in BOTH)]
        best = min((ranks[n] for n in met), default=None)
        chosen = None if best is None else cells[best[1]]
        assert [period[key] for key in TOLERANCES] == [chosen and chosen[key] for key in TOLERANCES]
        if best is not None:
            within = _fates(asked[actions][best[1]], start, None if end == newest else end)
            assert (period["counts"]["rows"], period["counts"]["own"]) == (within.total(), _own(within))


TOLERANCES = ("late", "out_of_order")
BOTH = [("adjust", "adjust"), ("drop", "drop")]


def _fate(verdict: oracle.Verdict) -> str:
    """The fate of a row, apart from others of duplicates and of intervals that were moved to their end."""
    return verdict.reasons[-1] if verdict.reasons[-1:] in (("duplicate",), ("empty",)) else verdict.disposition


def _own(fates: Counter[str]) -> dict[str, int]:
    return {"adjusted": fates["adjusted"], "dropped": fates["dropped"] + fates["empty"]}


def _endless(delay: int | None) -> float:
    return float("inf") if delay is None else delay


def _fates(verdicts: Sequence[oracle.Verdict], after: int | None, until: int | None) -> Counter[str]:
    """Fates of rows by arrival; a row without one is the oldest."""
    times = [(oracle.MIN_TIME if v.arrival is None else v.arrival, _fate(v)) for v in verdicts]
    return Counter(fate for t, fate in times if (after is None or t > after) and (until is None or t <= until))


def _met(about: dict[str, Any], fates: Counter[str]) -> bool:
    counts = {"adjusted": fates["adjusted"] + fates["empty"], "dropped": fates["dropped"]}
    return all(
        about[f"target_{fate}"] is None or count <= about[f"target_{fate}"] * fates.total()
        for fate, count in counts.items()
    )


# every cell, of sources whose runs the oracle judged


@st.composite
def mixed_logs(draw: st.DrawFn) -> Log:
    """A random log of a source with tolerances: many partitions with few rows each, or few with many; now and then
    with a start."""
    names = draw(st.sampled_from((wide_names(12), NAMES)))
    source = draw(sources(names, intervals=True).filter(lambda each: each.timestamp_by))
    log = draw(logs(source, names, rows=(100, 140), runs=(3, 5)))
    if draw(st.sampled_from((False, False, True))):
        objects = [each for run in log.runs for each in run.objects]
        return replace(log, source=draw(started(log.source, objects)))
    return log


def behind(name: str, seconds: Sequence[float]) -> tuple[Row, ...]:
    """Rows of a partition that arrive at these seconds, 1 to 3 s after they happened."""
    return tuple(Row(name, at(s - 1 - number % 3), at(s), "a") for number, s in enumerate(seconds))


def late_starts(over: bool) -> Log:
    """Partitions that are first seen when others have long passed the times of their rows."""
    source = replace(KEYED, over=over, partitions=("p0",), landing_delay=60 * SECOND)
    runs = (
        Run(at(30), (Obj("a", at(30), behind("p0", range(10, 31, 2))),)),
        Run(at(60), (Obj("b", at(60), behind("p1", (12, 14, 20, 27, 28, 29, 40))),)),
        Run(at(90), (Obj("c", at(90), behind("p2", (20, 33, 38, 50)) + behind("p0", (61, 80))),)),
        Run(at(95), (Obj("d", at(95), behind("p3", (36, 37, 39, 62)) + behind("p1", (70,))),)),
    )
    return Log(source, runs)


def lasting() -> Log:
    """Intervals that are often late or behind, and then often over."""
    source = replace(KEYED, over=False, late=(2 * SECOND, "adjust"), interval=True)
    return drawn(logs(source, PARTITIONS, rows=(100, 140), runs=(3, 4)), 1)[0]


def hold_random_sources(folder: Path, spark: Any, count: int) -> None:
    """Each in one task and in several, in chunks."""
    listed = {f"s{number}": log for number, log in enumerate(drawn(mixed_logs(), count))}
    listed |= {"late": late_starts(over=False), "late_keyed": late_starts(over=True), "lasting": lasting()}
    product, tested = recorded(folder, listed), 0
    for number, (name, log) in enumerate(listed.items()):
        lates = LATES if log.source.over else f"{LATES},off"
        record = advised(product, spark, (3, 1)[number % 2], source=name, late=lates, out_of_order=DISORDERS)
        if not oracle.judge(log.source, log.runs).verdicts:  # all are before its start
            assert record["not_applicable"][0]["why"] == "no row of it has been judged yet"
            continue
        assert len(record["grid"]) >= len(lates.split(",")) * len(DISORDERS.split(","))
        for cell in record["grid"]:
            hold_cell(log.source, log.runs, cell)
        hold_periods(log.source, log.runs, record)
        tested += len(record["sources"][0]["held_out"])
    assert tested


@pytest.fixture
def short_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "PERIOD", 20 * SECOND)


@pytest.mark.usefixtures("short_periods")
def test_each_cell_is_what_the_runs_come_to_under_its_tolerances(tmp_path, spark):
    hold_random_sources(tmp_path, spark, 2)


@pytest.mark.long
@pytest.mark.usefixtures("short_periods")
def test_the_same_for_many_sources(tmp_path, spark):
    hold_random_sources(tmp_path, spark, 12)


# a pipeline whose runs were made, in micro-batches


SOURCES = {
    "plain": replace(PLAIN, partitions=("p0",), out_of_order=(2 * SECOND, "adjust")),
    "keyed": replace(KEYED, partitions=("p0", "p1")),
    "arrived": replace(PLAIN, timestamp_by=False),
}
RUNS = (
    Run(at(5), (obj("a", 4, 30, ("p0", "p1")), obj("b", 5, 30, ("p1",)))),
    Run(at(20), ()),
    Run(at(40), (obj("c", 39, 30), obj("d", 40, 20, ("p2", "p3")))),
    Run(at(60), (obj("e", 50, 20, ("p0", "p4")),)),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, quick: Any) -> Product:  # noqa: ARG001 # its settings
    product = Product(tmp_path_factory.mktemp("advice") / "made", SOURCES, {"quality": {"max_dropped": "30%"}})
    for run in RUNS:
        for name in SOURCES:
            product.land(name, run.objects)
        product.run(run.as_of, max_files=2)
    return product


@pytest.fixture(scope="module")
def told(made: Product) -> dict[str, Any]:
    return made.pipeline().advise()


@pytest.mark.parametrize("name", ["plain", "keyed"])
def test_the_grid_is_chosen_from_the_rows_and_the_present_cell_is_what_was_recorded(made, told, name):
    cells = [cell for cell in told["grid"] if cell["source"] == name]
    lates, disorders = ({cell[key] for cell in cells} for key in ("late", "out_of_order"))
    assert {"0s", "4s"} < lates
    assert {"0s", "2s"} <= disorders
    assert len(cells) == len(lates) * len(disorders)
    (present,) = [cell for cell in cells if cell["present"]]
    assert (present["late"], present["out_of_order"]) == ("4s", "2s")
    fates = Counter(row["_disposition"] for row in made.events(name))
    assert present["own"] == {fate: fates[fate] for fate in ("adjusted", "dropped")}
    for cell in cells:
        hold_cell(SOURCES[name], RUNS, cell)


def test_a_source_without_event_time_is_named_with_the_reason(told):
    (other,) = told["not_applicable"]
    assert other["source"] == "arrived"
    assert "arrival is its event time" in other["why"]


def test_the_limits_of_quality_are_the_targets_where_none_are_given(told):
    plain, keyed = told["sources"]
    assert (plain["target_dropped"], plain["target_adjusted"]) == (0.3, None)
    assert (keyed["target_dropped"], keyed["target_adjusted"]) == (None, 0.01)
    cells = [cell for cell in told["grid"] if cell["source"] == "plain"]
    met = [cell for cell in cells if cell["dropped"] <= 0.3 * cell["rows"]]
    assert met == [cell for cell in cells if cell["meets_targets"]]
    best = told["recommended"]["plain"]
    assert best["delay_micros"] == min(cell["delay_micros"] for cell in met)


def test_a_source_with_a_limit_of_its_own_has_the_others_of_the_pipeline(made):
    pipeline = made.pipeline()
    own = QualitySpec.model_validate({"max_adjusted": "5%"})
    plain = pipeline.spec.sources["plain"].model_copy(update={"quality": own})
    spec = pipeline.spec.model_copy(update={"sources": {**pipeline.spec.sources, "plain": plain}})
    asked = Advising(spec, pipeline.ledger, lambda: pipeline.context.engine, pipeline.context.progress)
    assert asked._limits("plain") == Targets(0.3, 0.05)


def test_a_target_that_no_cell_meets_gives_no_recommendation_and_a_sentence(made):
    asked = {"source": "plain", "target_adjusted": "0%", "late": "0s", "out_of_order": "0s"}
    record = made.pipeline().advise(**asked)
    assert record["recommended"] == {"plain": None}
    assert "try larger ones" in record["sources"][0]["sentence"]


def test_the_last_advice_is_kept_by_source_and_drawn_by_the_report(made, told, tmp_path):
    assert told["kept"]
    made.pipeline().advise(source="plain", late="0s,1h", out_of_order="0s")
    kept = Counter(row["source"] for row in made.table("advice"))
    assert kept == {"plain": 6, "keyed": sum(cell["source"] == "keyed" for cell in told["grid"])}
    made.pipeline().report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(f'id="tolerances-delay-{name}"' in page for name in ("plain", "keyed"))


def test_while_a_run_holds_the_pipeline_advice_is_answered_and_not_kept(made):
    pipeline = made.pipeline()
    before = made.table("advice")
    with hold(pipeline.root):
        assert not pipeline.advise(source="plain", late="0s", out_of_order="0s")["kept"]
    assert made.table("advice") == before


def test_the_command_answers_programs_and_people(made, capsys):
    arguments = [
        "advise",
        str(made.config),
        "--target-adjusted",
        "100%",
        "--late",
        "0s,1h",
        "--out-of-order",
        "0s,1m",
    ]
    assert cli.invoke([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record.keys() >= {"schema_version", "grid", "recommended", "present", "not_applicable", "kept"}
    assert record["grid"][0].keys() >= {"late", "out_of_order", "adjusted", "dropped", "delay"}
    assert cli.invoke(arguments) == 0
    text = capsys.readouterr().out
    best, sentences = record["recommended"]["plain"], [source["sentence"] for source in record["sources"]]
    assert all(sentence in text for sentence in sentences)
    assert f"out_of_order: {{tolerance: {best['out_of_order']}, action: adjust}}" in text
    assert "arrived: no tolerances to advise on: arrival is its event time" in text
    assert "[" in text
    assert f"tidemark report {made.config}" in text


ASKED = [
    ({"source": "nobody"}, "there is no source 'nobody'"),
    ({"target_dropped": "1"}, "--target-dropped: '1' is not a share"),
    ({"late": "5"}, "--late: '5' is not a duration"),
    ({"late": "21d"}, "--late: 21d is more than the most there is"),
    ({"out_of_order": "off"}, "--out-of-order: 'off' is not a duration"),
    ({"source": "keyed", "late": "off"}, "late cannot be off"),
]


@pytest.mark.parametrize(("options", "says"), ASKED, ids=[says for _, says in ASKED])
def test_what_cannot_be_tried_is_refused(made, options, says):
    with pytest.raises(UsageError, match=says):
        made.pipeline().advise(**options)


def test_without_a_committed_run_there_is_nothing_to_advise_on(tmp_path):
    with pytest.raises(UsageError, match="no run is committed"):
        Product(tmp_path, {"s": PLAIN}).pipeline().advise()


def test_a_run_after_advice_checks_that_its_target_is_still_met(tmp_path):
    source = replace(PLAIN, late=(2 * SECOND, "drop"), out_of_order=(0, "adjust"))
    product = Product(tmp_path / "made", {"s": source}, {"quality": {"on_failure": "warn"}})
    product.land("s", (Obj("a", at(40), behind("p0", range(10, 40, 4))),))
    product.run(at(41))
    assert product.pipeline().advise(target_dropped="50%")["recommended"]["s"]
    product.land("s", (Obj("b", at(80), tuple(Row("p0", at(50), at(60 + n), "a") for n in range(20))),))
    product.run(at(81))
    checks = [row for row in product.table("quality") if (row["table"], row["batch_id"]) == ("events/s", 2)]
    (target,) = [row for row in checks if row["expectation"] == "dropped_target"]
    rows = product.events("s")
    dropped = sum(row["_disposition"] == "dropped" for row in rows)
    assert (target["observed"], target["limit"], target["severity"]) == (dropped / len(rows), 0.5, "warn")
    assert dropped > len(rows) / 2
    assert not target["success"]
