"""What a server does for its clients, whatever they run: here a pipeline that says where it is run, without Spark."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tidemark
from servers import Server, server, until
from tidemark.cli.warm.address import LONGEST, require_private, socket_path
from tidemark.errors import TidemarkError, UsageError

STAND_IN = """
import os, sys, time
from pathlib import Path
from tidemark import cli, errors
from tidemark.config import secrets
from tidemark.pipeline import Pipeline

BORN = time.time_ns()

class Busy:
    def __init__(self, path):
        self.path = Path(path)

    def run(self, **options):
        asked, begun = self.path.name, time.time_ns()
        if asked == "busy":
            Path("begun").touch()
            time.sleep(60)
        if asked == "short":
            time.sleep(0.1)
        if asked in errors.__dict__:
            raise getattr(errors, asked)("as it was asked to")
        mask = os.umask(0)
        os.umask(mask)
        words = {name: os.environ.get(name) for name in ("WORD", "AWS_REGION")}
        hidden, text = dict(secrets._hidden), "x" * (1_000_000 if asked == "long" else 1)
        secrets._hidden["a value"] = "WORD"
        where = {"pid": os.getpid(), "born": BORN, "folder": os.getcwd(), "umask": mask}
        return {"run_id": None, **where, **words, "hidden": hidden, "x": text, "at": [begun, time.time_ns()]}

Pipeline.load = lambda path, **hooks: Busy(path)
exec(os.environ.get("TESTED_FIRST", ""))
cli.main(sys.argv[1:])
"""

WAITS = """
answer = Server.answer
Server.answer = lambda server: (Path("asked").touch(), answer(server))[1]
"""


@pytest.fixture
def served() -> Iterator[Server]:
    with server(STAND_IN) as made:
        made.serve()
        yield made


def record(served: Server, asked: str = "any", status: int = 0, **options: Any) -> dict[str, Any]:
    """What a run with --warm says, which prints nothing else."""
    found, out, err = served.call("run", asked, "--warm", "--json", **options)
    assert (found, err) == (status, "")
    return json.loads(out)


def test_a_command_runs_in_the_server_with_the_folder_environment_and_umask_of_its_client(served, tmp_path):
    umask = "import os; os.umask(0o027)\n"
    found = record(served, cwd=tmp_path, code=umask + STAND_IN, WORD="here")
    assert found["pid"] == served.process.pid
    assert (found["folder"], found["WORD"], found["umask"]) == (str(tmp_path), "here", 0o027)


def test_nothing_of_a_command_is_left_for_the_next(served, tmp_path):
    first, then = record(served, cwd=tmp_path, WORD="here"), record(served)
    assert (first["born"], first["pid"]) == (then["born"], then["pid"])
    assert (then["folder"], then["WORD"], then["hidden"]) == (str(Path.cwd()), None, {})


def test_without_a_server_a_command_runs_as_ever():
    with server(STAND_IN) as made:
        made.process = made.start("run", "any", "--warm", "--json")
        out, err = made.process.communicate(timeout=60)
        assert (json.loads(out)["pid"], err) == (made.process.pid, "")


@pytest.mark.parametrize(
    ("asked", "status"),
    [("CheckFailed", 1), ("UsageError", 2), ("Held", 3), ("TidemarkError", 4)],
)
def test_failures_have_the_status_and_the_words_of_a_command_without_a_server(served, asked, status):
    for form in ((), ("--json",)):
        warm = served.call("run", asked, "--warm", *form)
        assert warm == served.call("run", asked, *form)
        assert warm[0] == status


def test_the_folder_and_the_socket_are_closed_to_others(served):
    modes = [stat.S_IMODE(path.lstat().st_mode) for path in (served.path.parent, served.path)]
    assert modes == [0o700, 0o600]


def test_a_second_server_is_refused_and_the_socket_of_a_killed_one_is_replaced(served):
    status, _, err = served.call("serve")
    assert (status, err) == (
        3,
        f"error: another server has the socket ({served.path}): use it, or set TIDEMARK_SOCKET\n",
    )
    assert served.end(signal.SIGKILL) == -signal.SIGKILL
    assert served.path.exists()
    assert record(served)["pid"] != served.process.pid
    served.serve()
    assert record(served)["pid"] == served.process.pid


def test_a_folder_that_others_may_enter_is_used_by_no_server_and_no_client(served):
    served.path.parent.chmod(0o750)
    status, out, err = served.call("run", "any", "--warm", "--json")
    assert (status, json.loads(out)["pid"] != served.process.pid) == (0, True)
    assert err == f"note: no server is used: the folder is open to other users ({served.path.parent})\n"
    assert served.call("serve")[0] == 4


@pytest.mark.parametrize("is_socket", [False, True])
def test_what_belongs_to_another_user_is_refused(tmp_path, monkeypatch, is_socket):
    tmp_path.chmod(0o700)
    (tmp_path / "serve.sock").touch(0o600)
    with pytest.raises(TidemarkError, match="it is no socket"):
        require_private(tmp_path / "serve.sock")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if is_socket:
        monkeypatch.setattr(stat, "S_ISSOCK", lambda _: True)
        monkeypatch.setattr(stat, "S_ISDIR", lambda _: True)
    with pytest.raises(TidemarkError, match="the folder belongs to another user"):
        require_private(tmp_path / "serve.sock")


def test_the_place_of_the_socket_is_named_or_that_of_the_user():
    assert socket_path({"TIDEMARK_SOCKET": "/run/toll/s", "XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/toll/s")
    assert socket_path({"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/user/7/tidemark/serve.sock")
    assert socket_path({}).parent.name == f"tidemark-{os.geteuid()}"
    with pytest.raises(UsageError, match=f"more than {LONGEST} bytes"):
        socket_path({"TIDEMARK_SOCKET": "/" + "n" * LONGEST})


def test_a_server_of_another_version_is_not_used(served):
    other = "import tidemark; tidemark.__version__ = '9'\n" + STAND_IN
    status, out, err = served.call("run", "any", "--warm", "--json", code=other)
    assert (status, json.loads(out)["pid"] != served.process.pid) == (0, True)
    why = f"it is tidemark {tidemark.__version__}, and this is 9"
    assert err == f"note: no server is used: {why} ({served.path})\n"


def begun(served: Server, folder: Path, **environ: str) -> Any:
    """A client whose command is at work in a folder."""
    client = served.start("run", "busy", "--warm", "--json", cwd=folder, **environ)
    until((folder / "begun").exists)
    return client


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_the_client_interrupts_its_command(served, tmp_path, number, status):
    client = begun(served, tmp_path)
    client.send_signal(number)
    out, err = client.communicate(timeout=30)
    assert (client.returncode, err) == (status, "")
    assert json.loads(out)["error"]["message"].endswith(", safe to repeat")
    assert record(served)["pid"] == served.process.pid


@pytest.mark.parametrize(
    "first", ["", "from tidemark.cli.warm.client import Server; Server.answer = lambda _: time.sleep(60)"]
)
def test_the_command_of_a_client_that_is_gone_is_interrupted(served, tmp_path, first):
    """Also if it has not read that the command has begun."""
    client = begun(served, tmp_path, TESTED_FIRST=first)
    client.kill()
    assert record(served)["pid"] == served.process.pid
    assert "interrupted, safe to repeat" in client.communicate(timeout=30)[0]


def test_a_client_that_waits_for_its_turn_ends_at_once(served, tmp_path):
    first = begun(served, tmp_path)
    asked = "from tidemark.cli.warm.client import Server\n" + WAITS
    second = served.start("run", "any", "--warm", cwd=tmp_path, TESTED_FIRST=asked)
    until((tmp_path / "asked").exists)
    second.send_signal(signal.SIGINT)
    assert second.wait(30) == 130
    assert first.poll() is None
    first.kill()
    assert record(served)["pid"] == served.process.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_ended_ends_its_command_and_says_so(served, tmp_path, number):
    client = begun(served, tmp_path)
    status = served.end(number)
    out, err = client.communicate(timeout=30)
    found = json.loads(out)["error"]
    assert (err, found["hint"]) == ("", "what a run has begun, the next run finishes")
    if number == signal.SIGTERM:
        assert (status, client.returncode, served.path.exists()) == (143, 143, False)
    else:
        assert (client.returncode, found["message"]) == (4, "the server ended during the command")


def test_commands_run_one_at_a_time_and_none_is_lost_as_the_server_starts_anew():
    with server(STAND_IN) as made:
        made.serve("--runs", "2")
        clients = [made.start("run", "short", "--warm", "--json") for _ in range(6)]
        found = [json.loads(client.communicate(timeout=60)[0]) for client in clients]
        assert {each["pid"] for each in found} == {made.process.pid}
        assert len({each["born"] for each in found}) == 3
        times = sorted(each["at"] for each in found)
        assert all(before[1] <= after[0] for before, after in pairwise(times))
        assert made.said.read_text().count("it has done 2 runs") == 3


@pytest.mark.parametrize(
    ("asked", "status", "anew"),
    [("CheckFailed", 1, False), ("UsageError", 2, False), ("Held", 3, False), ("TidemarkError", 4, True)],
)
def test_the_server_starts_anew_after_a_command_that_failed_and_not_after_an_answer(served, asked, status, anew):
    born = record(served)["born"]
    record(served, asked, status, code=STAND_IN.replace("exec(", "str("), TESTED_FIRST="sys.exit('not for a server')")
    assert (record(served)["born"] != born) == anew


def test_a_command_with_other_settings_of_the_jvm_gets_a_server_that_has_started_anew(served):
    one, other, again = (record(served, AWS_REGION=name) for name in ("one", "other", "other"))
    assert [each["AWS_REGION"] for each in (one, other, again)] == ["one", "other", "other"]
    assert one["born"] != other["born"] == again["born"]
    assert {each["pid"] for each in (one, other)} == {served.process.pid}


def test_a_server_whose_packages_have_changed_starts_anew(tmp_path):
    engine = tmp_path / "engine"
    engine.write_text("1")
    patched = "from tidemark.spark.session import settings; settings.engine = Path(os.environ['ENGINE']).read_text"
    with server(STAND_IN, {"TESTED_FIRST": patched, "ENGINE": str(engine)}) as made:
        made.serve()
        first, same = record(made)["born"], record(made)["born"]
        engine.write_text("2")
        assert (first == same, record(made)["born"] != first) == (True, True)


def test_a_reader_that_has_had_enough_is_no_failure_and_the_next_reads_its_own(served):
    client = served.start("run", "long", "--warm", "--json")
    client.stdout.read(10)
    client.stdout.close()
    assert (client.wait(30), client.stderr.read()) == (0, "")
    assert record(served)["x"] == "x"


def test_what_talks_otherwise_is_let_go(served):
    for said in (b"", b"\n", b"\nnonsense\n", b"\n[1]\n", b"\n{}\n"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(served.path))
            connection.sendall(said)
    assert record(served)["pid"] == served.process.pid
