"""A worker's side of the bench: a process that stays up and does its job whenever it is asked.

Only the standard library is needed, so that it runs in any environment. A request is one line of JSON with the
arguments of the job, an answer one line with the seconds it took. Answers have a pipe of their own: what a JVM that
the process starts may print is none.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable


def serve(job: Callable[..., object]) -> None:
    """Say that everything is up; then do the job as often as asked, until nobody asks any more."""
    answers = os.fdopen(int(os.environ["BENCH_ANSWERS"]), "w", buffering=1)
    answers.write(json.dumps({"ready": True}) + "\n")
    for line in sys.stdin:
        arguments = json.loads(line)
        gc.collect()
        os.sync()
        begun = time.perf_counter()
        job(**arguments)
        answers.write(json.dumps({"seconds": time.perf_counter() - begun}) + "\n")
