"""Opens what the settings ask for: logs, metrics, traces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..config.schema import Settings
from ..config.tables.telemetry import LogLevel
from ..extras import need
from ..run.observer import Announcement
from ..run.runner import Runner
from .hosts import Hosts
from .log import JsonLog
from .measure import Gauges, Meter, Metrics, RequestServed
from .relay import Relay
from .sample import sample

if TYPE_CHECKING:
    from .prometheus import PrometheusMetrics
    from .spans import SpanWriter

__all__ = ["Telemetry", "open_log"]

SAMPLE_S = 10.0
"""Seconds between two samples of the gauges."""
FRESH_S = 1.0
"""Seconds for which a scrape finds the last sample good enough."""
CLOSE_S = 1.0
"""Seconds that a process waits at its end for what is not passed on yet."""
DRAIN_S = 0.5
"""Seconds that a scrape waits for what was announced before it."""
METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"])
QUIET_ROUTES = frozenset(("/health", "/metrics"))
"""Routes that machines ask again and again."""


def open_log(settings: Settings, quiet: bool) -> JsonLog | None:
    """Return the log of a server or a worker, None if it writes text. quiet: only warnings and errors."""
    chosen = settings.telemetry
    if chosen.log_format != "json":
        return None
    level: LogLevel = "warning" if quiet and chosen.log_level in ("debug", "info") else chosen.log_level
    return JsonLog(level, chosen.content)


class Telemetry:
    """Everything that observes one process. log: its JSON log, if it has one; who opened it closes it.
    embedded: whether the process belongs to another program, whose log is left as it is.

    Raises `MissingExtra`.
    """

    def __init__(self, settings: Settings, log: JsonLog | None = None, embedded: bool = False) -> None:
        self.log = log
        self.prometheus: PrometheusMetrics | None = None
        self._spans: SpanWriter | None = None
        self._give_up: list[Callable[[], object]] = []
        self._relays: dict[str, Relay[Any]] = {} if log is None else {"log": log.relay}
        self._measured: Relay[Announcement | RequestServed | Gauges] | None = None
        self._meter: Meter | None = None
        self._runner: Runner | None = None
        self._watching: asyncio.Task[None] | None = None
        self._sampled_at = float("-inf")
        metrics: list[Metrics] = []
        hosts, at_end = Hosts(settings), list[Callable[[], object]]()
        if settings.telemetry.prometheus:
            need("prometheus", "[telemetry] prometheus")
            # An optional extra.
            from .prometheus import PrometheusMetrics

            self.prometheus = PrometheusMetrics()
            metrics.append(self.prometheus)
        if settings.telemetry.otlp:
            need("otel", "[telemetry] otlp")
            # An optional extra.
            from . import otlp

            if not embedded:
                otlp.quiet_sdk(settings.telemetry)
            if otlp.is_exported("traces"):
                self._open_traces(settings, hosts)
            if otlp.is_exported("metrics"):
                exported, exporter = otlp.open_metrics(settings.telemetry)
                self._give_up.append(exporter.shutdown)
                metrics.append(exported)
                at_end.append(exported.shutdown)
        if metrics:
            self._meter = Meter(hosts, *metrics)
            self._measured = self._relays["metrics"] = Relay(
                "metrics", self._meter.consume, lambda: [end() for end in at_end]
            )

    def _open_traces(self, settings: Settings, hosts: Hosts) -> None:
        # An optional extra.
        from .otlp import open_traces
        from .span_ids import SpanIds
        from .spans import SpanWriter

        provider, exporter = open_traces(settings.telemetry, ids := SpanIds())
        self._give_up.append(exporter.shutdown)
        self._spans = SpanWriter(provider, ids, hosts, settings.telemetry.content)
        self._relays["traces"] = Relay("traces", self._spans.consume, provider.shutdown)

    def announce(self, announcement: Announcement) -> None:
        """Pass on what a run announces. Returns at once."""
        for relay in self._relays.values():
            relay.offer(announcement)

    def request_served(
        self, *, method: str, route: str, status: int, seconds: float, request_id: str, owner: str | None
    ) -> None:
        """Note an HTTP request. status: 0 for one whose client left before a response."""
        method = method if method in METHODS else "_OTHER"
        if self.log is not None:
            fields: Mapping[str, Any] = {"method": method, "route": route, "status": status}
            more = {"elapsed_s": round(seconds, 3), "request_id": request_id, "owner": owner}
            quiet = route in QUIET_ROUTES and status < 400
            self.log.line("debug" if quiet else "info", "http_request", **fields, **more)
        if self._measured is not None:
            self._measured.offer(RequestServed(method, route, status, seconds))

    def watch(self, runner: Runner) -> None:
        """Sample the gauges of this process from now on."""
        self._runner = runner
        if self.log is not None:
            self.log.redact = runner.providers.redact
        if self._spans is not None:
            self._spans.redact = runner.providers.redact
        if self._meter is not None:
            self._watching = asyncio.create_task(self._watch(), name="pnyx telemetry")

    async def metrics_page(self, accept: str) -> tuple[bytes, str] | None:
        """Return the metrics as Prometheus reads them, and their content type; None if there are none.

        accept: the request's header, which names the formats that the client reads.
        """
        if self.prometheus is None or self._measured is None:
            return None
        if time.monotonic() - self._sampled_at > FRESH_S:
            await self._sample()
        await asyncio.to_thread(self._measured.drain, DRAIN_S)
        return self.prometheus.page(accept)

    async def close(self) -> None:
        """Pass on what waits, for a second at most."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        relays = [relay for name, relay in self._relays.items() if name != "log"]
        if not all(await asyncio.gather(*(asyncio.to_thread(relay.close, CLOSE_S) for relay in relays))):
            for give_up in self._give_up:
                give_up()

    async def _watch(self) -> None:
        while True:
            await self._sample()
            await asyncio.sleep(SAMPLE_S)

    async def _sample(self) -> None:
        if self._meter is None or self._measured is None or self._runner is None:
            return
        self._measured.offer(await sample(self._runner, self._meter))
        self._sampled_at = time.monotonic()
        for part, relay in self._relays.items():
            self._meter.record_lost(part, "dropped", relay.dropped)
            self._meter.record_lost(part, "failed", relay.failed)
