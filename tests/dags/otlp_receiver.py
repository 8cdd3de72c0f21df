"""A receiver of OpenTelemetry metrics on loopback."""

from __future__ import annotations

from http.server import ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from receivers import Posts

Points = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Receiver(ThreadingHTTPServer):
    """Keeps the last value of each metric, by name and tags."""

    def __init__(self) -> None:
        self.points: Points = {}
        super().__init__(("127.0.0.1", 0), Posts)

    def take(self, path: str, body: bytes) -> int:
        if path == "/v1/metrics":
            self._keep(body)
        return 200

    def _keep(self, body: bytes) -> None:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in [*metric.gauge.data_points, *metric.sum.data_points]:
                        tags = frozenset((each.key, each.value.string_value) for each in point.attributes)
                        self.points[metric.name, tags] = point.as_double or float(point.as_int)

    def value(self, name: str, **tags: str) -> float | None:
        """The last value with these tags; None if there is none."""
        return self.points.get((name, frozenset(tags.items())))
