"""The XML API of Google Cloud Storage, as far as object_store asks for it, which delta-rs is built on."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from gcs_http import Answer, Call, described, downloaded
from gcs_store import OCTETS, Asked, Failure, Store, Stored, invalid

_CONDITION = "x-goog-if-generation-match"
_NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"


def refused(status: int, code: str, message: str) -> Answer:
    return _xml(_elements("Error", {"Code": code, "Message": message}), status)


@dataclass
class XmlApi:
    """The API over a store, with the uploads in parts that were begun."""

    store: Store
    _parts: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def __call__(self, call: Call) -> Answer:
        bucket, _, name = (unquote(part) for part in call.path[1:].partition("/"))
        unknown = [each for each in call.headers if each.startswith(("if-", "x-goog-if-", "x-goog-copy"))]
        if set(unknown) - {_CONDITION}:
            raise invalid(f"not served: {unknown}")
        if not name and call.method == "GET":
            return self._list(call, bucket)
        match call.method:
            case "GET" | "HEAD":
                return downloaded(self.store.find(bucket, name, call.number("generation")), call)
            case "PUT" | "POST":
                return self._write(call, bucket, name)
            case "DELETE":
                self.store.delete(bucket, name)
                return Answer(204)
        raise invalid(f"not served: {call.method} {call.path}")

    def _list(self, call: Call, bucket: str) -> Answer:
        query = call.query
        after = query.get("continuation-token") or query.get("start-after", "")
        limit = int(query.get("max-keys", "1000"))
        asked = Asked(query.get("prefix", ""), query.get("delimiter", ""), after, limit=limit)
        page = self.store.page(bucket, asked)
        following = {} if page.last is None else {"NextContinuationToken": page.last}
        head = {"Name": bucket, "IsTruncated": str(page.last is not None).lower()} | following
        objects = "".join(_elements("Contents", _listed(each)) for each in page.objects)
        folders = "".join(_elements("CommonPrefixes", {"Prefix": each}) for each in page.folders)
        return _xml(_elements("ListBucketResult", head, objects + folders, f" xmlns='{_NAMESPACE}'"))

    def _write(self, call: Call, bucket: str, name: str) -> Answer:
        if "uploads" in call.query:
            return self._begin(bucket, name)
        if "partNumber" in call.query:
            self._parts_of(call)[int(call.query["partNumber"])] = call.body
            return Answer(200, {"ETag": f'"{hashlib.md5(call.body, usedforsecurity=False).hexdigest()}"'})
        if "uploadId" in call.query:
            return self._finish(call, bucket, name)
        condition = int(call.headers[_CONDITION]) if _CONDITION in call.headers else None
        kind = call.headers.get("content-type", OCTETS)
        return Answer(200, described(self.store.put(bucket, name, call.body, kind, condition)))

    def _begin(self, bucket: str, name: str) -> Answer:
        self.store.bucket(bucket)
        upload = uuid.uuid4().hex
        self._parts[upload] = {}
        found = {"Bucket": bucket, "Key": name, "UploadId": upload}
        return _xml(_elements("InitiateMultipartUploadResult", found))

    def _finish(self, call: Call, bucket: str, name: str) -> Answer:
        parts = self._parts_of(call)
        listed = ElementTree.fromstring(call.body).iter()  # noqa: S314 # a client of the tests has sent it
        numbers = [int(each.text or "") for each in listed if each.tag.endswith("PartNumber")]
        stored = self.store.put(bucket, name, b"".join(parts[number] for number in numbers))
        del self._parts[call.query["uploadId"]]
        found = {"Bucket": bucket, "Key": name, "ETag": described(stored)["ETag"]}
        answer = _xml(_elements("CompleteMultipartUploadResult", found))
        return Answer(200, answer.headers | described(stored), answer.body)

    def _parts_of(self, call: Call) -> dict[int, bytes]:
        upload = call.query["uploadId"]
        if upload not in self._parts:
            raise Failure(404, "notFound", "NoSuchUpload", "The requested upload was not found.")
        return self._parts[upload]


def _listed(stored: Stored) -> dict[str, str]:
    return {
        "Key": stored.name,
        "Generation": str(stored.generation),
        "MetaGeneration": "1",
        "LastModified": stored.moment,
        "ETag": described(stored)["ETag"],
        "Size": str(len(stored.content)),
    }


def _elements(name: str, values: dict[str, str], inner: str = "", attributes: str = "") -> str:
    """An element with others that have these texts, and what comes after them."""
    texts = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in values.items())
    return f"<{name}{attributes}>{texts}{inner}</{name}>"


def _xml(text: str, status: int = 200) -> Answer:
    body = f"<?xml version='1.0' encoding='UTF-8'?>{text}".encode()
    return Answer(status, {"Content-Type": "application/xml; charset=UTF-8"}, body)
