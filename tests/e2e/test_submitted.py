"""The applications for spark-submit: executors in processes of their own judge as a local session does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import oracle
from product import Product, expected, verdicts
from tidemark.spark.session import installed_jars

S = oracle.SECOND
BASE = 1_767_225_600 * S
JOBS = Path(__file__).parents[2] / "jobs"


@pytest.mark.spark
def test_a_run_submitted_to_executors_of_their_own_judges_the_same(tmp_path):
    source = oracle.Source(late=(10 * S, "adjust"), out_of_order=(2 * S, "adjust"), partitions=("0", "1"))
    rows = tuple(oracle.Row(str(n % 2), BASE + (n * 7 % 40) * S, BASE + n * S) for n in range(40))
    runs = (oracle.Run(BASE + 50 * S, (oracle.Obj("one", BASE + 40 * S, rows),)),)
    product = Product(tmp_path, {"s": source})
    product.land("s", runs[0].objects)
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local-cluster[2,1,1024]"]
    submit += ["--jars", ",".join(map(str, installed_jars())), str(JOBS / "run.py")]
    told = {
        "PYTHONPATH": str(JOBS),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(  # noqa: S603 - the product itself
        [*submit, str(product.config), "--as-of", "2026-01-01T00:00:50Z", "--json"],
        env=os.environ | told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["batches"][0]["rows"] == 40
    assert verdicts(product.events("s")) == expected(oracle.judge(source, runs))
