"""The pipeline's lock on storage without a file system: a small object that its holder renews.

The object is created only if missing, and renewed or taken over only by its last tag, so that one of two holders
wins. The lease of a dead holder ends when the object is older than the lease lasts, by the service's clock.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tidemark.config.address import RemoteLocation
from tidemark.errors import Held, TidemarkError
from tidemark.storage.object_store import ObjectStore
from tidemark.storage.stores import store_of

LASTS = 60.0
"""Seconds that a lease lasts after its last renewal."""
_RENEWALS = 4
"""Number of renewals in the time that a lease lasts."""
_POLL = 1.0
_CLOCK = 1.0
"""Seconds by which an object's age may be off: services give times in whole seconds."""


@contextmanager
def hold_lease(
    location: RemoteLocation, wait: bool = False, lasts: float = LASTS, fence: Callable[[], None] = lambda: None
) -> Iterator[Callable[[], None]]:
    """Hold the lease object at `location` while the block runs. Gives a function that raises Held once the lease is
    lost.

    Without `wait` a lease that another process holds raises Held at once. `fence` is called first if the lease was
    taken over from a holder that has not released it.
    """
    lease = Lease(location, lasts)
    lease.take(wait)
    if lease.taken_over:
        fence()
    renewing = threading.Thread(target=lease.keep, name="tidemark-lease", daemon=True)
    renewing.start()
    try:
        yield lease.check
    finally:
        lease.ended.set()
        renewing.join()
        lease.release()


def lease_holder(location: RemoteLocation) -> str | None:
    """The holder of a lease that has not ended; None if there is none."""
    found = store_of(location).read_stamped(location)
    known = {} if found is None else _known(found.content)
    if found is None or known.get("released") or known.get("lasts", 0.0) + _CLOCK <= found.age:
        return None
    return str(known.get("holder", "another process"))


@dataclass
class Lease:
    """One process's hold on a lease object."""

    location: RemoteLocation
    lasts: float
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    tag: str = ""
    written: int = 0
    lost: bool = False
    taken_over: bool = False
    """True if the holder before did not release the lease: it may be stalled, and go on later."""
    renewed: float = field(default_factory=time.monotonic)
    """The time at which the last successful request to take or renew the lease was sent."""
    ended: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def _store(self) -> ObjectStore:
        return store_of(self.location)

    def take(self, wait: bool) -> None:
        """Create the object, or take it over once its lease has ended. Without `wait`, raises Held if another process
        has it."""
        self.renewed = time.monotonic()
        tag = self._store.put_if(self.location, self._content(), None)
        while tag is None:
            self.renewed = time.monotonic()
            found = self._store.read_stamped(self.location)
            if found is None:
                tag = self._store.put_if(self.location, self._content(), None)
                continue
            known = _known(found.content)
            if known.get("token") == self.token:
                tag = found.tag  # our request had succeeded before it was repeated
                continue
            left = 0.0 if known.get("released") else known.get("lasts", self.lasts) + _CLOCK - found.age
            if left <= 0:
                self.taken_over = not known.get("released")
                tag = self._store.put_if(self.location, self._content(), found.tag)
            elif wait:
                time.sleep(min(_POLL, left))
            else:
                raise _held(self.location, known, left)
        self.tag = tag

    def keep(self) -> None:
        """Renew until `ended` is set or the lease is lost: another has it, or it could not be renewed in time."""
        while not self.ended.wait(self.lasts / _RENEWALS):
            with suppress(TidemarkError):
                sent = time.monotonic()
                if not self._renew():
                    self.lost = True
                    return
                self.renewed = sent
            if self._ended():
                self.lost = True
                return

    def check(self) -> None:
        """Raise Held if the lease is lost, or has ended while this process was stalled and could not renew it; the
        next run finishes what is recorded already."""
        self.lost = self.lost or self._ended()
        if self.lost:
            raise Held(
                "the lease on the pipeline was lost: it could not be renewed in time",
                where=str(self.location),
                hint="run again: what was begun is finished, and nothing is done twice",
            )

    def release(self) -> None:
        """Let others take the lease at once. If that fails, it ends by itself."""
        if not self.lost:
            with suppress(TidemarkError):
                self._store.put_if(self.location, self._content(released=True), self.tag)

    def _ended(self) -> bool:
        return time.monotonic() - self.renewed > self.lasts

    def _renew(self) -> bool:
        tag = self._store.put_if(self.location, self._content(), self.tag)
        if tag is None:
            found = self._store.read_stamped(self.location)
            tag = found.tag if found is not None and _known(found.content).get("token") == self.token else None
        self.tag = tag or self.tag
        return tag is not None

    def _content(self, released: bool = False) -> bytes:
        """The content of the lease object, new each time: tags depend on content, so no tag occurs twice."""
        self.written += 1
        known = {
            "holder": f"process {os.getpid()} on {socket.gethostname()}",
            "token": self.token,
            "lasts": self.lasts,
            "released": released,
            "written": self.written,
        }
        return json.dumps(known).encode()


def _known(content: bytes) -> dict[str, Any]:
    """Content of a lease object as a mapping; empty if it is not one of ours."""
    try:
        known = json.loads(content)
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _held(location: RemoteLocation, known: dict[str, Any], left: float) -> Held:
    who = str(known.get("holder", "another process"))
    return Held(
        f"{who} holds the pipeline",
        where=str(location),
        hint=f"run again when it has ended, or use --wait; if it was killed, its lease ends in {left:.0f} s",
    )
