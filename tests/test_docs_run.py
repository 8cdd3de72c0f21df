"""Every `tidemark` command that docs/ print is run, in the order of the pages, on one small pipeline; what else they
and README.md print is listed with the reason why it is not. README's own commands are those of the tutorial.

The commands of operating.md come first: they make what the other pages look at.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from printed import DOCS, README, ROOT, Printed, commands, missing
from stored import Died
from tidemark.cli import invoke
from tidemark.core.services import SERVICES
from tidemark.pipeline import Pipeline

PIPELINE = """
pipeline: toll
sources:
  readings:
    landing: ./landing/readings
    format: json
    schema: "car STRING, speed DOUBLE, passed TIMESTAMP, received TIMESTAMP"
    timestamp_by: passed
    arrival_time: received
    landing_delay: 15m
    late_arrival: {tolerance: 1m, action: drop}
    out_of_order: {tolerance: 5s, action: keep}
streams:
  hourly: {from: readings, tumbling: 1h, select: {cars: count(*), fastest: max(speed)}}
quality: {max_dropped: 10%, on_failure: block}
"""
CASE = """
case: a car that is reported half a minute later counts
given: {readings: [{at: 2026-01-06T00:00:40Z, car: a, passed: 2026-01-06T00:00:10Z}]}
expect: {events/readings: [{_disposition: on_time}], streams/hourly: []}
"""
START = datetime(2026, 1, 6, 0, 55, 20, tzinfo=UTC)
DEAD_LETTER = 4711
"""The row of which the pages ask for the story: at 14:00:30 it comes too late for the hour before."""

PLACEHOLDERS: dict[str, Callable[[], str]] = {
    "CONFIG": lambda: "toll.yml",
    "LANDING": lambda: "landing/readings",
    "FILE": lambda: "proposed.yml",
    "TABLE": lambda: "events/readings",
    "T0": lambda: "2026-01-06T00:00:00Z",
    "RUN": lambda: status()["standing"]["run_id"],
    "ID": lambda: status()["runs"][-1]["run_id"],
    "...": lambda: "a reason",
}
"""Words that stand for something on the pages."""

DOCKER = "needs Docker; tests/dags/test_compose.py reads the files"
INSTALLS = "installs what the tests run on"
MEASURES = "measures for many minutes; tests/test_bench.py holds its parts"
TESTS = "runs tests such as this one"
CLUSTER = "needs a cluster; tests/e2e/test_cluster.py has a standalone one"
NOT_RUN = {
    "make install": INSTALLS,
    **{f"make install-{service}": INSTALLS for service in SERVICES},
    "pip install tidemark-spark": INSTALLS,
    **{f"tidemark setup --{service}": INSTALLS for service in SERVICES},
    "tidemark serve": "stays until it is ended; tests/test_serve.py and tests/e2e/test_warm.py have servers",
    "make build": "takes a minute; tests/e2e/test_wheel.py builds both distributions",
    "make test-matrix": TESTS,
    "source .venv/bin/activate": "changes the shell that it is typed in",
    'eval "$(tidemark completion bash)"': "tests/test_completion.py evaluates it in bash",
    'eval "$(tidemark completion zsh)"': "tests/test_completion.py evaluates it in zsh",
    'tidemark test docs/examples/terms-windows.yml --case "contains its start"': (
        "runs in a clone; tests/e2e/test_case_examples.py runs the cases of the examples"
    ),
    "make demo": "takes minutes; tests/demo/test_demo_run.py runs the demo in another folder",
    "make test": TESTS,
    """make test ARGS='-m "not spark"'""": TESTS,
    "make test ARGS=--verify": TESTS,
    "make test-long": TESTS,
    "make test-spark": TESTS,
    "make soak": TESTS,
    "make mutants": TESTS,
    "CASES=5000 SEED=11 make test-long ARGS=tests/generated": TESTS,
    "make lint": ".ci/run calls it before the tests",
    "make site": "make lint calls it",
    "make bench": MEASURES,
    "make bench-full": MEASURES,
    "make bench-check": MEASURES,
    "python -m bench landing": MEASURES,
    "python -m bench --cores N": MEASURES,
    "python -m tidemark.records.schema": "tests/test_records.py runs it for one command",
    "python -m tidemark.records.schema status": "tests/test_records.py runs it",
    "export TIDEMARK_MASTER=spark://HOST:7077": CLUSTER,
    'spark-submit --master spark://HOST:7077 --jars "$JARS" jobs/run.py toll.yml': CLUSTER,
    "spark-submit --master k8s://https://API:6443 --deploy-mode cluster --properties-file tidemark.conf"
    " local:///opt/tidemark/jobs/tidemark/application/command.py run /opt/pipelines/toll.yml": CLUSTER,
    "venv-pack -o tidemark-env.tar.gz": CLUSTER,
    "spark-submit --master yarn --deploy-mode cluster --archives tidemark-env.tar.gz#environment"
    ' --properties-file tidemark.conf --jars "$JARS" --files toll.yml command.py run toll.yml': CLUSTER,
    "docker run --rm --network host -v /data:/data -e AWS_REGION my-image tidemark": (
        "needs Docker; tests/e2e/test_apart.py has the command of another environment"
    ),
    "make env": "writes into the project's folder; tests/dags/test_compose.py calls it in another",
    "make airflow": "starts services and stays; tests/dags/test_standalone.py starts them",
    "make airflow PORT=8081": "starts services and stays; tests/dags/test_standalone.py starts them",
    "python -m tidemark.airflow.standalone FOLDER PORT": "starts services; tests/dags/test_standalone.py calls it",
    "docker run -e TIDEMARK_SPARK_CONF": "needs Docker; tests/dags/test_placement.py reads the variable",
    "docker compose up --build --wait": DOCKER,
    "docker compose --file docker-compose.yml --file docs/deploy/compose.fab.yml up --build --wait": DOCKER,
    "docker compose exec api-server airflow users create --username ada --role Viewer --firstname Ada --lastname L"
    " --email ada@example.org": DOCKER,
    "AIRFLOW_URL=https://airflow.example.org docker compose --file docker-compose.yml"
    " --file docs/deploy/compose.tls.yml up --build --wait": DOCKER,
    "airflow backfill create --dag-id tidemark_toll --from-date ... --to-date ... --max-active-runs 1": (
        "needs Airflow's database; tests/dags/test_airflow_postgres.py calls it there"
    ),
    "spark-submit --jars \"$(echo .venv/share/tidemark/jars/*.jar | tr ' ' ,)\" jobs/run.py toll.yml": (
        "starts a JVM of its own; tests/e2e/test_cluster.py calls it for a cluster"
    ),
}
"""What the pages print and no test types, with the reason."""


def of_pages() -> Iterator[tuple[Path, Printed]]:
    """Every command of README and docs/."""
    pages = [page for page in DOCS if page.parent.name != "examples"]  # tests/e2e/test_case_examples.py runs those
    first = [page for page in pages if page.name == "operating.md"]
    for page in [*first, *[page for page in pages if page not in first], README]:
        for found in commands(page.read_text(encoding="utf-8")):
            yield page, found


def text_of(found: Printed) -> str:
    """The command on one line, with its remark, as the tables here have it."""
    return " ".join(found.typed.split())


def is_name(found: Printed) -> bool:
    """Whether it only names the command in a sentence: `tidemark run`."""
    _, *words = found.typed.split()
    return not found.whole and len(words) == 1 and not words[0].startswith("-")


def status() -> dict:
    return Pipeline.load("toll.yml").status()


# what must have happened before a command


def land(name: str, start: datetime, rows: int, late: Callable[[int], int]) -> None:
    """An object with a row each 10 seconds; `late` says how many seconds a row comes after it happened."""
    place = Path("landing", "readings", name)
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w", encoding="utf-8") as file:
        for number in range(rows):
            received = start + timedelta(seconds=10 * number)
            passed = received - timedelta(seconds=late(number))
            row = {"car": f"car {number % 50}", "speed": number % 90 + 0.5, "passed": passed, "received": received}
            file.write(json.dumps(row, default=datetime.isoformat) + "\n")


def land_next(late: int) -> None:
    """One more object of half an hour, all of whose rows are so late."""
    number = len([*Path("landing").rglob("*.json")])
    day = START + timedelta(days=number)
    land(f"{day:%Y/%m/%d}.json", day, 180, lambda _: late)


def build() -> None:
    Path("toll.yml").write_text(PIPELINE.lstrip(), encoding="utf-8")
    land("2026/01/06.json", START, 5000, lambda number: 45 if number == DEAD_LETTER else 1 + 99 * (number % 500 == 7))
    land("2026/01/07.json", START + timedelta(days=1), 20, lambda _: 1)


def blocked() -> None:
    """A run most of whose rows are dropped."""
    land_next(late=300)
    assert invoke(["run", "toll.yml"]) == 1


def dead_at(step: str) -> None:
    """A run that was planned, and whose process ended at a step."""

    def on_checkpoint(name: str) -> None:
        if name == step:
            raise Died

    land_next(late=1)
    with suppress(Died):
        Pipeline.load("toll.yml", on_checkpoint=on_checkpoint).run()
    assert status()["standing"]["state"] == "interrupted"


def dead_after_publishing() -> None:
    dead_at("streams")
    assert invoke(["abandon", "toll.yml", status()["standing"]["run_id"], "--reason", "..."]) == 2


def brought_back() -> None:
    assert invoke(["promote", "toll.yml", "1"]) == 0


def with_case() -> None:
    Path("toll.test.yml").write_text(CASE, encoding="utf-8")
    Path("toll.recorded.test.yml").unlink(missing_ok=True)


BEFORE: dict[str, Callable[[], None]] = {
    "tidemark run toll.yml # takes what landed until now": build,
    "tidemark status toll.yml # says which run, what failed, and rows to look at": blocked,
    "tidemark abandon toll.yml RUN --reason ...": lambda: dead_at("events"),
    "tidemark abandon toll.yml RUN --reason ... --published": dead_after_publishing,
    'tidemark exclude toll.yml 2026/01/07.json --reason "test data of the new toll station"': brought_back,
    "tidemark release CONFIG RUN --reason ...": blocked,
    "tidemark test toll.yml": with_case,
    "tidemark test toll.yml # the cases beside it: *.test.yml": with_case,
    "tidemark test --record toll.yml --mask car # writes a case from the rows of the last run": with_case,
    "tidemark test --record toll.yml": with_case,
}
SAYS = {
    "tidemark run toll.yml # takes what landed until now": "5,020 rows of 2 objects",
    "tidemark rows toll.yml --fate dropped --since 2026-01-01": "10 rows match",
    "tidemark report toll.yml # one page with pictures: toll-report.html": "Wrote toll-report.html",
    "tidemark status toll.yml # says which run, what failed, and rows to look at": (
        "batches: dropped_share is 1, limit 0.1 (such as readings 0 5020)"
    ),
    'tidemark release toll.yml RUN --reason "a sensor was replaced; 3 % dropped is right"': "is released.",
    "tidemark promote toll.yml 2 # readers see version 2; `promote toll.yml 1` brings the old one back": (
        "To undo it: tidemark promote toll.yml 1"
    ),
    "tidemark backfill toll.yml --from 2026-01-06T00:00:00Z # not after the first time of its rows": (
        "2026/01/07.json of source readings: 20 rows excluded."
    ),
    "tidemark backfill toll.yml --from 2026-01-06T00:00:00Z --from-landing": "read from landing again",
    "tidemark register toll.yml # paths: .../toll/published/events/readings": "published/TABLE follows `promote`.",
    "tidemark register toll.yml --catalog main --schema toll --sql # views, made by a person": (
        "CREATE OR REPLACE VIEW `main`.`toll`.`events_readings` WITH SCHEMA EVOLUTION AS SELECT * FROM delta.`/"
    ),
    "tidemark rows toll.yml --dead-letters hourly # with payload and window; also as csv and parquet": "06.json",
    "tidemark rows toll.yml --dead-letters hourly --by run,hour # how many, instead of each": "1 row matches",
    "tidemark explain toll.yml readings 0 4711 # the window, the watermark that had passed it, and what keeps it": (
        "had passed it (allowed_lateness 0s)"
    ),
    "tidemark advise toll.yml --target-dropped 1% # at most one row in a hundred dropped": "For at most 1% dropped",
    "tidemark abandon toll.yml RUN --reason ...": "takes its 1 object anew",
    "tidemark replay toll.yml --all": "All are identical.",
    "tidemark init LANDING --out FILE": "wrote proposed.yml",
    "tidemark init --check FILE": "proposed.yml fits what lands now.",
    "tidemark verify toll.yml # every file, digest and batch; a sample of rows is judged again": "Sound: ",
    "tidemark verify toll.yml --bundle toll-audit.zip # also a file for an auditor": "toll-audit.zip",
}
"""What a command must say besides: words for which its page sends the reader to it."""


# the tests


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_every_command_that_docs_print_does_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    wrong = []
    for page, found in of_pages():
        text = text_of(found)
        if page == README or found.program != "tidemark" or is_name(found) or text in NOT_RUN:
            continue
        BEFORE.get(text, lambda: None)()
        words = [PLACEHOLDERS.get(word, lambda word=word: word)() for word in shlex.split(text, comments=True)[1:]]
        capsys.readouterr()
        ended = invoke(words)
        said = capsys.readouterr()
        unsaid = missing(found.shown, said.out)
        if ended or unsaid or SAYS.get(text, "") not in said.out:
            wrong.append((f"{page.name}:{found.line}: {text}", ended, unsaid, said.out[-2000:], said.err[-2000:]))
    assert wrong == []


def test_every_command_is_run_or_listed_with_the_reason():
    others = [(page.name, found.line, text_of(found)) for page, found in of_pages() if found.program != "tidemark"]
    assert [each for each in others if each[2].partition(" #")[0] not in NOT_RUN] == []
    named = {found.typed.split()[1] for _, found in of_pages() if found.program == "tidemark" and is_name(found)}
    typed = {found.typed.split()[1] for _, found in of_pages() if found.program == "tidemark" and not is_name(found)}
    assert named <= typed


def test_what_the_tables_name_is_on_a_page():
    everything = {text_of(found) for _, found in of_pages()}
    assert {text.partition(" #")[0] for text in everything} >= NOT_RUN.keys()
    assert everything >= {*BEFORE, *SAYS}
    cited = re.findall(r"tests/[\w/]+\.py", " ".join(NOT_RUN.values()))
    assert [each for each in cited if not (ROOT / each).is_file()] == []
    words = {word for text in everything for word in shlex.split(text, comments=True)}
    assert words >= PLACEHOLDERS.keys()
