"""Several requests to the JSON API in one, as Google's client for Hadoop renames or deletes many objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus

from gcs_http import Answer, Call

PATH = "/batch/storage/v1"
_BOUNDARY = "answers"


def answered(call: Call, answer: Callable[[Call], Answer]) -> Answer:
    """Each of the requests in this one is answered by itself; they have its authorization unless they bring one."""
    boundary = call.headers["content-type"].partition("boundary=")[2].strip("\"'").encode()
    parts = [_part(each, call, answer) for each in call.body.split(b"--" + boundary)[1:-1]]
    body = b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode()
    return Answer(200, {"Content-Type": f"multipart/mixed; boundary={_BOUNDARY}"}, body)


def _part(part: bytes, call: Call, answer: Callable[[Call], Answer]) -> bytes:
    about, _, request = part.strip(b"\r\n").partition(b"\r\n\r\n")
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target = first.split()[:2]
    own = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    inherited = {name: call.headers[name] for name in ("host", "authorization")}
    found = answer(Call.of(method, target, inherited | own, body))
    number = re.search(rb"(?i)content-id:\s*<?([^>\r\n]+)", about)
    headers = found.headers | {"Content-Length": str(len(found.body))}
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        f"--{_BOUNDARY}\r\nContent-Type: application/http\r\n".encode()
        + (b"Content-ID: <response-" + number[1] + b">\r\n" if number else b"")
        + f"\r\nHTTP/1.1 {found.status} {HTTPStatus(found.status).phrase}\r\n{told}\r\n".encode()
        + found.body
        + b"\r\n"
    )
