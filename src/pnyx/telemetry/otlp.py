"""Opens OpenTelemetry's SDK for traces and metrics that go to a collector over HTTP.

The SDK is private to this process's telemetry: the global providers of OpenTelemetry, which other libraries
write to, are left as they are. What the settings do not say, the variables OTEL_* do.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from .._version import __version__
from ..config.tables.telemetry import TelemetrySettings
from ..run.leases.lease import this_worker
from .instruments import INSTRUMENTS
from .measure import Gauges
from .span_ids import SpanIds

__all__ = ["SCHEMA", "OtelMetrics", "is_exported", "open_metrics", "open_traces", "quiet_sdk"]

SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
"""The version of the semantic conventions that names come from."""
DEFAULT = "http://localhost:4318"
"""Where a collector listens by convention."""
PROBLEMS: Mapping[str, str] = {
    "Connection refused": "nothing listens there; see [telemetry] endpoint",
    "NameResolution": "there is no such host; see [telemetry] endpoint",
    "timed out": "it does not answer",
    "Timeout": "it does not answer",
}
"""Words of the SDK -> what they mean."""
LOG = logging.getLogger("pnyx.telemetry")


def is_exported(signal: str) -> bool:
    """Whether the environment lets a signal be exported: `traces` or `metrics`."""
    return os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").strip().lower() != "none"


def open_traces(settings: TelemetrySettings, ids: SpanIds) -> tuple[TracerProvider, OTLPSpanExporter]:
    """Return a provider of spans, which are exported in batches, and its exporter.

    The caller shuts the provider down. An exporter that is shut down gives up what it tries to send.
    """
    provider = TracerProvider(resource=_resource(), id_generator=ids, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=_endpoint(settings, "traces"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter


def open_metrics(settings: TelemetrySettings) -> tuple[OtelMetrics, OTLPMetricExporter]:
    """Return metrics, which are exported every minute or as often as the environment says; see above."""
    exporter = OTLPMetricExporter(endpoint=_endpoint(settings, "metrics"))
    reader = PeriodicExportingMetricReader(exporter)
    return OtelMetrics(MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)), exporter


class OtelMetrics:
    """The metrics of `instruments` in OpenTelemetry's SDK. `shutdown` exports them a last time."""

    def __init__(self, provider: MeterProvider) -> None:
        self.shutdown: Callable[[], object] = provider.shutdown
        self._gauges: Gauges = {}
        self._grown: dict[str, Counter | Histogram] = {}
        meter = provider.get_meter("pnyx", __version__, SCHEMA)
        for name, one in INSTRUMENTS.items():
            if one.kind == "counter":
                self._grown[name] = meter.create_counter(name, one.unit, one.description)
            elif one.kind == "histogram":
                self._grown[name] = meter.create_histogram(
                    name, one.unit, one.description, explicit_bucket_boundaries_advisory=one.bounds
                )
            else:
                meter.create_observable_gauge(name, [self._reader(name)], one.unit, one.description)

    def record(self, name: str, value: float, labels: Sequence[str]) -> None:
        instrument, attributes = self._grown[name], _attributes(name, labels)
        if isinstance(instrument, Counter):
            instrument.add(value, attributes)
        else:
            instrument.record(value, attributes)

    def replace(self, gauges: Gauges) -> None:
        self._gauges = {**self._gauges, **gauges}

    def _reader(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def read(_: CallbackOptions) -> Iterable[Observation]:
            for labels, value in self._gauges.get(name, {}).items():
                yield Observation(value, _attributes(name, labels))

        return read


def _attributes(name: str, labels: Sequence[str]) -> Mapping[str, Any]:
    # An empty label is how Prometheus says that there is none.
    return {
        key: int(value) if key == "http.response.status_code" else value
        for key, value in zip(INSTRUMENTS[name].labels, labels, strict=True)
        if value
    }


def _endpoint(settings: TelemetrySettings, signal: str) -> str | None:
    return None if settings.endpoint is None else f"{settings.endpoint.rstrip('/')}/v1/{signal}"


def _resource() -> Resource:
    """What the process is, as far as the environment does not say so."""
    known = Resource.create({})
    own = {"service.version": __version__, "service.instance.id": this_worker()}
    if str(known.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
        own["service.name"] = "pnyx"
    named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return known.merge(Resource({key: value for key, value in own.items() if f"{key}=" not in named}))


def quiet_sdk(settings: TelemetrySettings) -> None:
    """Report the first problem of the SDK, such as a collector that is away, and no other one.

    It would report one at every export, in the middle of what a command writes.
    """
    logger = logging.getLogger("opentelemetry")
    for handler in [one for one in logger.handlers if isinstance(one, _First)]:
        logger.removeHandler(handler)  # of an earlier service of this process
    logger.addHandler(_First(settings.endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or DEFAULT))
    logger.propagate = False


class _First(logging.Handler):
    """Reports the first warning. endpoint: of the collector."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(logging.WARNING)
        self._endpoint, self._reported = endpoint.rpartition("@")[2], False

    def emit(self, record: logging.LogRecord) -> None:
        if self._reported:
            return
        self._reported = True
        text = record.getMessage().partition("\n")[0]
        why = next((plain for sign, plain in PROBLEMS.items() if sign in text), text[:150])
        # One text without arguments, which JSON logs leave out.
        LOG.warning(f"traces and metrics do not reach the collector at {self._endpoint}: {why}")
