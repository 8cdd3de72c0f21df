"""A standalone Spark cluster of a master and two workers, started as docker-compose.yml does, judges the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from samples import at, obj

import oracle
from checked_records import printed_record
from loopback import free_port
from oracle import SECOND
from product import Product, expected, verdicts
from short_lived import OPTIONS, SHORT_LIVED
from tidemark.spark.session.jars import installed_jars

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
OBJECTS = 3
"""Each is a micro-batch of its own."""
SOURCE = oracle.Source(late=(10 * SECOND, "adjust"), out_of_order=(2 * SECOND, "adjust"), partitions=("p0", "p1"))
STREAMS = {"streams": {"tens": {"from": "s", "tumbling": "10s", "select": {"n": "count(*)"}}}}


@dataclass
class Cluster:
    """The master and the workers of the compose file on loopback, on ports of their own."""

    folder: Path
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in ("master", "page")})
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.ports['master']}"

    @property
    def environ(self) -> dict[str, str]:
        return os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_WORKER_CORES": "1",
            "JDK_JAVA_OPTIONS": OPTIONS,  # of the services, and of executors, which inherit it
        }

    def start(self) -> None:
        compose = YAML(typ="safe").load(ROOT / "docker-compose.yml")["services"]
        for name in ("spark-master", "spark-worker-1", "spark-worker-2"):
            told = compose[name]["environment"] if "worker" in name else {}
            own = {key: value for key, value in told.items() if key.startswith("SPARK_") and not key.endswith("PORT")}
            own["SPARK_WORKER_DIR"] = str(self.folder / name)
            words = [self._here(word) for word in compose[name]["command"]]
            with (self.folder / f"{name}.log").open("wb") as log:
                self.processes[name] = subprocess.Popen(  # noqa: S603 - the project's own Spark
                    [BIN / words[0], *words[1:]], env=self.environ | own, stdout=log, stderr=log, cwd=self.folder
                )
            self.until(partial(self._has_workers, len(self.processes) - 1))

    def _here(self, word: str) -> str:
        known = {"spark-master": "127.0.0.1", "7077": str(self.ports["master"]), "8081": str(self.ports["page"])}
        return known.get(word, word.replace("spark://spark-master:7077", self.url))

    def _has_workers(self, count: int) -> bool:
        return len(self.told()["workers"]) >= count

    def told(self) -> dict[str, Any]:
        """What the master's page says; no worker while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['page']}/json/", timeout=5) as page:
                return dict(json.load(page))
        except (OSError, ValueError):  # the page is there a moment before what it tells programs
            return {"workers": [], "activeapps": []} if self.processes["spark-master"].poll() is None else {}

    def until(self, holds: Any, seconds: float = 600) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, {path.name: path.read_text()[-1000:] for path in self.folder.glob("*.log")}
            time.sleep(0.2)

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            process.wait(30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def fed(folder: Path) -> Product:
    product = Product(folder, {"s": SOURCE}, STREAMS)
    product.land("s", [obj(f"{number}", 10 * number, 60) for number in range(1, OBJECTS + 1)])
    return product


def submitted(product: Product, master: str) -> subprocess.Popen[str]:
    """`run` in micro-batches of one file, as an application of that master."""
    jars = ",".join(map(str, installed_jars()))
    words = [str(BIN / "spark-submit"), "--master", master, "--driver-memory", "1g", "--conf"]
    words += ["spark.executor.memory=600m", "--jars", jars, str(ROOT / "jobs" / "run.py"), str(product.config)]
    told = {"PYTHONPATH": str(ROOT / "jobs"), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(  # noqa: S603 - the product itself
        [*words, "--as-of", "2026-01-01T00:01:00Z", "--max-files", "1", "--json"],
        env=os.environ | SHORT_LIVED | told,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def digests(product: Product) -> list[dict[str, str]]:
    ledger = product.pipeline().ledger
    records = ledger.batches(1, ledger.last().committed_through)
    return [{each.table: each.digest for each in record.digests} for record in records]


def test_a_cluster_named_by_a_variable_gets_the_jars_from_the_driver(tmp_path, cluster):
    """The command line alone: neither jars nor an address of the driver are given."""
    product = fed(tmp_path)
    ran = subprocess.run(  # noqa: S603 - the product itself
        [BIN / "tidemark", "run", str(product.config), "--as-of", "2026-01-01T00:01:00Z", "--json"],
        env=os.environ | SHORT_LIVED | {"TIDEMARK_MASTER": cluster.url, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    assert [batch["rows"] for batch in printed_record("run", ran.stdout)["batches"]] == [60 * OBJECTS]
    assert product.pipeline().replay(all_batches=True)["identical"]


@pytest.mark.usefixtures("spark")
def test_a_cluster_that_loses_a_worker_on_the_way_comes_to_the_same_digests(tmp_path, cluster):
    local, spread = fed(tmp_path / "local"), fed(tmp_path / "spread")
    local.run(at(60), max_files=1)
    running = submitted(spread, cluster.url)
    cluster.until(lambda: (spread.folder / "warehouse/tested/v1/events/s").is_dir() or running.poll() is not None)
    os.kill(cluster.processes["spark-worker-1"].pid, signal.SIGKILL)
    said, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors[-3000:]
    assert sum(batch["rows"] for batch in printed_record("run", said)["batches"]) == 60 * OBJECTS
    assert digests(spread) == digests(local)
    assert len(digests(local)) == OBJECTS
    runs = (oracle.Run(at(60), tuple(obj(f"{number}", 10 * number, 60) for number in range(1, OBJECTS + 1))),)
    assert verdicts(spread.events("s")) == expected(oracle.judge(SOURCE, runs))
    cluster.until(lambda: sum(worker["state"] == "ALIVE" for worker in cluster.told()["workers"]) == 1)


def test_spark_itself_refuses_the_cluster_mode_that_the_page_says_is_not_there():
    words = [str(BIN / "spark-submit"), "--master", "spark://127.0.0.1:1", "--deploy-mode", "cluster"]
    done = subprocess.run(  # noqa: S603 - the project's own Spark
        [*words, str(ROOT / "jobs" / "run.py")],
        env=os.environ | SHORT_LIVED | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "not supported for python applications on standalone clusters" in done.stderr
    assert "**Cluster mode**" in (ROOT / "docs" / "clusters.md").read_text()
