"""Uploads of the JSON API: an object with its description in one request, or piece by piece."""

from __future__ import annotations

import gzip
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from gcs_http import Answer, Call
from gcs_store import OCTETS, Failure, Store, Stored, invalid


@dataclass
class Upload:
    """An upload that was begun: the object, what it will be, and the content that has come."""

    name: str
    kind: str
    condition: int | None
    content: bytearray = field(default_factory=bytearray)


@dataclass
class Uploads:
    """The uploads of a store."""

    store: Store
    _begun: dict[str, Upload] = field(default_factory=dict)

    def __call__(self, call: Call, bucket: str) -> Stored | Answer:
        """The object that the request has completed, or what else it is answered with."""
        self.store.bucket(bucket)
        if "upload_id" in call.query:
            return self._continue(call, bucket)
        match call.query["uploadType"]:
            case "multipart":
                return self._whole(call, bucket)
            case "resumable":
                return self._begin(call, bucket)
        raise invalid(f"not served: {call.query}")

    def _whole(self, call: Call, bucket: str) -> Stored:
        boundary = call.headers["content-type"].partition("boundary=")[2].strip("\"'").encode()
        parts = [each.partition(b"\r\n\r\n") for each in call.body.split(b"--" + boundary)[1:3]]
        described = json.loads(parts[0][2])
        kind = re.search(rb"(?i)content-type:\s*(\S+)", parts[1][0])
        content = parts[1][2].removesuffix(b"\r\n")
        named = kind[1].decode() if kind else OCTETS
        condition = call.number("ifGenerationMatch")
        return self.store.put(bucket, described["name"], content, described.get("contentType", named), condition)

    def _begin(self, call: Call, bucket: str) -> Answer:
        described = _described(call)
        name, kind = described.get("name") or call.query["name"], described.get("contentType", OCTETS)
        condition = call.number("ifGenerationMatch")
        self.store.require(bucket, name, condition)
        upload = uuid.uuid4().hex
        self._begun[upload] = Upload(name, kind, condition)
        address = f"{call.base}{call.path}?uploadType=resumable&upload_id={upload}"
        return Answer(200, {"Location": address, "X-GUploader-UploadID": upload})

    def _continue(self, call: Call, bucket: str) -> Stored | Answer:
        upload = self._begun.get(call.query["upload_id"])
        if upload is None:
            raise Failure(404, "notFound", "NoSuchUpload", "There is no such upload.")
        sent = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", call.headers.get("content-range", ""))
        if sent is None or int(sent[1] or 0) > len(upload.content):
            raise invalid("bytes are missing before these")
        if sent[1]:
            upload.content[int(sent[1]) :] = call.body
        if sent[2] == "*" or int(sent[2]) > len(upload.content):
            received = len(upload.content)
            return Answer(308, {"Range": f"bytes=0-{received - 1}"} if received else {})
        del self._begun[call.query["upload_id"]]
        return self.store.put(bucket, upload.name, bytes(upload.content), upload.kind, upload.condition)


def _described(call: Call) -> dict[str, Any]:
    """The description of the object in the request's body, which may be compressed."""
    body = gzip.decompress(call.body) if call.headers.get("content-encoding") == "gzip" else call.body
    return dict(json.loads(body or b"{}"))
