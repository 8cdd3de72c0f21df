"""What spark-submit hands to Kubernetes and to YARN for the lines of docs/clusters.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyspark
import pytest

from short_lived import SHORT_LIVED
from tidemark.spark.session.jars import installed_jars

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "clusters.md").read_text()
BIN = Path(sys.executable).parent
IN_THE_IMAGE = "/opt/tidemark/"
"""The folder of the project in its image (Dockerfile)."""


class Kubernetes(BaseHTTPRequestHandler):
    """An API server that accepts each object and keeps it; nothing runs."""

    made: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made["metadata"] |= {"uid": f"uid-{len(self.made)}", "namespace": "default", "resourceVersion": "1"}
        self.made.append(made)
        self._answer(201, made)

    def do_PATCH(self) -> None:
        self.do_POST()

    def do_GET(self) -> None:
        self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def kubernetes() -> Iterator[str]:
    """The address of an API server on loopback."""
    Kubernetes.made.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Kubernetes)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def lines_of(title: str, language: str) -> list[str]:
    """Lines of the first block in a language of a section of the page."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def settings(folder: Path, title: str) -> dict[str, str]:
    """Write `tidemark.conf` as a section of the page has it, and return its settings."""
    lines = lines_of(title, "properties")
    (folder / "tidemark.conf").write_text("\n".join(lines) + "\n")
    return dict(line.split(maxsplit=1) for line in lines)


def submit(folder: Path, words: list[str], *more: str) -> subprocess.CompletedProcess[str]:
    """Run a spark-submit line of the page."""
    assert words[0] == "spark-submit"
    own = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "HADOOP_CONF_DIR": str(folder)}
    environ = os.environ | SHORT_LIVED | own | {"SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(  # noqa: S603 - the project's own Spark
        [str(BIN / words[0]), *more, *words[1:]], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


def test_kubernetes_gets_a_pod_of_the_image_and_nothing_of_the_machine_that_submits(tmp_path, kubernetes):
    wanted = settings(tmp_path, "Kubernetes")
    (line,) = lines_of("Kubernetes", "sh")
    done = submit(
        tmp_path,
        line.replace("https://API:6443", kubernetes).split(),
        "--conf",
        "spark.kubernetes.submission.waitAppCompletion=false",
    )
    assert done.returncode == 0, done.stderr
    (pod,) = (made for made in Kubernetes.made if made["kind"] == "Pod")
    (container,) = pod["spec"]["containers"]
    assert container["image"] == wanted["spark.kubernetes.container.image"]
    assert container["args"][0] == "driver"
    assert container["args"][-3:] == line.split()[-3:]
    assert pod["spec"]["serviceAccountName"] == "spark"
    properties = "".join(
        text for made in Kubernetes.made if made["kind"] == "ConfigMap" for text in made["data"].values()
    )
    for key, value in wanted.items():
        assert re.search(rf"^{re.escape(key)}={re.escape(value)}$", properties.replace("\\:", ":"), re.MULTILINE), key
    sent = json.dumps(Kubernetes.made)
    assert not [path for path in (str(tmp_path), str(ROOT), str(Path.home()) + "/") if path in sent]


def test_what_the_page_names_in_the_image_is_where_its_dockerfile_puts_it():
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "WORKDIR /opt/tidemark\n" in dockerfile
    copied = re.findall(r"COPY --chown=tidemark (\w+) \./\1$", dockerfile, re.MULTILINE)
    paths = re.findall(rf"{IN_THE_IMAGE}([^\s*:`]+)", PAGE)
    assert {path.partition("/")[0] for path in paths} == {".venv", "jobs"}
    for path in paths:
        assert (ROOT / path).exists(), path
        assert path.startswith(".venv/") or path.partition("/")[0] in copied


def test_yarn_gets_the_environment_the_jars_and_the_pipeline_file(tmp_path):
    (tmp_path / "tidemark.conf").write_text("spark.yarn.appMasterEnv.PYSPARK_PYTHON ./environment/bin/python\n")
    for name in ("tidemark-env.tar.gz", "toll.yml", "command.py"):
        (tmp_path / name).write_text("")
    jars = [str(jar) for jar in installed_jars()]
    line = next(line for line in lines_of("YARN", "sh") if line.startswith("spark-submit"))
    words = line.replace('"$JARS"', ",".join(jars)).split()
    nowhere = ("--conf", "spark.hadoop.yarn.resourcemanager.address=127.0.0.1:1")
    done = submit(tmp_path, words, "--verbose", *nowhere, *no_retries())
    assert done.returncode != 0, "there is no YARN at this address"
    said = done.stdout + done.stderr
    assert "org.apache.spark.deploy.yarn.YarnClusterApplication" in said
    config = dict(re.findall(r"^\(spark\.(yarn\.dist\.\w+|yarn\.appMasterEnv\.\w+),(.*)\)$", said, re.MULTILINE))
    assert config["yarn.dist.archives"].endswith("/tidemark-env.tar.gz#environment")
    assert config["yarn.dist.files"].endswith("/toll.yml")
    assert sorted(map(Path, re.sub("file:(//)?", "", config["yarn.dist.jars"]).split(","))) == sorted(map(Path, jars))
    assert config["yarn.appMasterEnv.PYSPARK_PYTHON"] == "./environment/bin/python"
    assert re.search(r"--primary-py-file\n.*command\.py\n", said)
    assert re.search(r"--arg\nrun\n--arg\ntoll\.yml\n", said)


def no_retries() -> list[str]:
    """Settings with which YARN's client gives up at once."""
    given = {"ipc.client.connect.max.retries": "0", "yarn.resourcemanager.connect.max-wait.ms": "1"}
    given["yarn.resourcemanager.connect.retry-interval.ms"] = "1"
    return [word for key, value in given.items() for word in ("--conf", f"spark.hadoop.{key}={value}")]
