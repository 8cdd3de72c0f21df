"""Checks the heap of the running JVM, for a process that keeps a session between commands."""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError

from tidemark.spark.compat.jvm import active_context, running


def is_full(share: float) -> bool:
    """True if more than this share of the heap is in use after a collection, or if the JVM does not answer; False
    without a JVM. The heap is collected only if more than the share is in use before."""
    if active_context() is None:
        return False
    try:
        runtime = running().java.lang.Runtime.getRuntime()
        limit = int(share * runtime.maxMemory())
        if _used(runtime) > limit:
            runtime.gc()
        return _used(runtime) > limit
    except Py4JError:
        return True


def _used(runtime: JavaObject) -> int:
    """Bytes of the heap in use, garbage included."""
    return int(runtime.totalMemory() - runtime.freeMemory())
