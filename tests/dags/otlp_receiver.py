"""A receiver of OpenTelemetry metrics on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

Points = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Receiver(ThreadingHTTPServer):
    """Keeps the last value of each metric, by name and tags."""

    def __init__(self) -> None:
        self.points: Points = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    def take(self, body: bytes) -> None:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in [*metric.gauge.data_points, *metric.sum.data_points]:
                        tags = frozenset((each.key, each.value.string_value) for each in point.attributes)
                        self.points[metric.name, tags] = point.as_double or float(point.as_int)

    def value(self, name: str, **tags: str) -> float | None:
        """The last value with these tags; None if there is none."""
        return self.points.get((name, frozenset(tags.items())))


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/metrics":
            self.server.take(body)  # type: ignore[attr-defined] # the server is a Receiver
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens, and is gone afterwards."""
    with Receiver() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
