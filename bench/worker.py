"""A run in a process of its own with a heap of a given size, told as one line of JSON: seconds, and the most memory
that each of its two processes ever had."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from unittest.mock import patch

from bench.data import Landed
from bench.memory import peak
from bench.subject import check, fresh
from tidemark.spark.session import session


def main(heap: str, work: str, small: str, large: str) -> None:
    """Judge `small` to warm up, then `large`; each is folder, rows, partitions and end of a data set."""
    with patch.object(session, "_memory", lambda: int(heap)):
        spark = session.open_session()
    for name, told in (("warm-up", small), ("measured", large)):
        folder, rows, lanes, end = told.split(",")
        data = Landed(Path(folder), int(rows), int(lanes), int(end))
        pipeline = fresh(Path(work) / name, data)
        begun = time.perf_counter()
        pipeline.run(data.end)
        took = time.perf_counter() - begun
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "there is no JVM"
    java = gateway.jvm.java.lang.ProcessHandle.current().pid()
    told = {"seconds": took, "python": peak("self"), "java": peak(java)}
    check(pipeline, data)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
