"""Landing folders in the shapes that public systems write, each with the choice that an expert makes.

Values are made here; only names of columns, layouts of folders and forms of times are those of the systems named.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from landing_files import HOUR, SECOND, START, cells, iso, lines, millis, put
from pyarrow import parquet

ROWS = 60
LANDED = START + HOUR
COPIED = START + timedelta(days=300)
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Shape:
    """One landing folder: `write` fills it; `choice` is the expert's, by key of the source (`types` of columns that
    matter; None: the key is left out), or `error`, words of the refusal."""

    name: str
    write: Callable[[Path], object]
    choice: dict[str, Any] = field(default_factory=dict)


def moments(step: float = 50, count: int = ROWS, start: datetime = START) -> list[datetime]:
    """Times in order, `step` seconds apart with a little unrest."""
    return [start + (number * step + number * 7 % 5) * SECOND for number in range(count)]


def behind(number: int) -> timedelta:
    """How long before its arrival a row happened: mostly seconds, one of ten 3 minutes."""
    return (180 if number % 10 == 3 else number % 3) * SECOND


def both(event: str, arrival: str, form: Callable[[datetime], object] = iso, **more: Callable[[int], object]) -> Rows:
    """Rows with an event time and an arrival."""
    return [
        {event: form(time - behind(n)), arrival: form(time)} | {name: make(n) for name, make in more.items()}
        for n, time in enumerate(moments())
    ]


def one(time: str, form: Callable[[datetime], object] = iso, **more: Callable[[int], object]) -> Rows:
    """Rows with one time, out of order by up to 3 minutes."""
    return [
        {time: form(at - behind(n))} | {name: make(n) for name, make in more.items()}
        for n, at in enumerate(moments())
    ]


def json_file(rows: Rows, name: str = "a.json", landed: datetime = LANDED) -> Callable[[Path], object]:
    return lambda folder: put(folder / name, lines(rows), landed)


def csv_file(
    rows: Rows, sep: str = ",", name: str = "a.csv", header: bool = True, quoted: bool = False
) -> Callable[[Path], object]:
    names = [list(rows[0])] if header else []
    written = [[f'"{cell}"' if quoted else cell for cell in row] for row in (*names, *(row.values() for row in rows))]
    return lambda folder: put(folder / name, cells(written, sep), LANDED)


def parquet_file(columns: dict[str, pa.Array], name: str = "a.parquet") -> Callable[[Path], object]:
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    return lambda folder: put(folder / name, buffer.getvalue(), LANDED)


def by_hour(
    layout: str, time: str = "timestamp", hours: int = 5, copied: bool = True, **more: Callable[[int], object]
) -> Callable[[Path], object]:
    """A file an hour, named by a strftime pattern; copied long after, or landed as each hour ended."""

    def write(folder: Path) -> None:
        for hour in range(hours):
            start = START + hour * HOUR
            rows = [
                {time: iso(start + n * 55 * SECOND), "v": n} | {name: make(n) for name, make in more.items()}
                for n in range(60)
            ]
            landed = COPIED + hour * SECOND if copied else start + HOUR + 60 * SECOND
            put(folder / start.strftime(layout), lines(rows), landed)

    return write


def spread_over(folders: list[str], time: str = "ts") -> Callable[[Path], object]:
    """The same kind of rows in several folders."""

    def write(folder: Path) -> None:
        for name in folders:
            put(folder / name / "part-0.json", lines(one(time, v=lambda n: n)), LANDED)

    return write


def trips(begin: str, end: str, form: Callable[[datetime], object], **more: Callable[[int], object]) -> Rows:
    """Rides in the order of their beginnings, 4 to 40 minutes long."""
    return [
        {begin: form(at), end: form(at + timedelta(minutes=4 + n * 13 % 37))}
        | {name: make(n) for name, make in more.items()}
        for n, at in enumerate(moments(20, start=START))
    ]


def plain(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"


def seconds(time: datetime) -> int:
    return millis(time) // 1000


def named(number: int) -> str:
    return f"n{number % 40}"


def shapes() -> Iterator[Shape]:
    """Every shape of the scored set."""
    yield from _of_brokers()
    yield from _of_applications()
    yield from _of_devices()
    yield from _of_exports()
    yield from _of_folders()
    yield from _refused()


def _of_brokers() -> Iterator[Shape]:
    yield Shape(
        "Event Hubs through Stream Analytics: EventEnqueuedUtcTime, PartitionId",
        json_file(both("EventTime", "EventEnqueuedUtcTime", PartitionId=lambda n: n % 4, DeviceId=named)),
        {"timestamp_by": "EventTime", "arrival_time": "EventEnqueuedUtcTime", "partition": "PartitionId"},
    )
    yield Shape(
        "IoT Hub: telemetry with IoTHub.EnqueuedTime inside",
        json_file([{"deviceTime": row["a"], "temp": 20.5, "IoTHub": {"EnqueuedTime": row["b"]}}
                   for row in both("a", "b")]),
        {"timestamp_by": "deviceTime", "arrival_time": "IoTHub.EnqueuedTime"},
    )  # fmt: skip
    yield Shape(
        "Kafka Connect: partition=0 folders, epoch milliseconds",
        lambda folder: [
            put(folder / f"partition={p}" / f"topic+{p}+0.json", lines(one("ts", millis, v=lambda n: n)), LANDED)
            for p in range(3)
        ],
        {"timestamp_by": "timestamp_millis(ts)", "partition": "partition="},
    )
    yield Shape(
        "Debezium: source time and connector time in milliseconds",
        json_file([{"op": "u", "source": {"ts_ms": row["s"], "table": "t"}, "ts_ms": row["r"], "after": {"id": n}}
                   for n, row in enumerate(both("s", "r", millis))]),
        {"timestamp_by": "timestamp_millis(source.ts_ms)", "arrival_time": "timestamp_millis(ts_ms)"},
    )  # fmt: skip
    yield Shape(
        "Kinesis through Firehose: names with the minute",
        by_hour("stream-1-%Y-%m-%d-%H-%M-%S-8c1e.json", "event_timestamp"),
        {"timestamp_by": "event_timestamp", "landed_at": "yyyy-MM-dd-HH-mm-ss"},
    )
    yield Shape(
        "Pub/Sub subscription to storage: publish_time beside the event's time",
        json_file(both("event_time", "publish_time", message_id=lambda n: str(9_000_000_000_000_000 + n))),
        {"timestamp_by": "event_time", "arrival_time": "publish_time", "types": {"message_id": "STRING"}},
    )


def _of_applications() -> Iterator[Shape]:
    yield Shape(
        "Segment: originalTimestamp and receivedAt",
        json_file([{"type": "track", "userId": named(n), "originalTimestamp": row["e"], "receivedAt": row["r"]}
                   for n, row in enumerate(both("e", "r"))]),
        {"timestamp_by": "originalTimestamp", "arrival_time": "receivedAt"},
    )  # fmt: skip
    yield Shape(
        "Snowplow: dvce_created_tstamp and collector_tstamp in TSV with a header",
        csv_file(both("dvce_created_tstamp", "collector_tstamp", plain, user_id=named), "\t", "a.tsv"),
        {"timestamp_by": "dvce_created_tstamp", "arrival_time": "collector_tstamp", "options": {"sep": "\t"}},
    )
    yield Shape(
        "GitHub archive: created_at, nested actor and repo",
        json_file(one("created_at", id=str, actor=lambda n: {"id": n, "login": named(n)})),
        {"timestamp_by": "created_at", "partition": None},
    )
    yield Shape(
        "Payments: created as epoch seconds, amount in cents",
        json_file(one("created", seconds, id=lambda n: f"ch_{n}", amount=lambda n: 100 * n, customer=named)),
        {"timestamp_by": "timestamp_seconds(created)", "partition": None},
    )
    yield Shape(
        "Web server as JSON: @timestamp and remote_addr",
        json_file([{"@timestamp": row["t"], "remote_addr": f"10.0.0.{n % 5}", "status": 200}
                   for n, row in enumerate(one("t"))]),
        {"timestamp_by": "`@timestamp`", "partition": None},
    )  # fmt: skip
    yield Shape(
        "Audit log: source address, event time and processing time",
        json_file(both("eventTime", "ingestionTime", sourceIPAddress=lambda n: f"10.0.0.{n % 6}")),
        {"timestamp_by": "eventTime", "arrival_time": "ingestionTime", "partition": None},
    )
    yield Shape(
        "Mobile app: client_time and server_time in microseconds",
        json_file(both("client_time", "server_time", lambda t: millis(t) * 1000, session=named)),
        {"timestamp_by": "timestamp_micros(client_time)", "arrival_time": "timestamp_micros(server_time)"},
    )
    yield Shape(
        "Orders: ordered_at, expected_delivery after it",
        json_file([{"ordered_at": row["t"], "expected_delivery": iso(START + timedelta(days=3)), "order": n}
                   for n, row in enumerate(one("t"))]),
        {"timestamp_by": "ordered_at", "arrival_time": None},
    )  # fmt: skip
    yield Shape(
        "Users with a birth date: registered long ago, seen now",
        json_file(one("seen_at", dob=lambda n: f"19{50 + n % 40}-02-03", user=named)),
        {"timestamp_by": "seen_at", "types": {"dob": "DATE"}},
    )
    yield Shape(
        "Log lines of a service: ts with nanoseconds",
        json_file(one("ts", lambda t: f"{t:%Y-%m-%dT%H:%M:%S}.123456789Z", level=lambda n: f"l{n % 3}")),
        {"types": {"ts": "STRING"}},
    )


def _of_devices() -> Iterator[Shape]:
    yield Shape(
        "Ships: BaseDateTime, MMSI, in CSV",
        csv_file(one("BaseDateTime", lambda t: f"{t:%Y-%m-%dT%H:%M:%S}", MMSI=lambda n: 367000000 + n)),
        {"timestamp_by": "BaseDateTime", "options": {"header": "true"}, "types": {"MMSI": "BIGINT"}},
    )
    yield Shape(
        "Aircraft: seconds with a fraction, received by one of four stations",
        json_file(one("timestamp", lambda t: seconds(t) + 0.25, icao=lambda n: f"{n:06x}", station=lambda n: n % 4)),
        {"timestamp_by": "timestamp_seconds(timestamp)", "partition": "station"},
    )
    yield Shape(
        "Smart meters: half hours, readings with a decimal point",
        csv_file(one("tstp", lambda t: f"{t:%Y-%m-%d %H:%M:%S}.0000000", energy=lambda n: n / 8)),
        {"timestamp_by": "tstp"},
    )
    yield Shape(
        "Weather stations: local day and time in German form, semicolons",
        csv_file(one("Messzeit", lambda t: f"{t:%d.%m.%Y %H:%M}", wert=lambda n: f"{n},5"), ";"),
        {"timestamp_by": "to_timestamp(Messzeit, 'd.M.yyyy H:mm[:ss][.SSSSSS]')", "options": {"sep": ";"}},
    )
    yield Shape(
        "Sensors by MQTT: epoch milliseconds as text",
        json_file(one("ts", lambda t: str(millis(t)), sensor=named)),
        {"timestamp_by": "timestamp_millis(CAST(ts AS BIGINT))", "types": {"ts": "STRING"}},
    )
    yield Shape(
        "Earthquakes: time, and updated weeks later",
        csv_file([{"time": row["t"], "mag": 2.5, "updated": iso(START + timedelta(minutes=50))}
                  for row in one("t")]),
        {"timestamp_by": "time", "arrival_time": None},
    )  # fmt: skip
    yield Shape(
        "Machines: a constant load time beside the times",
        json_file([{"load_time": millis(LANDED), "time": millis(at), "pid": 7} for at in moments()]),
        {"timestamp_by": "timestamp_millis(time)", "arrival_time": None},
    )


def _of_exports() -> Iterator[Shape]:
    yield Shape(
        "Bike rides: started_at and ended_at without zone",
        csv_file(trips("started_at", "ended_at", plain, station=lambda n: n % 12)),
        {"timestamp_by": "started_at", "arrival_time": "ended_at", "remark": "started_at says no zone"},
    )
    yield Shape(
        "Taxi rides in Parquet: tpep_pickup_datetime and tpep_dropoff_datetime",
        parquet_file({
            "tpep_pickup_datetime": pa.array([row["p"] for row in trips("p", "d", lambda t: t)], pa.timestamp("us")),
            "tpep_dropoff_datetime": pa.array([row["d"] for row in trips("p", "d", lambda t: t)], pa.timestamp("us")),
        }),
        {"timestamp_by": "tpep_pickup_datetime", "arrival_time": "tpep_dropoff_datetime"},
    )  # fmt: skip
    yield Shape(
        "Trades in Parquet: nanoseconds UTC",
        parquet_file({"ts": pa.array([at - behind(n) for n, at in enumerate(moments())], pa.timestamp("ns", "UTC")),
                      "price": pa.array([1.5] * ROWS)}),
        {"timestamp_by": "ts", "types": {"price": "DOUBLE"}},
    )  # fmt: skip
    yield Shape(
        "Spreadsheet: US times with AM and PM, quoted",
        csv_file(one("Date", lambda t: f"{t.month}/{t.day}/{t.year} {t:%I:%M:%S %p}", n=str), quoted=True),
        {"timestamp_by": "to_timestamp(Date, 'M/d/yyyy h:mm[:ss] a')"},
    )
    yield Shape(
        "Card numbers and ids of 19 digits",
        csv_file(one("created_at", event_id=lambda n: 2200000000000000001 + 2 * n, card=lambda n: f"{n:020d}")),
        {"timestamp_by": "created_at", "types": {"event_id": "BIGINT", "card": "STRING"}},
    )
    yield Shape(
        "Ids beyond 64 bits in JSON, amounts with many digits",
        json_file(one("at", id=lambda n: 2**64 + n, amount=lambda n: n)),
        {"types": {"id": "STRING", "amount": "BIGINT"}},
    )
    yield Shape(
        "Postal codes with leading zeros",
        csv_file(one("at", zip=lambda n: f"0{1000 + n}")),
        {"types": {"zip": "STRING"}, "timestamp_by": "at"},
    )
    yield Shape(
        "Database dump without header, pipes, \\N for null",
        csv_file(one("a", plain, b=lambda n: n if n % 5 else "\\N", c=named), "|", "a.psv", header=False),
        {"options": {"sep": "|", "nullValue": "\\N"}, "types": {"c2": "BIGINT"}, "timestamp_by": "c1"},
    )
    yield Shape(
        "TSV with semicolons within a field",
        csv_file([{"a": "web", "b": plain(at), "c": f"Agent ({'x; ' * (n % 3)}y)", "d": n}
                  for n, at in enumerate(moments())], "\t", "a.tsv", header=False),
        {"options": {"sep": "\t"}, "types": {"c4": "BIGINT"}, "timestamp_by": "c2"},
    )  # fmt: skip
    yield Shape(
        "CSV with text in quotes that holds the separator",
        csv_file(one("observed_at", note=lambda n: f'"a, b{n}"')),
        {"timestamp_by": "observed_at", "types": {"note": "STRING"}},
    )
    yield Shape(
        "JSON compressed by gzip, a session's node and a status",
        json_file(one("occurred_at", node=named, status=lambda n: n % 3), "a.json.gz"),
        {"timestamp_by": "occurred_at", "format": "json"},
    )


def _of_folders() -> Iterator[Shape]:
    yield Shape(
        "dt= and hr= folders, copied",
        by_hour("dt=%Y-%m-%d/hr=%H/part-0.json", node=named),
        {"landed_at": "yyyy-MM-dd'/hr='HH", "partition": None},
    )
    yield Shape(
        "year=/month=/day=/hour= folders, copied",
        by_hour("year=%Y/month=%m/day=%d/hour=%H/part-0.json"),
        {"landed_at": "yyyy'/month='MM'/day='dd'/hour='HH", "partition": None},
    )
    yield Shape(
        "yyyy/MM/dd/HH folders, landed in time: their own times serve",
        by_hour("%Y/%m/%d/%H/a.json", copied=False),
        {"landed_at": None, "timestamp_by": "timestamp"},
    )
    yield Shape(
        "Names with a time of day, copied",
        by_hour("events_%Y%m%dT%H%M.json"),
        {"landed_at": "yyyyMMdd'T'HHmm"},
    )
    yield Shape(
        "Names with day and hour after a dash, copied",
        by_hour("log-%Y%m%d-%H.json"),
        {"landed_at": "yyyyMMdd-HH"},
    )
    yield Shape(
        "Regions as folders",
        spread_over(["region=eu", "region=us", "region=ap"]),
        {"partition": "region=", "timestamp_by": "ts"},
    )
    yield Shape(
        "Sites as plain folders",
        spread_over(["delft", "leiden", "breda"], "observed"),
        {"partition": "^([^/]+)/", "timestamp_by": "observed"},
    )
    yield Shape(
        "Shards within days, copied",
        lambda folder: [
            put(folder / f"dt={START + day * 24 * HOUR:%Y-%m-%d}" / f"shard={shard}" / "a.json",
                lines([{"event_time": iso(START + day * 24 * HOUR + n * 600 * SECOND)} for n in range(60)]), COPIED)
            for day in range(4) for shard in range(2)
        ],
        {"partition": "shard=", "landed_at": "yyyy-MM-dd", "timestamp_by": "event_time"},
    )  # fmt: skip


def _refused() -> Iterator[Shape]:
    yield Shape(
        "Web server's access log: lines of no table",
        lambda folder: put(
            folder / "access.log",
            "".join(f'10.0.0.1 - - [01/Jan/2026:00:{n:02d}:00 +0000] "GET /{n} HTTP/1.1" 200\n' for n in range(30)),
        ),
        {"error": "no files that can be read"},
    )
    yield Shape("A picture", lambda folder: put(folder / "a.png", b"\x89PNG\r\n\x1a\n\0\0"), {"error": "can be read"})
