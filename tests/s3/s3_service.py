"""An S3 service on this machine: moto's, over HTTP, behind a wrapper that counts requests and can refuse them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3
from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

from refusals import Refusing, Request

KEY, SECRET = "KNOWNTOTHESERVICE", "hunter2hunter2hunter2"
"""The credentials that the service knows."""
STATUS = {403: "403 Forbidden", 500: "500 Internal Server Error", 404: "404 Not Found", 503: "503 Slow Down"}


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        """Nothing is logged."""


@dataclass
class Service(Refusing):
    """The service; `refuse` are asked about each request, in order."""

    def __post_init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._writing = threading.Lock()  # moto's conditions hold for one request at a time
        self._server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __call__(self, environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"])
        self.requests.append(request)
        identity = re.search(r"Credential=([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
        if identity is None or identity[1] != KEY:
            return _refused(environ, respond, 403, "InvalidAccessKeyId")
        if (refusal := self.refused(request)) is not None:
            return _refused(environ, respond, *refusal)
        with self._writing if request.method in ("PUT", "POST") else nullcontext():
            return self._moto(environ, respond)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )


def touch(bucket: str, key: str, micros: int) -> None:
    """Set when an object was last modified, microseconds since the epoch: no request can."""
    moment = datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000, tzinfo=None)
    s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[bucket].keys[key].last_modified = moment


def _refused(environ: dict[str, Any], respond: Callable[..., Any], status: int, code: str) -> list[bytes]:
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>refused by the test</Message></Error>".encode()
    respond(STATUS[status], [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [b""] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def fill(bucket: str, keys: Iterable[str], content: bytes = b"x") -> None:
    """Objects of this content, put without a request each."""
    for key in keys:
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(bucket, key, content)
