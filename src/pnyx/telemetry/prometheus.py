"""Metrics for Prometheus: what `GET /metrics` has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, PlatformCollector, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from .._version import __version__
from .instruments import INSTRUMENTS
from .measure import Gauges

__all__ = ["PrometheusMetrics"]


class PrometheusMetrics:
    """The metrics of this process, in a registry of their own: those of other libraries are not shown."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._grown: dict[str, Counter | Histogram] = {}
        for name, one in INSTRUMENTS.items():
            common = (one.prometheus_name, one.description, one.prometheus_labels)
            if one.kind == "counter":
                self._grown[name] = Counter(*common, registry=self.registry)
            elif one.kind == "histogram":
                self._grown[name] = Histogram(*common, buckets=one.bounds, registry=self.registry)
        self._gauges = _Gauges()
        self.registry.register(self._gauges)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        Info("pnyx", "The version of pnyx.", registry=self.registry).info({"version": __version__})

    def record(self, name: str, value: float, labels: Sequence[str]) -> None:
        metric = self._grown[name]
        child = metric.labels(*labels) if labels else metric
        child.inc(value) if isinstance(child, Counter) else child.observe(value)

    def replace(self, gauges: Gauges) -> None:
        self._gauges.values = {**self._gauges.values, **gauges}

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """Return the metrics in the format that an `Accept` header asks for, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


class _Gauges(Collector):
    """The gauges of the last sample; replaced together, so that no scrape sees half of one."""

    def __init__(self) -> None:
        self.values: Gauges = {}

    def collect(self) -> Iterator[Metric]:
        values = self.values
        for name, one in INSTRUMENTS.items():
            if one.kind == "gauge":
                family = GaugeMetricFamily(one.prometheus_name, one.description, labels=one.prometheus_labels)
                for labels, value in values.get(name, {}).items():
                    family.add_metric(labels, value)
                yield family
