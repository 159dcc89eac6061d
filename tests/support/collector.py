"""An OpenTelemetry collector on loopback, which reads what arrives as protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Collector", "ReceivedSpan", "collecting"]


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as the collector has it. Ids are hex digits; parent "" for a root. times: nanoseconds."""

    name: str
    trace: str
    id: str
    parent: str
    times: tuple[int, int]
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[tuple[str, str]]
    kind: int
    is_error: bool


@dataclass
class Collector:
    """spans, resources: those that arrived. metrics: name -> its points, each its attributes and its value,
    which is the count of a histogram. raw: the bodies, decompressed. silent: whether it answers nothing."""

    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, list[tuple[dict[str, Any], float]]] = field(default_factory=dict)
    metric_resources: list[dict[str, Any]] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    silent: threading.Event | None = None

    def named(self, prefix: str) -> list[ReceivedSpan]:
        """The spans whose name starts with `prefix`, by their start."""
        return sorted((s for s in self.spans if s.name.startswith(prefix)), key=lambda s: s.times)

    def one(self, prefix: str) -> ReceivedSpan:
        (span,) = self.named(prefix)
        return span

    def receive(self, path: str, body: bytes) -> None:
        self.raw.append(body)
        if path == "/v1/traces":
            for block in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(_attributes(block.resource.attributes))
                self.spans += [_span(span) for scope in block.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for of_resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metric_resources.append(_attributes(of_resource.resource.attributes))
                for of_scope in of_resource.scope_metrics:
                    for metric in of_scope.metrics:
                        self.units[metric.name] = metric.unit
                        self.metrics[metric.name] = list(_points(metric))


@contextmanager
def collecting(silent: bool = False) -> Iterator[Collector]:
    """A collector until the end of the block. silent: it takes requests and never answers."""
    collector = Collector(silent=threading.Event() if silent else None)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.silent is not None:
                collector.silent.wait(30)
                return
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.receive(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        if collector.silent is not None:
            collector.silent.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def _span(span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        (span.start_time_unix_nano, span.end_time_unix_nano),
        _attributes(span.attributes),
        [(event.name, _attributes(event.attributes)) for event in span.events],
        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        span.kind,
        span.status.code == 2,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(inner) for inner in value.array_value.values]
    return getattr(value, kind)


def _points(metric: Any) -> Iterator[tuple[dict[str, Any], float]]:
    data = getattr(metric, metric.WhichOneof("data"))
    for point in data.data_points:
        if hasattr(point, "bucket_counts"):
            yield _attributes(point.attributes), point.count
        else:
            yield _attributes(point.attributes), getattr(point, point.WhichOneof("value"))
