"""The pipeline's lock."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tidemark.errors import Held, TidemarkError
from tidemark.ledger.lock import hold

HOLDER = """
import pathlib, sys, time
from tidemark.ledger.lock import hold
with hold(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of tmp_path."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_lock_held_by_another_process_is_refused_at_once_with_its_name(tmp_path, holder):
    with pytest.raises(Held, match=f"process {holder.pid} on ") as refused, hold(tmp_path):
        pass
    assert refused.value.exit_code == 3


def test_a_lock_left_by_a_killed_process_does_not_block(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with hold(tmp_path):
        assert (tmp_path / "lock").read_text().split()[0] == str(os.getpid())


def test_who_waits_gets_the_lock_when_it_is_free(tmp_path, holder):
    threading.Timer(0.2, holder.kill).start()
    begun = time.monotonic()
    with hold(tmp_path, wait=True):
        assert time.monotonic() - begun < 30


def test_the_lock_is_free_again_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), hold(tmp_path):
        _ = 1 / 0
    with hold(tmp_path / "other"), hold(tmp_path):
        pass


def test_a_lock_that_is_a_folder_and_a_place_that_is_a_file_are_named(tmp_path):
    (tmp_path / "lock").mkdir()
    with pytest.raises(TidemarkError, match="lock is a folder") as raised, hold(tmp_path):
        pass
    assert raised.value.where == str(tmp_path / "lock")
    (tmp_path / "warehouse").write_text("")
    with pytest.raises(TidemarkError, match="is a file") as raised, hold(tmp_path / "warehouse" / "toll"):
        pass
    assert raised.value.where == str(tmp_path / "warehouse" / "toll")


def test_who_only_looks_for_the_holder_refuses_nobody(tmp_path):
    """`holder` shares the lock for a moment; a run that begins in it is not told that another is at work."""
    with hold(tmp_path):
        pass
    reader = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_SH)
    threading.Timer(0.03, os.close, [reader]).start()
    with hold(tmp_path):
        pass
