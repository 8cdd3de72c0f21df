"""Servers on loopback that keep what they receive: mail by SMTP, and posts to a webhook."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Mailbox(socketserver.ThreadingTCPServer):
    """An SMTP server (RFC 5321, without extensions) and the mail that it took."""

    allow_reuse_address, daemon_threads = True, True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.mail: list[EmailMessage] = []
        self.recipients: list[list[str]] = []

    @property
    def connection(self) -> dict[str, Any]:
        """As an Airflow connection."""
        extra = {"to": "ops@example.org", "from_email": "tidemark@example.org", "disable_ssl": True}
        port = self.server_address[1]
        return {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra | {"disable_tls": True}}


class _Session(socketserver.StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        self.answer("220 ready")
        to: list[str] = []
        while (line := self.rfile.readline()) and (verb := line[:4].upper().rstrip()) != b"QUIT":
            if verb == b"RCPT":
                to.append(line.decode().partition(":")[2].strip(" <>\r\n"))
            if verb == b"DATA":
                self.answer("354 go on")
                self.keep(to)
                to = []
            self.answer("250 ok")
        self.answer("221 bye")

    def keep(self, to: list[str]) -> None:
        lines = iter(self.rfile.readline, b".\r\n")
        content = b"".join(line.removeprefix(b".") if line.startswith(b"..") else line for line in lines)
        found = message_from_bytes(content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.server.recipients.append(to)
        self.server.mail.append(found)

    def answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class Webhook(ThreadingHTTPServer):
    """A server that takes posts of JSON; it answers with `status`."""

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), Posts)
        self.status, self.posts = status, list[tuple[str, Any]]()

    def take(self, path: str, body: bytes) -> int:
        self.posts.append((path, json.loads(body)))
        return self.status

    @property
    def connection(self) -> dict[str, Any]:
        """As an Airflow connection with a secret in its path."""
        host = f"http://127.0.0.1:{self.server_address[1]}/services"
        return {"conn_type": "slackwebhook", "host": host, "password": "T0/B0/secret-of-the-hook"}


class Posts(BaseHTTPRequestHandler):
    """Hands each post to the server's `take`, whose result is the answer's status."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.take(self.path, body))  # type: ignore[attr-defined] # of the servers here
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@contextmanager
def serving(*servers: socketserver.BaseServer) -> Iterator[None]:
    """Servers that answer until the block ends."""
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
