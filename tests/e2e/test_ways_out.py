"""Every state that docs/operating.md lists is brought about, and left by the command that its table names."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from samples import Crash

import lost
import stored
from damages import removed, restored
from tidemark.cli import invoke
from tidemark.core.stream_output import Due
from tidemark.pipeline import Pipeline
from tidemark.spark.judge.engine import Engine
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.streams.writer import Outputs

pytestmark = pytest.mark.usefixtures("quick")
PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
NEXT = lost.RUNS + 1
SINCE = "2026-01-01T00:00:24Z"


def listed() -> dict[str, str]:
    """The table of the page: by state, what leads on."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("| state | how `status` (or an error) names it | what leads on |\n|---|---|---|\n")[2]
    lines = [re.split(r" ?\| ?", line)[1:4] for line in table.partition("\n\n")[0].splitlines()]
    return {state: leads for state, _, leads in lines}


@dataclass
class Scene:
    """A copy of a pipeline with four committed runs, and objects of a fifth in landing."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    used: list[str] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "pipeline.yml"

    def place(self, table: str) -> Path:
        return lost.place(self.folder, table)

    def call(self, command: str, *given: str, code: int = 0) -> str:
        """What a command says, which ends with this status."""
        self.capsys.readouterr()
        ended = invoke([command, str(self.config), *given])
        answer = self.capsys.readouterr()
        said = " ".join((answer.out + answer.err).split())
        assert ended == code, f"{command} ended with {ended}: {said}"
        self.used.append(command)
        return said

    def run(self, code: int = 0) -> str:
        return self.call("run", "--as-of", stored.as_of(NEXT), "--run-id", "next", code=code)

    def abandon(self, *more: str, code: int = 0) -> str:
        return self.call("abandon", "next", "--reason", "it cannot be finished", *more, code=code)

    def status(self) -> dict[str, Any]:
        self.capsys.readouterr()
        assert invoke(["status", str(self.config), "--json"]) == 0
        found: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return found

    def crash(self, verb: str, step: str, *given: Any, **options: Any) -> None:
        """Call a verb that ends when it has come to a step."""

        def on_checkpoint(name: str) -> None:
            if name == step:
                raise Crash(step)

        with pytest.raises(Crash):
            getattr(Pipeline.load(self.config, {}, on_checkpoint=on_checkpoint), verb)(*given, **options)

    def plan(self, step: str = "planned") -> None:
        self.crash("run", step, stored.as_of(NEXT), run_id="next")
        found = self.status()
        assert found["pending"] == [NEXT]
        assert found["standing"]["state"] == "interrupted"

    def edit(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))


def died(scene: Scene) -> None:
    scene.plan("events")
    assert "next" in scene.run()


COLUMN = ("speed DOUBLE", "speed DOUBLE, wrong INT")
STREAM = ("streams:\n", "streams:\n  wrong: {from: readings, publish: true}\n")


def failing_configuration(scene: Scene) -> None:
    scene.edit(*COLUMN)
    for _ in range(2):
        assert "run next is planned and fails" in scene.run(4)
    scene.abandon()
    scene.edit(*reversed(COLUMN))
    scene.run()


def failing_after_a_stream(scene: Scene) -> None:
    scene.edit(*STREAM)
    said = scene.run(4)
    assert "run next is planned and fails" in said
    assert "has published to streams/" in scene.abandon(code=2)
    before = scene.status()["pending"]
    scene.used.remove("abandon")
    scene.abandon("--published")
    for table in ("streams/good", "streams/per_5s", "dead_letters/per_5s"):
        found = Pipeline.load(scene.config, {}).ledger.store(table).dataset().to_table().to_pylist()
        assert found
        assert not {row["_batch_id"] for row in found} & set(before)
    scene.edit(*reversed(STREAM))
    scene.run()


def setting_aside_died(scene: Scene) -> None:
    scene.plan("events")
    scene.crash("abandon", "abandoning", "next", "it cannot be finished")
    assert scene.status()["abandoned"][0]["status"] == "abandoning"
    scene.run()


BLOCK = ("streams:\n", "quality: {max_adjusted: 0%, max_dropped: 0%, on_failure: block}\nstreams:\n")


def blocked(scene: Scene) -> None:
    scene.edit(*BLOCK)
    scene.run(1)
    found = scene.status()
    assert found["blocked"]
    assert found["standing"]["state"] == "blocked"
    scene.call("release", "next", "--reason", "it is right")


def blocked_and_abandoned(scene: Scene) -> None:
    scene.edit(*BLOCK)
    scene.run(1)
    scene.abandon()
    scene.edit(*reversed(BLOCK))
    scene.run()


def lost_commits(scene: Scene) -> None:
    removed(scene.place("events/readings"))
    (found,) = scene.status()["damaged"]
    assert found["table"] == "events/readings"
    assert "damaged" in scene.run(4)
    scene.call("repair")


def unreadable(scene: Scene) -> None:
    for file in scene.place("events/readings").rglob("*.parquet"):
        file.write_bytes(b"damaged")
    assert "events/readings" in scene.call("replay", "--input", "events", code=4)
    scene.call("repair")


def repair_died(scene: Scene) -> None:
    for file in scene.place("events/readings").rglob("*.parquet"):
        file.write_bytes(b"damaged")
    scene.crash("repair", "opened")
    assert "a repair took damaged files out of it" in scene.run(4)
    assert "events/readings" in {each["table"] for each in scene.status()["damaged"]}
    scene.call("repair")


def without_versions(scene: Scene) -> None:
    shutil.rmtree(scene.place("versions"))
    assert "the table versions is damaged" in scene.run(4)
    scene.call("repair")


def without_plans(scene: Scene) -> None:
    scene.plan()
    removed(scene.place("plans"))
    assert "the table plans is damaged" in scene.run(4)
    scene.abandon()
    scene.run()


def without_quality(scene: Scene) -> None:
    removed(scene.place("quality"))
    assert [each["table"] for each in scene.status()["damaged"]] == ["quality"]
    assert "quality" in scene.call("repair", code=1)


def without_the_end(scene: Scene) -> None:
    removed(scene.place("batches"))
    assert scene.status()["pending"] == [lost.RUNS]
    scene.run()


def without_batches(scene: Scene) -> None:
    copy = shutil.copytree(scene.place("batches"), scene.folder / "copy of batches")
    restored(scene.place("batches"))
    assert f"a copy made after batch {lost.RUNS} was committed" in scene.run(4)
    shutil.rmtree(scene.place("batches"))
    shutil.copytree(copy, scene.place("batches"))


def backfill_died(scene: Scene) -> None:
    scene.crash("backfill", "rebuilt", SINCE)
    assert [each["version"] for each in Pipeline.load(scene.config, {}).versions()["versions"]] == [1]
    scene.call("backfill", "--from", SINCE)
    built = max(each["version"] for each in Pipeline.load(scene.config, {}).versions()["versions"])
    scene.crash("promote", "brought up", built)
    assert Pipeline.load(scene.config, {}).versions()["live"] == 1
    scene.call("promote", str(built))


def promotion_died_before_names(scene: Scene) -> None:
    scene.call("register")
    link = scene.place("versions").with_name("published")
    before = link.readlink()
    scene.call("backfill", "--from", SINCE)
    built = max(each["version"] for each in Pipeline.load(scene.config, {}).versions()["versions"])
    scene.call("promote", str(built))
    link.unlink()
    link.symlink_to(before)  # as where it died after its commit
    assert scene.status()["names"]
    scene.run()
    assert link.readlink() != before
    assert not scene.status()["names"]


def folder_for_a_lock(scene: Scene) -> None:
    lock = scene.place("versions").with_name("lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    assert "lock" in scene.run(4)
    lock.rename(lock.with_name("away"))


CASES: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "a run was planned, and died at any step": (died,),
    "a planned run fails each time, for its configuration": (failing_configuration,),
    "the same, after it has published to a stream": (failing_after_a_stream,),
    "setting a run aside has died": (setting_aside_died,),
    "quality blocks a run": (blocked, blocked_and_abandoned),
    "a table has lost its newest commits": (lost_commits,),
    "a file or log of a table cannot be read": (unreadable,),
    "a repair has died": (repair_died,),
    "`versions` is gone or behind": (without_versions,),
    "`plans` has lost objects of a planned run": (without_plans,),
    "`quality` has lost commits, or `diagnostics` what listing found": (without_quality,),
    "`batches` has lost the commit that ended the last run": (without_the_end,),
    "`batches` has lost more, or cannot be read": (without_batches,),
    "a promotion has died after its commit": (promotion_died_before_names,),
    "a backfill or a promotion has died": (backfill_died,),
    "the lock is a folder, or the warehouse is a file": (folder_for_a_lock,),
}
ALWAYS = {failing_after_a_stream, folder_for_a_lock}
"""The others are about what further modules test, too, and long."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lost.unpacked(tmp_path_factory.mktemp("states"))


@pytest.fixture
def scene(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Scene:
    return Scene(Path(shutil.copytree(whole, tmp_path / "copy")), capsys)


@pytest.fixture(autouse=True)
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark cannot carry out a column of this name, nor the stream after the first where one has it."""
    judge, write = Engine.judge, Outputs.write

    def judging(engine: Engine, batch: MicroBatch, *given: Any, **more: Any) -> Any:
        if "wrong" in str(batch.source.columns):
            raise ValueError("cannot resolve wrong")
        return judge(engine, batch, *given, **more)

    def writing(outputs: Outputs, due: Due, recovering: bool) -> Any:
        if "wrong" in outputs.spec.streams and outputs.written:
            raise ValueError("cannot resolve wrong")
        return write(outputs, due, recovering)

    monkeypatch.setattr(Engine, "judge", judging)
    monkeypatch.setattr(Outputs, "write", writing)


def test_each_state_of_the_page_has_a_case():
    assert list(CASES) == list(listed())


@pytest.mark.parametrize(
    ("state", "case"),
    [
        pytest.param(state, case, id=case.__name__, marks=() if case in ALWAYS else pytest.mark.long)
        for state, cases in CASES.items()
        for case in cases
    ],
)
def test_what_the_page_names_leads_out_of_a_state(scene, state, case):
    case(scene)
    named = set(re.findall(r"(?:tidemark |or )?`(?:tidemark )?(abandon|release|repair|run)\b", listed()[state]))
    if named:
        assert named & set(scene.used)
    scene.run()
    assert scene.status()["standing"]["state"] == "ready"
    scene.call("replay")
