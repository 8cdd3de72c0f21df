"""Words in names of columns that usually mean event times, arrivals, partitions and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

EVENT: Mapping[str, float] = {
    "event": 3, "occurred": 3, "occurrence": 3, "happened": 3, "observed": 3, "observation": 3, "measured": 3,
    "measurement": 3, "captured": 3, "recorded": 2, "created": 2, "creation": 2, "timestamp": 2, "ts": 2, "time": 1,
    "datetime": 2, "departed": 3, "departure": 3, "passed": 3, "started": 2, "start": 2, "pickup": 2,
    "clicked": 3, "derived": 3, "corrected": 3, "viewed": 3, "ordered": 2, "sampled": 3, "sensed": 3, "taken": 2,
    "when": 2, "date": 1, "transaction": 2, "triggered": 3, "at": 0.5, "client": 1, "device": 1, "from": 0.5,
    "millis": 1, "ms": 1, "epoch": 2,
}  # fmt: skip
"""Words of event times, with their weights."""
ARRIVAL: Mapping[str, float] = {
    "arrival": 4, "arrived": 4, "received": 4, "receive": 4, "receipt": 4, "recv": 4, "rcvd": 4, "enqueued": 5,
    "enqueue": 5, "queued": 4, "ingested": 5, "ingestion": 5, "ingest": 5, "landed": 4, "landing": 4, "inserted": 4,
    "loaded": 4, "published": 3, "uploaded": 4, "collected": 3, "collector": 3, "stored": 4, "persisted": 4,
    "server": 3, "gateway": 3, "broker": 3, "kafka": 3, "delivered": 3, "processed": 3, "written": 3, "logged": 2,
}  # fmt: skip
"""Words of arrival times, with their weights."""
AGAINST: Mapping[str, float] = {
    "scheduled": 4, "schedule": 4, "planned": 4, "plan": 3, "expected": 4, "estimated": 4, "eta": 4, "due": 4,
    "expires": 5, "expiry": 5, "expiration": 5, "valid": 2, "end": 2, "ended": 2, "stop": 2, "until": 3, "to": 1,
    "birth": 6, "birthday": 6, "dob": 6, "deadline": 5, "target": 3, "updated": 2, "modified": 2, "deleted": 3,
    "last": 2, "registered": 2, "signup": 3, "since": 2,
}  # fmt: skip
"""Words of times at which a row neither happened nor arrived, with their weights."""
PARTITION: Mapping[str, float] = {
    "partition": 5, "partitionid": 5, "shard": 5, "shardid": 5, "site": 3, "region": 3, "lane": 3, "plant": 3,
    "datacenter": 3, "dc": 3, "cluster": 3, "zone": 2, "area": 2, "gateway": 2, "station": 2, "tenant": 2,
    "location": 2, "origin": 2, "producer": 2,
}  # fmt: skip
"""Words of partitions, which deliver rows in an order of their own, with their weights."""
ENDS: Mapping[str, float] = {
    "end": 1, "ended": 1, "stop": 1, "stopped": 1, "finish": 1, "finished": 1, "completed": 1, "dropoff": 1,
    "closed": 1, "exit": 1, "exited": 1, "departed": 1, "checkout": 1, "returned": 1,
}  # fmt: skip
"""Words of the end of something: a row about the whole is written then."""
BEGINNINGS: Mapping[str, float] = {
    "start": 1, "started": 1, "begin": 1, "began": 1, "begun": 1, "pickup": 1, "open": 1, "opened": 1, "entry": 1,
    "entered": 1, "checkin": 1, "created": 1, "departure": 1,
}  # fmt: skip
"""Words of the beginning of something."""
KEYS = frozenset({
    "device", "deviceid", "sensor", "vehicle", "car", "machine", "user", "userid", "client", "customer", "account",
    "session", "meter", "phone", "terminal", "asset", "host", "carrier", "driver", "truck", "node",
})  # fmt: skip
"""Words for senders of rows: there are many of these."""
TIME_WORDS = frozenset(EVENT) | frozenset(ARRIVAL)
DATED = frozenset({
    "dt", "date", "day", "year", "month", "hour", "minute", "yyyy", "mm", "dd", "hh", "ds", "time", "hr", "hrs",
    "min", "mins", "yr", "mon", "week", "wk", "y", "m", "d", "h", "ts",
})  # fmt: skip
"""Words in names of folders that mean a time, not a location."""


def words_of(name: str) -> list[str]:
    """Return the words of a name, in lower case: `EventTime`, `event_time` and `event-time` have two each."""
    return [word.lower() for word in _WORDS.findall(name)]


def weight(name: str, words: Mapping[str, float]) -> float:
    """Return the largest weight among a name's words; 0 if none has a weight."""
    found = words_of(name)
    return max((words.get(word, 0) for word in (*found, "".join(found))), default=0)


def identifier(name: str, fallback: str) -> str:
    """Return a valid name of a pipeline or source: lower-case letters, digits and `_`, a letter first."""
    text = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", name.lower())).strip("_")
    if not text:
        return fallback
    return text if text[0].isalpha() else f"{fallback}_{text}"
