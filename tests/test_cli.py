"""The command line: what is printed where, and the exit status, for each way a command can end."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checked_records import TO_JSON
from tidemark import cli
from tidemark.cli import output
from tidemark.cli.output import LONGEST_LIST
from tidemark.commands import schedule
from tidemark.core.times import MAX_TIME, parse_moment
from tidemark.errors import Blocked, CheckFailed, ConfigError, Held, Problem, TidemarkError, UsageError
from tidemark.notebook.result import Result
from tidemark.pipeline import Pipeline

AS_OF = "2026-01-02T00:00:00Z"


def batch(number: int, **fates: int) -> dict[str, Any]:
    counts = {"on_time": 0, "adjusted": 0, "dropped": 0, "quarantined": 0} | fates
    reasons = {"late": counts["dropped"], "out_of_order": counts["adjusted"], "invalid_time": counts["quarantined"]}
    return {"batch_id": number, "rows": sum(counts.values()), **counts, "by_reason": reasons}


RUN = {
    "run_id": "first",
    "as_of": AS_OF,
    "batches": [batch(1, on_time=1200, adjusted=30), batch(2, on_time=7, dropped=4, quarantined=2)],
    "watermarks": {
        "readings": {
            "watermark": "2026-01-01T10:00:00Z",
            "complete": False,
            "partitions": {"a": "2026-01-01T10:00:00Z", "b": None},
        },
        "rates": {"watermark": None, "complete": True, "partitions": {"0": None}},
    },
    "streams": {},
    "quality": [],
    "notes": ["new source rates"],
    "chain": "5f" * 32,
    "repaired": ["crashed"],
    "diagnostics": [
        {"source": "readings", "partition": "a", "type": "LateInputEvent", "count": 4, "message": "late"}
    ],
    "compacted_seconds": 1.25,
    "objects": 3,
    "bytes": 3 << 20,
}
PLAN = {
    **{key: [] for key in ("diagnostics", "batches", "notes")},
    "run_id": None,
    "dry_run": True,
    "as_of": AS_OF,
    "objects": 1,
    "bytes": 512,
    "micro_batches": 1,
    "would_take": [{"source": "readings", "uri": "day=1/[a].json", "size": 512, "modified": AS_OF}],
}
SAME = {"batch_id": 1, "identical": True, "input": "landing", "differences": [], "not_compared": []}
DIFFERENCES = ["events/readings: row 7: on_time, late"]
OTHER = {"batch_id": 2, "identical": False, "input": "events", "differences": DIFFERENCES, "not_compared": []}
REPLAY = {"rebuilt": None, "identical": False, "batches": [SAME, OTHER], "engine_changed": ["spark 4.1.0, now 4.2.0"]}


class FakePipeline:
    """Answers every verb with the record it was given, or raises it; remembers how it was called."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.warnings = [Problem("toll.yml", "sources.readings.over", "start with 5 min")]
        self.called: tuple[str, tuple[Any, ...], dict[str, Any]] = ("", (), {})

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def answer(*given: Any, **options: Any) -> Any:
            self.called = (verb, given, options)
            if isinstance(self.answer, BaseException):
                raise self.answer
            return Result(self.answer, "rows", "") if isinstance(self.answer, dict) else self.answer

        return answer

    def export_rows(self, target: Path, kind: str, **filters: Any) -> dict[str, Any]:
        self.called = ("export_rows", (target, kind), filters)
        target.write_bytes(b"_offset\n7\n")
        return {"path": str(target), "format": kind, "rows": 1}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], FakePipeline]]:
    def install(answer: Any) -> FakePipeline:
        pipeline = FakePipeline(answer)

        def load(path: Path, **hooks: Any) -> FakePipeline:
            assert callable(hooks.get("progress", print)), path
            return pipeline

        monkeypatch.setattr(Pipeline, "load", load)
        monkeypatch.setattr(output, "to_json", TO_JSON)  # answers of a fake are no records of a command
        monkeypatch.setattr("tidemark.cli.text.runs.run_cause", lambda *_: None)
        return pipeline

    return install


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    status = cli.invoke(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def parsed(printed: str) -> dict[str, Any]:
    """The one object that standard output may hold."""
    assert printed.count("\n") == 1
    record = json.loads(printed, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert record.pop("schema_version") == 1
    return record


def test_a_run_that_quality_blocks_is_exit_1_and_no_failure_of_a_scheduled_process(fake, capsys, monkeypatch):
    blocked = Blocked("quality blocks run nightly", hint="look at it, then release it")
    fake(blocked)
    status, out, _ = call(capsys, "run", "c.yml", "--json")
    assert (status, parsed(out)["error"]["code"]) == (1, "blocked")

    def answer(*_: Any) -> None:
        raise blocked

    monkeypatch.setattr(schedule, "answer", answer)
    status, out, _ = call(capsys, "process", "c.yml", "--as-of", "T", "--run-id", "I", "--json")
    assert (status, parsed(out)["blocked"]) == (0, "quality blocks run nightly")


FAILED = {
    "table": "events/readings",
    "expectation": "dropped_share",
    "observed": 0.25,
    "limit": 0.1,
    "success": False,
    "severity": "warn",
    "examples": ["readings a 7"],
    "message": "data landed late",
}


def test_failed_checks_are_told_and_how_many_held(fake, capsys):
    fake(RUN | {"quality": [FAILED, FAILED | {"success": True}]})
    _, out, _ = call(capsys, "run", "c.yml")
    assert "Quality: 1 of 2 checks failed" in out
    assert "events/readings: dropped_share is 0.25, limit 0.1, such as readings a 7. data landed late" in out
    fake(RUN | {"quality": [FAILED | {"success": True}]})
    assert "Quality: all 1 check held." in call(capsys, "run", "c.yml")[1]


# what each command hands to the pipeline

CALLS = [
    (
        "run c.yml",
        "run",
        (),
        dict.fromkeys(["as_of", "run_id", "max_files", "quality"]) | {"dry_run": False, "wait": False},
    ),
    (
        "run c.yml --as-of T --run-id I --max-files 3 --wait --quality warn",
        "run",
        (),
        {"as_of": "T", "run_id": "I", "max_files": 3, "dry_run": False, "wait": True, "quality": "warn"},
    ),
    ("close c.yml --source s --as-of T", "close", (), {"source": "s", "as_of": "T"}),
    (
        "replay c.yml --from-batch 2 --to-batch 3 --input events",
        "replay",
        (),
        {"run": None, "from_batch": 2, "to_batch": 3, "all_batches": False, "input": "events"},
    ),
    (
        "rows c.yml --source s --fate dropped --reason late --partition p --since A --until B --batch 4 --limit 5",
        "rows",
        (),
        {
            "source": "s",
            "fate": "dropped",
            "reason": "late",
            "partition": "p",
            "since": "A",
            "until": "B",
            "batch": 4,
            "limit": 5,
        },
    ),
    (
        "rows c.yml --dead-letters hourly --by run,fate",
        "rows",
        (),
        {
            **dict.fromkeys(["source", "fate", "reason", "partition", "since", "until", "batch"]),
            "dead_letters": "hourly",
            "by": ["run", "fate"],
            "limit": 100,
        },
    ),
    ("release c.yml nightly --reason looked-at", "release", ("nightly", "looked-at"), {}),
    ("explain c.yml s p 17", "explain", ("s", "p", 17), {}),
    ("explain c.yml s", "explain", ("s", None, None), {}),
    ("status c.yml", "status", (), {}),
    ("path c.yml events/s", "path", ("events/s",), {}),
    (
        "register c.yml",
        "register",
        (),
        {"catalog": None, "schema": None, "sql": False, "forget": False, "wait": False},
    ),
    (
        "advise c.yml --source s --target-dropped 1% --late 0s,5s",
        "advise",
        (),
        {"source": "s", "target_dropped": "1%", "late": "0s,5s"} | dict.fromkeys(["target_adjusted", "out_of_order"]),
    ),
]


@pytest.mark.parametrize(("line", "verb", "given", "options"), CALLS, ids=[line for line, *_ in CALLS])
def test_a_command_calls_one_verb_with_its_options(fake, capsys, line, verb, given, options):
    record = {"run_id": "r", "identical": True, "rows": [], "warnings": []}
    pipeline = fake(record)
    status, out, err = call(capsys, *line.split(), "--json")
    assert (status, err) == (0, "")
    assert pipeline.called == (verb, given, options)
    assert parsed(out) == record


def test_help_says_of_times_what_is_taken(capsys):
    told = " ".join(call(capsys, "--help")[1].split())
    assert "no zone" not in told
    examples = re.search(r"such as (\S+); a date, its midnight UTC; or an age, such as (\w+) or (\w+),", told)
    assert all(parse_moment(text, MAX_TIME) > 0 for text in examples.groups())


def test_json_may_stand_before_the_command(fake, capsys):
    record = {"path": "/w", "names": [], "warnings": ["it stays"]}
    fake(record)
    assert parsed(call(capsys, "--json", "path", "c.yml", "batches")[1]) == record


# exit status, and how a failure is printed

PROBLEMS = [
    Problem("c.yml:3", "sources.readings.late_arrival", "5x is no duration"),
    Problem("c.yml", "", "no sources"),
]
FAILURES = [
    (UsageError("no run 'x'", hint="see status"), 2, "usage", "error: no run 'x': see status\n"),
    (
        ConfigError(PROBLEMS, hint="see docs"),
        2,
        "configuration",
        "error: c.yml:3: sources.readings.late_arrival: 5x is no duration\nerror: c.yml: no sources\nsee docs\n",
    ),
    (CheckFailed("run r is blocked", hint="release it"), 1, "check_failed", "error: run r is blocked: release it\n"),
    (Held("held by process 7", where="w/lock"), 3, "held", "error: held by process 7 (w/lock)\n"),
    (TidemarkError("no jars", where="d", hint="make install"), 4, "failure", "error: no jars (d): make install\n"),
    (
        RuntimeError("first line\nsecond line"),
        4,
        "unexpected",
        "error: RuntimeError: first line: repeat the command; if it fails again, set TIDEMARK_DEBUG=1 to see where\n",
    ),
    (
        KeyboardInterrupt(),
        130,
        "interrupted",
        "error: interrupted, safe to repeat: what a run has begun, the next run finishes\n",
    ),
]
IDS = [type(error).__name__ for error, *_ in FAILURES]


@pytest.mark.parametrize(("error", "status", "code", "text"), FAILURES, ids=IDS)
def test_a_failure_goes_to_standard_error_and_sets_the_status(fake, capsys, error, status, code, text):
    fake(error)
    assert call(capsys, "run", "c.yml") == (status, "", text), code


@pytest.mark.parametrize(("error", "status", "code", "text"), FAILURES, ids=IDS)
def test_with_json_a_failure_is_one_object_on_standard_output(fake, capsys, error, status, code, text):
    fake(error)
    found, out, err = call(capsys, "run", "c.yml", "--json")
    assert (found, err) == (status, ""), text
    failure = parsed(out)["error"]
    assert failure.keys() >= {"code", "message", "where", "hint"}
    assert failure["code"] == code


def test_json_of_a_wrong_configuration_lists_each_problem(fake, capsys):
    fake(ConfigError(PROBLEMS))
    problems = parsed(call(capsys, "run", "c.yml", "--json")[1])["error"]["problems"]
    assert problems[0] == {
        "file": "c.yml:3",
        "key": "sources.readings.late_arrival",
        "message": "5x is no duration",
    }


FOUND = {"source": "s", "partition": "p", "offset": 17}


@pytest.mark.parametrize("given", [FOUND, {"rows": [FOUND | {"payload": {}}], "total": 1}], ids=["row", "record"])
def test_a_row_that_rows_has_printed_is_explained(fake, capsys, monkeypatch, given):
    pipeline = fake({})
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(given)))
    call(capsys, "explain", "c.yml", "-")
    chosen, *others = pipeline.called[1]
    assert ({name: chosen[name] for name in FOUND}, others) == (FOUND, [None, None])


@pytest.mark.parametrize("given", ["", "[1]", '{"rows": []}', json.dumps({"rows": [FOUND, FOUND]})])
def test_what_is_not_one_row_is_wrong_usage(fake, capsys, monkeypatch, given):
    fake({})
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    status, _, err = call(capsys, "explain", "c.yml", "-")
    assert (status, "--json --limit 1" in err) == (2, True)


USAGE = [
    "nope",
    "run",
    "run c.yml --nope",
    "rows c.yml --fate lost",
    "run c.yml --max-files 0",
    "explain c.yml s p x",
]


@pytest.mark.parametrize("line", USAGE)
def test_wrong_usage_is_status_2_in_words_and_in_json(capsys, line):
    status, out, err = call(capsys, *line.split())
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert "--help`" in err
    status, out, err = call(capsys, *line.split(), "--json")
    assert (status, err) == (2, "")
    assert parsed(out)["error"]["code"] == "usage"


@pytest.mark.parametrize("both", ["--run r --all", "--all --from-batch 1", "--run r --to-batch 2"])
def test_replay_takes_one_way_of_choosing_batches(fake, capsys, both):
    fake(REPLAY)
    assert call(capsys, "replay", "c.yml", *both.split())[0] == 2


def test_a_traceback_is_shown_only_when_asked_for(fake, capsys, monkeypatch):
    fake(RuntimeError("broken"))
    assert "Traceback" not in call(capsys, "status", "c.yml")[2]
    monkeypatch.setenv("TIDEMARK_DEBUG", "1")
    assert "Traceback" in call(capsys, "status", "c.yml")[2]


# records


def test_replay_with_differences_is_status_1_and_still_prints_its_record(fake, capsys):
    fake(REPLAY)
    status, out, _ = call(capsys, "replay", "c.yml", "--json")
    assert (status, parsed(out)) == (1, REPLAY)
    fake(REPLAY | {"identical": True})
    assert call(capsys, "replay", "c.yml", "--json")[0] == 0


def test_a_run_id_that_verifies_differently_is_status_1(fake, capsys):
    fake(RUN | {"verified": REPLAY})
    status, out, _ = call(capsys, "run", "c.yml", "--run-id", "first")
    assert status == 1
    assert "DIFFER" in out


def test_a_dry_run_of_a_committed_run_says_that_it_would_be_verified(fake, capsys):
    note = "run first is committed already: it would be verified, and nothing changed"
    fake(PLAN | {"objects": 0, "would_take": [], "notes": [note]})
    status, out, _ = call(capsys, "run", "c.yml", "--run-id", "first", "--dry-run")
    assert status == 0
    assert note in out


def test_a_valid_configuration_lists_its_warnings(fake, capsys):
    fake(None)
    status, out, _ = call(capsys, "validate", "c.yml", "--json")
    warning = {"file": "toll.yml", "key": "sources.readings.over", "message": "start with 5 min"}
    assert (status, parsed(out)) == (0, {"valid": True, "errors": [], "warnings": [warning]})
    assert "c.yml is valid (0 errors, 1 warning)" in call(capsys, "validate", "c.yml")[1]


def test_a_wrong_configuration_is_not_valid_and_status_2(capsys, tmp_path):
    config = tmp_path / "c.yml"
    config.write_text("pipeline: Toll\nwhatever: 1\n")
    status, out, _ = call(capsys, "validate", str(config), "--json")
    record = parsed(out)
    assert (status, record["valid"]) == (2, False)
    assert {problem["key"] for problem in record["errors"]} >= {"pipeline", "whatever"}
    status, out, _ = call(capsys, "validate", str(config))
    assert status == 2
    assert "can't be used" in out


def test_a_list_longer_than_1000_is_cut_and_says_so(fake, capsys):
    fake({"partitions": [{"n": n} for n in range(LONGEST_LIST + 1)], "truncated": False})
    record = parsed(call(capsys, "status", "c.yml", "--json")[1])
    assert (len(record["partitions"]), record["truncated"]) == (LONGEST_LIST, True)
    fake({"partitions": list(range(LONGEST_LIST))})
    assert "truncated" not in parsed(call(capsys, "status", "c.yml", "--json")[1])


def test_numbers_that_json_has_no_word_for_are_text(fake, capsys):
    fake({"rows": [float("nan"), float("inf"), float("-inf"), 1.5, b"\x00"]})
    assert parsed(call(capsys, "status", "c.yml", "--json")[1]) == {
        "rows": ["NaN", "Infinity", "-Infinity", 1.5, "AA=="]
    }


# text for people


def test_a_run_says_what_was_taken_what_became_of_it_and_what_to_do_next(fake, capsys):
    fake(RUN)
    status, out, err = call(capsys, "run", "my file.yml")
    assert (status, err) == (0, "")
    assert (
        "Run first, as of 2026-01-02T00:00:00Z: 1,243 rows of 3 objects (3.0 MiB), judged in 2 micro-batches." in out
    )
    lines = [line.split() for line in out.splitlines()]
    assert ["1", "1,230", "1,200", "30", "0", "0"] in lines
    assert ["all", "1,243", "1,207", "30", "4", "2"] in lines
    assert "Reasons: out_of_order 30, late 4, invalid_time 2" in out
    assert ["readings", "all", "2026-01-01T10:00:00Z"] in lines
    assert ["b", "none", "yet"] in lines
    assert ["rates", "0", "complete"] in lines
    assert "- run crashed had been interrupted; it was finished first" in out
    assert "- new source rates" in out
    assert "LateInputEvent" in out
    assert "tidemark rows 'my file.yml' --fate dropped " in out


def test_a_run_with_nothing_to_take_says_so(fake, capsys):
    fake(RUN | {"batches": [batch(3)], "objects": 0, "bytes": 0, "diagnostics": [], "notes": []})
    out = call(capsys, "run", "c.yml")[1]
    assert "nothing new had landed" in out
    assert "--fate dropped" not in out


def test_a_dry_run_lists_what_would_be_taken(fake, capsys):
    fake(PLAN)
    out = call(capsys, "run", "c.yml", "--dry-run")[1]
    assert "would take 1 object (512 B) in 1 micro-batch; nothing was changed" in out
    assert "day=1/[a].json" in out


def test_a_replay_names_what_differs(fake, capsys):
    fake(REPLAY)
    out = call(capsys, "replay", "c.yml")[1]
    assert "Computed 2 batches again (1 from landing, 1 from events). 1 of them DIFFER" in out
    assert "Batch 2:\n  - events/readings: row 7: on_time, late" in out
    assert "spark 4.1.0, now 4.2.0" in out


def test_a_path_is_printed_alone(fake, capsys):
    fake({"path": "/w/toll/v1/events/s", "names": [], "warnings": ["it stays"]})
    assert call(capsys, "path", "c.yml", "events/s") == (0, "/w/toll/v1/events/s\n", "it stays\n")


# rows as files


def test_rows_as_csv_go_to_standard_output(fake, capfdbinary):
    pipeline = fake(None)
    assert cli.invoke(["rows", "c.yml", "--fate", "dropped", "--format", "csv"]) == 0
    assert capfdbinary.readouterr() == (b"_offset\n7\n", b"")
    verb, (_, kind), filters = pipeline.called
    assert (verb, kind, filters["fate"]) == ("export_rows", "csv", "dropped")
    assert filters["limit"] is None, "an export holds every row unless it is limited"


def test_rows_are_written_to_a_file(fake, capsys, tmp_path):
    pipeline = fake(None)
    target = tmp_path / "rows.parquet"
    status, out, _ = call(capsys, "rows", "c.yml", "--format", "parquet", "--out", str(target))
    assert (status, out) == (0, f"Wrote 1 row to {target}.\n")
    assert pipeline.called[1] == (target, "parquet")
    status, out, _ = call(capsys, "rows", "c.yml", "--format", "csv", "--out", str(target), "--json")
    assert parsed(out) == {"path": str(target), "format": "csv", "rows": 1}


def test_rows_never_mix_with_json_on_standard_output(fake, capsys):
    fake(None)
    status, out, _ = call(capsys, "rows", "c.yml", "--format", "csv", "--json")
    assert (status, parsed(out)["error"]["code"]) == (2, "usage")


def test_counts_are_not_written_as_rows(fake, capsys):
    fake(None)
    status, _, err = call(capsys, "rows", "c.yml", "--by", "fate", "--format", "csv")
    assert status == 2
    assert "--by gives counts, and csv holds rows" in err


@pytest.mark.parametrize("line", ["--out x"])
def test_options_that_do_not_fit_the_format_are_refused(fake, capsys, line):
    fake(None)
    status, _, err = call(capsys, "rows", "c.yml", *line.split())
    assert (status, err.count("\n")) == (2, 1)


def test_parquet_is_not_written_to_a_terminal(fake, capsys, monkeypatch):
    fake(None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert call(capsys, "rows", "c.yml", "--format", "parquet")[0] == 2


# a proposal

ROW = '{{"event_time": "2026-01-01T08:{1}:{0:02}Z", "received_at": "2026-01-01T08:{2}:{0:02}Z", "lane": "x"}}\n'


@pytest.fixture
def landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "toll readings"
    folder.mkdir()
    for name, minutes in (("a", ("00", "01")), ("b", ("02", "03"))):
        (folder / f"{name}.json").write_text("".join(ROW.format(second, *minutes) for second in range(30)))
        os.utime(folder / f"{name}.json", (1767254700, 1767254700))
    return folder


def test_init_writes_a_configuration_and_says_what_was_found_and_what_to_do_next(landing, capsys):
    status, out, err = call(capsys, "init", landing.name)
    assert (status, err) == (0, "")
    told = "Looked at 60 rows in 2 of 2 objects, and wrote toll_readings.yml: 1 source, each key with a remark."
    assert out.startswith(told)
    lines = [line.split() for line in out.splitlines()]
    assert ["toll_readings", "json", "2", "event_time", "received_at", "one", "1m", "0s", "0.0", "%"] in lines
    assert "tidemark run toll_readings.yml --dry-run" in out
    assert call(capsys, "validate", "toll_readings.yml")[0] == 0
    assert "would take 2 objects" in call(capsys, "run", "toll_readings.yml", "--dry-run")[1]


def test_init_as_json_has_the_path_and_the_proposal(landing, capsys):
    status, out, err = call(capsys, "init", str(landing), "--out", "toll.yml", "--json")
    record = parsed(out)
    assert (status, err, record["path"], record["warnings"]) == (0, "", "toll.yml", [])
    (source,) = record["proposal"]["sources"].values()
    assert source["settings"]["timestamp_by"] == "event_time"
    assert source["measured"]["fates"]["on_time"] == 60
    assert source["landing_delay"] == 300_000_000


def test_init_never_writes_over_a_file(landing, capsys):
    Path("toll.yml").write_text("mine")
    status, out, err = call(capsys, "init", landing.name, "--out", "toll.yml")
    assert (status, out) == (2, "")
    assert err == "error: toll.yml is there already, and nothing is written over: choose another with --out\n"
    assert Path("toll.yml").read_text() == "mine"


def test_init_of_a_folder_that_is_not_there_is_wrong_usage(capsys):
    status, out, _ = call(capsys, "init", "nowhere", "--json")
    assert (status, parsed(out)["error"]["code"]) == (2, "usage")


def test_init_tells_what_needs_a_look(landing, capsys):
    rows = "".join(f'{{"n": {n}, "_raw": 1}}\n' for n in range(30)) + "{\n"
    for number in range(20):
        (landing / "other").mkdir(exist_ok=True)
        (landing / "other" / f"{number}.json").write_text(rows)
    (landing / "other" / "x.txt").write_text("hello")
    status, out, _ = call(capsys, "init", landing.name)
    assert status == 0
    for part in (
        "Left out, in the landing folder itself: JSON lines: 2 files (a.json).",
        "Guessed, the most expensive first:\n  - other.timestamp_by: no column holds times; rows count as of the"
        " landing of their file (600 sampled rows: mistimed).\n"
        "  - other.format: no row can be read from some lines as json (20 sampled rows: quarantined).\n"
        "  - other.landing: its folder holds 1 file of another kind, such as other/x.txt (rows not sampled:"
        " quarantined).\n",
    ):
        assert part in out
    assert "header_columns: {_raw: raw}" in Path("toll_readings.yml").read_text()
