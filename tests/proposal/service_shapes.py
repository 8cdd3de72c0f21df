"""More landing folders for `init`: files as services, change capture, gateways and exports write them.

The choices were made before `init` was run on them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from landing_files import HOUR, SECOND, START, cells, iso, lines, millis, put
from shapes import COPIED, LANDED, Rows, Shape, behind, both, csv_file, json_file, moments, named, one, parquet_file
from shapes import plain as without_zone
from shapes import seconds as epoch

OLD = START - timedelta(days=200)


def nanos(time: datetime) -> int:
    return millis(time) * 1_000_000


def old(number: int) -> datetime:
    """When an entity was made: long ago, in no order."""
    return OLD + number * 37 % 190 * 24 * HOUR


def in_hours(layout: Callable[[datetime], str], rows: Callable[[datetime], Rows]) -> Callable[[Path], object]:
    """A file of each of five hours, copied long after."""

    def write(folder: Path) -> None:
        for hour in range(5):
            start = START + hour * HOUR
            put(folder / layout(start), lines(rows(start)), COPIED + hour * SECOND)

    return write


def within(start: datetime, time: str = "timestamp", form: Callable[[datetime], object] = iso) -> Rows:
    return [{time: form(start + n * 55 * SECOND), "v": n} for n in range(60)]


def service_shapes() -> Iterator[Shape]:
    """Every shape of this module."""
    yield from _of_clouds()
    yield from _of_logs()
    yield from _of_analytics()
    yield from _of_change_capture()
    yield from _of_gateways()
    yield from _of_files()


def _of_clouds() -> Iterator[Shape]:
    yield Shape(
        "S3 access logs: lines with blanks and brackets",
        lambda folder: put(
            folder / "2026-01-01-00-15-30-8C1E0A",
            "".join(f'79a59d shop [01/Jan/2026:00:{n:02d}:00 +0000] 10.0.0.1 - 3E57 REST.GET.OBJECT {n}.jpg'
                    f' "GET /{n}.jpg HTTP/1.1" 200 - {n} - 7 - "-" "S3Console/0.4" -\n' for n in range(30)),
        ),
        {"error": "no files that can be read"},
    )  # fmt: skip
    yield Shape(
        "CloudFront: tabs, lines of comments, date and time in two columns",
        lambda folder: put(
            folder / "E2K1.2026-01-01-00.8c1e.gz",
            "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip\n"
            + cells([[f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}", f"AMS{n % 3}", 100 + n, "10.0.0.1"]
                     for n, at in enumerate(moments())], "\t"),
            LANDED,
        ),
        {"format": "csv", "options": {"sep": "\t", "comment": "#"},
         "timestamp_by": "to_timestamp(concat(c1, ' ', c2))"},
    )  # fmt: skip
    yield Shape(
        "CloudTrail: an array of Records in one document, landed in time",
        lambda folder: put(
            folder / "AWSLogs" / "42" / "CloudTrail" / "eu-west-1" / "42_CloudTrail_20260101T0100Z_x.json.gz",
            json.dumps({"Records": [row | {"eventName": "GetObject", "requestID": named(n)}
                                    for n, row in enumerate(one("eventTime"))]}),
            LANDED,
        ),
        {"rows": "Records[]", "timestamp_by": "eventTime", "partition": None, "landed_at": None},
    )  # fmt: skip
    yield Shape(
        "Logpush: edge start and end in nanoseconds, a span of time in names",
        in_hours(
            lambda at: f"{at:%Y%m%dT%H%M%S}Z_{at + timedelta(minutes=60):%Y%m%dT%H%M%S}Z_8c1e.log.gz",
            lambda start: [
                {"EdgeStartTimestamp": nanos(at - behind(n) - SECOND), "EdgeEndTimestamp": nanos(at), "RayID": n}
                for n, at in enumerate(start + n * 55 * SECOND for n in range(1, 60))
            ],
        ),
        {"timestamp_by": "timestamp_micros(EdgeStartTimestamp div 1000)",
         "arrival_time": "timestamp_micros(EdgeEndTimestamp div 1000)", "landed_at": "yyyyMMdd'T'HHmmss"},
    )  # fmt: skip
    yield Shape(
        "Azure diagnostics: y=/m=/d=/h=/m=00 folders, copied",
        in_hours(lambda at: f"resourceId=/SUBSCRIPTIONS/7/{at:y=%Y/m=%m/d=%d/h=%H}/m=00/PT1H.json",
                 lambda start: within(start, "time")),
        {"timestamp_by": "time", "partition": None, "landed_at": "yyyy'/m='MM'/d='dd'/h='HH"},
    )  # fmt: skip
    yield Shape(
        "Firehose: yyyy/MM/dd/HH folders, names without a time, copied",
        in_hours(lambda at: f"{at:%Y/%m/%d/%H}/8c1e2f3a-0b1c-4d5e-8f90-a1b2c3d4e5f6", within),
        {"format": "json", "timestamp_by": "timestamp", "landed_at": "yyyy/MM/dd/HH", "partition": None},
    )
    yield Shape(
        "Kafka Connect by time: topic+partition+offset in names, copied",
        lambda folder: [
            put(folder / f"{START + hour * HOUR:year=%Y/month=%m/day=%d/hour=%H}" / f"orders+{p}+0000{hour}7.json",
                lines(within(START + hour * HOUR, "order_time")), COPIED)
            for hour in range(4) for p in range(3)
        ],
        {"timestamp_by": "order_time", "partition": "([0-9]+)", "landed_at": "yyyy'/month='MM'/day='dd'/hour='HH"},
    )  # fmt: skip


def _of_logs() -> Iterator[Shape]:
    yield Shape(
        "nginx as JSON: time_local with an offset, request_time",
        json_file(one("time_local", lambda t: f"{t + HOUR:%d/%b/%Y:%H:%M:%S} +0100", request=named,
                      request_time=lambda n: n / 1000)),
        {"timestamp_by": "to_timestamp(time_local, 'dd/MMM/yyyy:HH:mm:ss Z')", "arrival_time": None,
         "partition": None},
    )  # fmt: skip
    yield Shape(
        "rsyslog as CSV: timereported by the device, timegenerated by the server",
        csv_file([{"timereported": row["a"], "timegenerated": row["b"], "hostname": named(n), "msg": f"m {n}"}
                  for n, row in enumerate(both("a", "b", lambda t: f"{t:%Y-%m-%dT%H:%M:%S}.000000+00:00"))]),
        {"timestamp_by": "timereported", "arrival_time": "timegenerated"},
    )  # fmt: skip
    yield Shape(
        "Beats in the common schema: @timestamp, event.created, event.ingested",
        json_file([{"@timestamp": row["a"], "event": {"created": row["b"], "ingested": row["b"]}, "message": named(n)}
                   for n, row in enumerate(both("a", "b"))]),
        {"timestamp_by": "`@timestamp`", "arrival_time": "event.ingested"},
    )  # fmt: skip
    yield Shape(
        "OpenTelemetry log records: timeUnixNano and observedTimeUnixNano as text",
        json_file(both("timeUnixNano", "observedTimeUnixNano", lambda t: str(nanos(t)), body=named)),
        {"timestamp_by": "timestamp_micros(CAST(timeUnixNano AS BIGINT) div 1000)",
         "arrival_time": "timestamp_micros(CAST(observedTimeUnixNano AS BIGINT) div 1000)"},
    )  # fmt: skip


def _of_analytics() -> Iterator[Shape]:
    yield Shape(
        "GitHub archive by the hour: the hour without a leading zero, copied",
        in_hours(lambda at: f"{at:%Y-%m-%d}-{at.hour}.json.gz", lambda start: within(start, "created_at")),
        {"timestamp_by": "created_at", "landed_at": "yyyy-MM-dd-H"},
    )
    yield Shape(
        "Stripe events: created in seconds, and the older created of the object inside",
        json_file([{"id": f"evt_{n}", "object": "event", "created": row["t"], "type": "charge.succeeded",
                    "data": {"object": {"id": f"ch_{n}", "amount": n, "created": epoch(old(n))}}}
                   for n, row in enumerate(one("t", epoch))]),
        {"timestamp_by": "timestamp_seconds(created)", "arrival_time": None, "partition": None},
    )  # fmt: skip
    yield Shape(
        "Segment in full: timestamp is originalTimestamp with the clock corrected, sentAt and receivedAt",
        json_file([{"messageId": named(n), "originalTimestamp": iso(at - behind(n) - 40 * SECOND),
                    "timestamp": iso(at - behind(n)), "sentAt": iso(at - 38 * SECOND), "receivedAt": iso(at)}
                   for n, at in enumerate(moments())]),
        {"timestamp_by": "timestamp", "arrival_time": "receivedAt"},
    )  # fmt: skip
    yield Shape(
        "Snowplow in full: derived_tstamp corrects the device's clock; loaded by a batch",
        csv_file([{"etl_tstamp": without_zone(LANDED - 60 * SECOND), "collector_tstamp": without_zone(at),
                   "dvce_created_tstamp": without_zone(at - behind(n) - 30 * SECOND),
                   "dvce_sent_tstamp": without_zone(at - 29 * SECOND), "derived_tstamp": without_zone(at - behind(n))}
                  for n, at in enumerate(moments())], "\t", "a.tsv"),
        {"timestamp_by": "derived_tstamp", "arrival_time": "collector_tstamp"},
    )  # fmt: skip
    yield Shape(
        "Analytics export: event_timestamp in microseconds as text, event_date, earlier times of the user",
        json_file([{"event_date": "20260101", "event_timestamp": row["t"], "event_name": "view",
                    "event_previous_timestamp": str(millis(old(n)) * 1000),
                    "user_first_touch_timestamp": str(millis(OLD) * 1000 + n)}
                   for n, row in enumerate(one("t", lambda t: str(millis(t) * 1000)))]),
        {"timestamp_by": "timestamp_micros(CAST(event_timestamp AS BIGINT))", "arrival_time": None},
    )  # fmt: skip
    yield Shape(
        "Amplitude: client, server and processed times without zone",
        json_file([{"client_event_time": form(at - behind(n) - 9 * SECOND), "event_time": form(at - behind(n)),
                    "client_upload_time": form(at - 9 * SECOND), "server_received_time": form(at),
                    "processed_time": form(at + 70 * SECOND)}
                   for form in [lambda t: f"{t:%Y-%m-%d %H:%M:%S}.123000"] for n, at in enumerate(moments())]),
        {"timestamp_by": "event_time", "arrival_time": "server_received_time", "remark": "event_time says no zone"},
    )  # fmt: skip
    yield Shape(
        "Search clicks in TSV: QueryTime, blanks for no click",
        csv_file(one("QueryTime", without_zone, AnonID=lambda n: 142 + n % 9, Query=named,
                     ItemRank=lambda n: n if n % 3 else ""), "\t", "a.txt"),
        {"timestamp_by": "QueryTime", "types": {"ItemRank": "BIGINT"}, "partition": None,
         "remark": "QueryTime says no zone"},
    )  # fmt: skip


def _of_change_capture() -> Iterator[Shape]:
    yield Shape(
        "Debezium unwrapped: __source_ts_ms beside the row's own columns",
        json_file(one("__source_ts_ms", millis, id=lambda n: n, __op=lambda _: "u",
                      created_at=lambda n: millis(old(n)) * 1000)),
        {"timestamp_by": "timestamp_millis(__source_ts_ms)", "arrival_time": None, "partition": None},
    )  # fmt: skip
    yield Shape(
        "Maxwell: ts in seconds, the row with its own times in data",
        json_file([{"database": "shop", "table": "orders", "type": "update", "ts": row["t"], "xid": 900 + n,
                    "data": {"id": n, "created_at": without_zone(old(n)), "price": n / 4}}
                   for n, row in enumerate(one("t", epoch))]),
        {"timestamp_by": "timestamp_seconds(ts)", "arrival_time": None, "partition": None},
    )  # fmt: skip
    yield Shape(
        "MongoDB export: times within $date",
        json_file([{"_id": {"$oid": f"{n:024x}"}, "updatedAt": {"$date": iso(at + n * 11 % 40 * SECOND)},
                    "createdAt": {"$date": iso(at - behind(n))}, "total": n} for n, at in enumerate(moments())]),
        {"timestamp_by": "createdAt.`$date`"},
    )  # fmt: skip
    yield Shape(
        "PostgreSQL dump: times with an offset of hours alone",
        csv_file(one("created_at", lambda t: f"{t:%Y-%m-%d %H:%M:%S}.25+00", id=lambda n: n, active=lambda _: "t")),
        {"timestamp_by": "created_at", "types": {"created_at": "TIMESTAMP"}},
    )


def _of_gateways() -> Iterator[Shape]:
    yield Shape(
        "Gateway: the sensor's nanoseconds, the gateway's milliseconds",
        json_file([{"ts": nanos(row["e"]), "gateway_ts": millis(row["r"]), "sensor": named(n), "value": n / 2}
                   for n, row in enumerate(both("e", "r", lambda t: t))]),
        {"timestamp_by": "timestamp_micros(ts div 1000)", "arrival_time": "timestamp_millis(gateway_ts)"},
    )  # fmt: skip
    yield Shape(
        "Telegraf: timestamp in seconds, fields and tags",
        json_file([{"fields": {"usage": n / 8}, "name": "cpu", "tags": {"host": named(n)}, "timestamp": row["t"]}
                   for n, row in enumerate(one("t", epoch))]),
        {"timestamp_by": "timestamp_seconds(timestamp)", "partition": None},
    )  # fmt: skip
    yield Shape(
        "Airport weather: station, valid, M for a missing value",
        csv_file([{"station": f"EH{'AGRW'[n % 4]}M", "valid": f"{at:%Y-%m-%d %H:%M}", "tmpf": n if n % 7 else "M"}
                  for n, at in enumerate(moments())]),
        {"timestamp_by": "valid", "options": {"nullValue": "M"}, "types": {"tmpf": "BIGINT"}},
    )  # fmt: skip
    yield Shape(
        "Aircraft by BaseStation: no header, day and clock of message and log in columns of their own",
        csv_file([{"a": "MSG", "b": 3, "c": f"{0x4840 + n:06X}", **_day_and_clock("d", at - behind(n)),
                   **_day_and_clock("e", at)} for n, at in enumerate(moments())], header=False),
        {"timestamp_by": "to_timestamp(concat(c4, ' ', c5), 'yyyy/MM/dd HH:mm[:ss][.SSSSSS]')",
         "arrival_time": "to_timestamp(concat(c6, ' ', c7), 'yyyy/MM/dd HH:mm[:ss][.SSSSSS]')"},
    )  # fmt: skip


def _day_and_clock(name: str, time: datetime) -> dict[str, Any]:
    return {f"{name}day": f"{time:%Y/%m/%d}", f"{name}clock": f"{time:%H:%M:%S}.120"}


def _of_files() -> Iterator[Shape]:
    requested = [(n, at, at + (240 + n * 13 % 37 * 60) * SECOND) for n, at in enumerate(moments(20))]
    columns: dict[str, list[datetime | None]] = {
        "request_datetime": [at - (120 + n % 9 * 30) * SECOND for n, at, _ in requested],
        "on_scene_datetime": [at - 30 * SECOND if n % 4 else None for n, at, _ in requested],
        "pickup_datetime": [at for _, at, _ in requested],
        "dropoff_datetime": [end for *_, end in requested],
    }
    yield Shape(
        "Rides by app in Parquet: requested, on the scene, picked up, dropped off",
        parquet_file({name: pa.array(values, pa.timestamp("us")) for name, values in columns.items()}),
        {"timestamp_by": "pickup_datetime", "arrival_time": "dropoff_datetime",
         "remark": "pickup_datetime says no zone"},
    )  # fmt: skip
    yield Shape(
        "Card statement: days in US form, amounts, a category",
        csv_file([{"TransactionDate": f"{day:%m/%d/%Y}", "PostDate": f"{day + 48 * HOUR:%m/%d/%Y}",
                   "Description": named(n), "Amount": -n / 4}
                  for n, day in enumerate(START - timedelta(days=59 - n) for n in range(60))]),
        {"timestamp_by": "to_timestamp(TransactionDate, 'M/d/yyyy')", "types": {"Amount": "DOUBLE"}},
    )  # fmt: skip
