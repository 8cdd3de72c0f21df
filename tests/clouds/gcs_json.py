"""The JSON API of Google Cloud Storage, as far as Google's clients for Python and for Hadoop ask for it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from gcs_http import Answer, Call, downloaded
from gcs_store import Asked, Store, Stored, invalid
from gcs_uploads import Uploads

PREFIXES = ("/storage/", "/upload/", "/download/", "/batch/")
"""How paths of this API begin."""
_CONDITIONS = {"ifGenerationMatch", "ifSourceGenerationMatch"}
_OBJECT = r"/storage/v1/b/([^/]+)/o/([^/]+)"


def refused(status: int, reason: str, message: str) -> Answer:
    error = {"message": message, "domain": "global", "reason": reason}
    return _json({"error": {"code": status, "message": message, "errors": [error]}}, status)


class JsonApi:
    """The API over a store."""

    def __init__(self, store: Store) -> None:
        self.store, self.uploads = store, Uploads(store)
        self.routes: list[tuple[str, str, Callable[..., Answer]]] = [
            ("GET", r"/storage/v1/b/([^/]+)", self._bucket),
            ("GET", r"/storage/v1/b/([^/]+)/o", self._list),
            ("GET", f"(?:/download)?{_OBJECT}", self._get),
            ("DELETE", _OBJECT, self._delete),
            ("POST", rf"{_OBJECT}/rewriteTo/b/([^/]+)/o/([^/]+)", self._rewrite),
            ("POST", rf"{_OBJECT}/moveTo/o/([^/]+)", self._move),
            ("POST|PUT", r"/upload/storage/v1/b/([^/]+)/o", self._upload),
        ]

    def __call__(self, call: Call) -> Answer:
        unknown = {each for each in call.query if each.startswith("if")} - _CONDITIONS
        if unknown:
            raise invalid(f"not served: {unknown}")
        for methods, path, answer in self.routes:
            found = re.fullmatch(path, call.path)
            if found and call.method in methods.split("|"):
                return answer(call, *map(unquote, found.groups()))
        raise invalid(f"not served: {call.method} {call.path}")

    def _bucket(self, _: Call, bucket: str) -> Answer:
        self.store.bucket(bucket)
        moment = "2026-01-01T00:00:00.000Z"
        return _json({"kind": "storage#bucket", "name": bucket, "timeCreated": moment, "updated": moment})

    def _list(self, call: Call, bucket: str) -> Answer:
        query = call.query
        asked = Asked(
            query.get("prefix", ""),
            query.get("delimiter", ""),
            base64.urlsafe_b64decode(query.get("pageToken", "")).decode(),
            query.get("startOffset", ""),
            int(query.get("maxResults", "1000")),
            query.get("includeTrailingDelimiter") == "true",
        )
        page = self.store.page(bucket, asked)
        found = {"items": [_resource(each, call) for each in page.objects], "prefixes": page.folders}
        if page.last is not None:
            found["nextPageToken"] = base64.urlsafe_b64encode(page.last.encode()).decode()
        return _json(_chosen(found, query.get("fields")))

    def _get(self, call: Call, bucket: str, name: str) -> Answer:
        found = self.store.find(bucket, name, call.number("generation"))
        self.store.require(bucket, name, call.number("ifGenerationMatch"))
        if call.query.get("alt") == "media":
            return downloaded(found, call)
        return _json(_chosen(_resource(found, call), call.query.get("fields")))

    def _delete(self, call: Call, bucket: str, name: str) -> Answer:
        self.store.delete(bucket, name, call.number("ifGenerationMatch"))
        return Answer(204)

    def _rewrite(self, call: Call, bucket: str, name: str, to_bucket: str, target: str) -> Answer:
        source = self._source(call, bucket, name)
        made = self.store.copy(source, to_bucket, target, call.number("ifGenerationMatch"))
        size = str(len(made.content))
        found = {"totalBytesRewritten": size, "objectSize": size, "done": True, "resource": _resource(made, call)}
        return _json({"kind": "storage#rewriteResponse"} | found)

    def _move(self, call: Call, bucket: str, name: str, target: str) -> Answer:
        made = self.store.move(self._source(call, bucket, name), target, call.number("ifGenerationMatch"))
        return _json(_resource(made, call))

    def _source(self, call: Call, bucket: str, name: str) -> Stored:
        found = self.store.find(bucket, name, call.number("sourceGeneration"))
        self.store.require(bucket, name, call.number("ifSourceGenerationMatch"))
        return found

    def _upload(self, call: Call, bucket: str) -> Answer:
        found = self.uploads(call, bucket)
        return _json(_resource(found, call)) if isinstance(found, Stored) else found


def _resource(stored: Stored, call: Call) -> dict[str, Any]:
    """What the API says about an object."""
    path = f"storage/v1/b/{stored.bucket}/o/{quote(stored.name, safe='')}"
    generation = str(stored.generation)
    return {
        "kind": "storage#object",
        "id": f"{stored.bucket}/{stored.name}/{generation}",
        "selfLink": f"{call.base}/{path}",
        "mediaLink": f"{call.base}/download/{path}?generation={generation}&alt=media",
        "bucket": stored.bucket,
        "name": stored.name,
        "generation": generation,
        "metageneration": "1",
        "contentType": stored.kind,
        "storageClass": "STANDARD",
        "size": str(len(stored.content)),
        "md5Hash": stored.md5,
        "crc32c": stored.crc32c,
        "etag": f"{stored.generation:x}",
        "timeCreated": stored.moment,
        "updated": stored.moment,
    }


def _chosen(found: dict[str, Any], fields: str | None) -> dict[str, Any]:
    """What is asked for of an answer, such as `items(name,size),nextPageToken`; None: everything."""
    if fields is None:
        return found
    asked = {each[1]: each[2] for each in re.finditer(r"(\w+)(?:\(([^()]*)\))?", fields)}
    chosen = {key: value for key, value in found.items() if key in asked}
    for key, inner in asked.items():
        if inner and key in chosen:
            chosen[key] = [_chosen(each, inner) for each in chosen[key]]
    return chosen


def _json(found: dict[str, Any], status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": "application/json; charset=UTF-8"}, json.dumps(found).encode())
