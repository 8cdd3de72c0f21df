"""The pipeline's lock on S3: one holds it, others are told who, and a holder that died blocks nobody for long."""

from __future__ import annotations

import os
import threading
import time

import pytest

from tidemark.config.address import RemoteLocation
from tidemark.errors import Held
from tidemark.ledger import lease, versions
from tidemark.ledger.lease import Lease, hold_lease
from tidemark.ledger.lock import hold
from tidemark.storage import s3


@pytest.fixture
def place(bucket):
    return RemoteLocation(f"s3://{bucket}/warehouse/tested/lock")


@pytest.fixture
def root(bucket):
    return RemoteLocation(f"s3://{bucket}/warehouse/tested")


def test_a_second_holder_is_refused_and_told_who_holds(root):
    with (
        hold(root),
        pytest.raises(Held, match=f"process {os.getpid()} on .* holds the pipeline") as caught,
        hold(root),
    ):
        pytest.fail("two hold the pipeline")
    assert caught.value.where == f"{root}/lock"
    assert "--wait" in caught.value.hint
    assert caught.value.exit_code == 3


def test_a_lease_that_was_let_go_is_taken_at_once(root):
    for _ in range(3):
        with hold(root) as still_held:
            assert still_held is not None
            still_held()


def test_whoever_waits_gets_it_next(place, monkeypatch):
    monkeypatch.setattr(lease, "_POLL", 0.05)
    order = []

    def second() -> None:
        with hold_lease(place, wait=True):
            order.append("second")

    with hold_lease(place):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.3)
        order.append("first")
    waiting.join(20)
    assert order == ["first", "second"]


def test_of_many_at_once_one_gets_it(place):
    taken, refused = [], []

    def one() -> None:
        mine = Lease(place, 60)
        try:
            mine.take(wait=False)
            taken.append(mine)
        except Held as held:
            refused.append(held)

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 5)


def test_a_lease_that_is_not_renewed_ends_and_is_taken_over(place, monkeypatch):
    monkeypatch.setattr(lease, "_CLOCK", 0.0)
    dead = Lease(place, 3)
    dead.take(wait=False)
    with pytest.raises(Held, match="holds the pipeline"):
        Lease(place, 3).take(wait=False)
    time.sleep(3)
    with hold_lease(place) as still_held:
        still_held()
        dead.keep()
        assert dead.lost
        with pytest.raises(Held, match="the lease on the pipeline was lost"):
            dead.check()
        dead.release()
        still_held()


def test_a_lease_is_renewed_while_it_is_held(place):
    with hold_lease(place, lasts=3) as still_held:
        tags = set()
        for _ in range(35):
            time.sleep(0.1)
            tags.add(s3.head(place))
            with pytest.raises(Held):
                Lease(place, 3).take(wait=False)
        still_held()
    assert len(tags) > 2


def test_a_lease_that_cannot_be_renewed_is_lost(place, service, monkeypatch):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    mine = Lease(place, 0.4)
    mine.take(wait=False)
    with service.refusing(lambda request: (500, "InternalError") if request.method == "PUT" else None):
        mine.keep()
    with pytest.raises(Held, match="could not be renewed in time"):
        mine.check()


def test_a_holder_that_was_stalled_for_longer_than_its_lease_stops_at_its_next_checkpoint(place):
    """The thread that renews has not come to it yet."""
    mine = Lease(place, 60)
    mine.take(wait=False)
    mine.check()
    mine.renewed -= 61
    with pytest.raises(Held, match="the lease on the pipeline was lost"):
        mine.check()


def test_whoever_takes_over_a_lease_fences_off_its_holder_first(root, monkeypatch):
    monkeypatch.setattr(lease, "_CLOCK", 0.0)
    with hold(root):
        versions.first(root, 1)
    before = versions.commits(root)
    with hold(root):
        assert versions.commits(root) == before, "it was released"
    Lease(root / "lock", 1).take(wait=False)
    with hold(root, wait=True):
        assert versions.commits(root) == before + 1
    with pytest.raises(Held):
        versions.promote(root, versions.add(root, 2), 3, since=before)


def test_a_request_that_was_heard_and_repeated_does_not_refuse_itself(place):
    mine = Lease(place, 60)
    assert s3.put_if(place, mine._content(), None)
    mine.take(wait=False)
    assert mine.tag


def test_an_object_that_is_no_lease_holds_like_one(place, service):
    service.client().put_object(Bucket=place.bucket, Key=place.key, Body=b"[hello")
    with pytest.raises(Held, match="another process holds the pipeline"):
        Lease(place, 60).take(wait=False)
