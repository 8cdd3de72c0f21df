"""A Google Cloud Storage service on this machine, in memory: both of its APIs over one store, behind credentials that
it gives out. It counts requests and can refuse them."""

from __future__ import annotations

import base64
import json
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import gcs_batch
import gcs_json
import gcs_xml
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from gcs_http import Answer, Call
from gcs_store import Failure, Store

from refusals import Refusing, Request

EMAIL = "tests@tidemark.iam.gserviceaccount.com"
"""The account that the service knows."""
_TOKENS = "/token"


@dataclass
class Service(Refusing):
    """The service; `refuse` are asked about each request, in order. Requests for tokens, which go to another service
    of Google's, are neither counted nor refused."""

    def __post_init__(self) -> None:
        self._store, self._tokens = Store(), set[str]()
        self._json, self._xml = gcs_json.JsonApi(self._store), gcs_xml.XmlApi(self._store)
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __call__(self, call: Call) -> Answer:
        if call.path == _TOKENS:
            return self._token(call)
        api, refused = (
            (self._json, gcs_json.refused)
            if call.path.startswith(gcs_json.PREFIXES)
            else (self._xml, gcs_xml.refused)
        )
        request = Request(call.method, unquote(call.path), call.asked)
        self.requests.append(request)
        if not self._knows(call.headers.get("authorization", "")):
            code = "authError" if api is self._json else "AuthenticationRequired"
            return refused(401, code, "Invalid Credentials")
        if (refusal := self.refused(request)) is not None:
            return refused(*refusal, "refused by the test")
        if call.path == gcs_batch.PATH:
            return gcs_batch.answered(call, self)
        try:
            return api(call)
        except Failure as failure:
            return refused(failure.status, failure.reason if api is self._json else failure.code, str(failure))

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def write_credentials(self, path: Path) -> None:
        """A file for GOOGLE_APPLICATION_CREDENTIALS, with what every client looks for in it."""
        key = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        found = {
            "type": "service_account",
            "project_id": "tidemark",
            "client_email": EMAIL,
            "client_id": "1",
            "private_key": key.decode(),
            "private_key_id": uuid.uuid4().hex,
            "token_uri": self.url + _TOKENS,
            "gcs_base_url": self.url,
            "disable_oauth": False,
        }
        path.write_text(json.dumps(found), encoding="utf-8")

    def make_bucket(self, name: str) -> None:
        self._store.make_bucket(name)

    def put(self, bucket: str, key: str, content: bytes, created_micros: int | None = None) -> None:
        """Store an object without a request, as if it had been written then."""
        self._store.put(bucket, key, content, created=created_micros)

    def keys(self, bucket: str) -> list[str]:
        return self._store.keys(bucket)

    def delete(self, bucket: str, key: str) -> None:
        self._store.delete(bucket, key)

    def read(self, bucket: str, key: str) -> bytes:
        return self._store.find(bucket, key).content

    def _token(self, call: Call) -> Answer:
        """A token for who signs for the account that is known."""
        if _issuer(dict(parse_qsl(call.body.decode())).get("assertion", "")) != EMAIL:
            error = {"error": "invalid_grant", "error_description": "Invalid grant: account not found"}
            return Answer(400, {"Content-Type": "application/json"}, json.dumps(error).encode())
        token = uuid.uuid4().hex
        self._tokens.add(token)
        found = {"access_token": token, "token_type": "Bearer", "expires_in": 3600}
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(found).encode())

    def _knows(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind == "Bearer" and (token in self._tokens or _issuer(token) == EMAIL)


def _issuer(signed: str) -> str | None:
    """Who a signed JSON token says has issued it; None: it is none."""
    with suppress(ValueError, IndexError):
        return str(json.loads(base64.urlsafe_b64decode(signed.split(".")[1] + "==")).get("iss"))
    return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service = service


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.service(Call.of(self.command, self.path, headers, self._body()))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 # as the server looks for them

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)
