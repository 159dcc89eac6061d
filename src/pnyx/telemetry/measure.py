"""What announcements measure: each becomes additions to the metrics of `instruments`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from typing import NamedTuple, Protocol

from ..core.decision import FINAL
from ..core.events import (
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    RunFinished,
    SeatDropped,
    ToolCalled,
)
from ..run.journal import CUT_OFF
from ..run.observer import Announcement, RunClosed, RunOpened
from .hosts import Hosts
from .instruments import INSTRUMENTS

__all__ = ["MOST_MODELS", "Capped", "Gauges", "Meter", "Metrics", "RequestServed"]

MOST_MODELS = 100
"""Models with a series of their own: clients choose the names. Further ones are `other`."""
MOST_NAMES = 50
"""The same for stop reasons and tools, which protocols and packages choose."""
OTHER = "other"
Gauges = Mapping[str, Mapping[tuple[str, ...], float]]
"""Name of a gauge -> its values by the values of its labels."""


class Metrics(Protocol):
    """Where measurements go: Prometheus or OpenTelemetry."""

    def record(self, name: str, value: float, labels: Sequence[str]) -> None:
        """Add to a counter, or to a histogram."""

    def replace(self, gauges: Gauges) -> None:
        """Set gauges to what a sample found."""


class RequestServed(NamedTuple):
    """An HTTP request that is over."""

    method: str
    route: str
    status: int
    seconds: float


class Capped:
    """Names of which each counts as itself until there are too many. The rest count as OTHER."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()

    def __call__(self, name: str) -> str:
        if name not in self._seen:
            if len(self._seen) >= self._most:
                return OTHER
            self._seen.add(name)
        return name


@dataclass
class _Call:
    """A call in progress. attempts: its requests in flight."""

    model: str
    started: str
    attempts: set[int] = field(default_factory=set)


class Meter:
    """Turns announcements into measurements. metrics: all get every one."""

    def __init__(self, hosts: Hosts, *metrics: Metrics) -> None:
        self._hosts, self._metrics = hosts, metrics
        self._calls: dict[str, dict[str, _Call]] = {}
        self._models, self._names, self._tools = Capped(MOST_MODELS), Capped(MOST_NAMES), Capped(MOST_NAMES)
        self._lost: dict[tuple[str, str], int] = {}
        for name, instrument in INSTRUMENTS.items():
            for labels, one in product(instrument.known, metrics):
                one.record(name, 0, labels)

    def consume(self, item: Announcement | RequestServed | Gauges) -> None:
        """Record what an item measures."""
        if isinstance(item, Mapping):
            for metrics in self._metrics:
                metrics.replace(item)
            return
        for name, value, labels in self._measure(item):
            for metrics in self._metrics:
                metrics.record(name, value, labels)

    def record_lost(self, part: str, reason: str, total: int) -> None:
        """Record how many items a part of telemetry has lost until now."""
        if (new := total - self._lost.get((part, reason), 0)) > 0:
            self._lost[part, reason] = total
            for metrics in self._metrics:
                metrics.record("pnyx.telemetry.lost", new, (part, reason))

    def calls_active(self) -> dict[tuple[str, ...], float]:
        """Return the requests in flight by provider."""
        active: dict[tuple[str, ...], float] = {}
        for calls in list(self._calls.values()):
            for call in list(calls.values()):
                provider = (call.model.partition(":")[0],)
                active[provider] = active.get(provider, 0.0) + len(call.attempts)
        return active

    def model_labels(self, model: str) -> tuple[str, str]:
        """Return the labels of a model reference: its provider, and the model."""
        provider, name, _ = self._hosts.of(model)
        capped = self._models(model)
        return provider, name if capped == model else OTHER

    def _measure(self, item: Announcement | RequestServed) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        match item:
            case RequestServed():
                labels = (item.method, item.route, str(item.status))
                yield "http.server.request.duration", item.seconds, labels
            case RunOpened():
                pass
            case RunClosed():
                self._calls.pop(item.run.run_id, None)
                if item.error:
                    yield "pnyx.runs.lost", 1, (item.error,)
            case _:
                yield from self._of_event(item.run.run_id, item.event)

    def _of_event(self, run_id: str, event: Event) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        match event:
            case CallStarted():
                calls = self._calls.setdefault(run_id, {})
                call = calls.setdefault(event.key, _Call(event.model, event.time))
                call.attempts.add(event.attempt)
            case CallFinished() | CallFailed():
                yield from self._of_outcome(run_id, event)
            case SeatDropped():
                yield "pnyx.seats.dropped", 1, self.model_labels(event.model)[:1]
            case ToolCalled():
                yield "pnyx.tool.calls", 1, (self._tools(event.tool), "ok" if event.ok else "failed")
            case Budget():
                yield "pnyx.budget.events", 1, (event.kind, event.scope.partition(":")[0])
            case RunFinished(status=status, result=result):
                protocol, why = str(result.get("protocol")), self._names(str(result.get("stop_reason")))
                yield "pnyx.runs", 1, (protocol, status, why)
                if status in FINAL:
                    yield "pnyx.run.duration", float(result.get("elapsed_s") or 0), (protocol, status)
                    self._calls.pop(run_id, None)

    def _of_outcome(
        self, run_id: str, event: CallFinished | CallFailed
    ) -> Iterator[tuple[str, float, tuple[str, ...]]]:
        call = self._calls.get(run_id, {}).get(event.key)
        if call is None:
            # Nothing was sent by this process: a copied reply, or a call that another process left.
            if isinstance(event, CallFailed) and event.charged_usd:
                yield "pnyx.cost.usd", event.charged_usd, self.model_labels(event.model)
            return
        call.attempts.discard(event.attempt)
        provider, model = self.model_labels(call.model)
        host = self._hosts.find(provider)
        of_model = (host.provider, model, host.address)
        failed = isinstance(event, CallFailed)
        cost = event.charged_usd if isinstance(event, CallFailed) else event.cost_usd
        error = event.kind if isinstance(event, CallFailed) else ""
        yield "pnyx.requests", 1, (provider, model, error or "ok")
        if cost:
            yield "pnyx.cost.usd", cost, (provider, model)
        for kind, count in (("input", event.input_tokens), ("output", event.output_tokens)):
            if count:
                yield "gen_ai.client.token.usage", count, ("chat", kind, *of_model)
        if isinstance(event, CallFailed) and event.retry_in_s is not None and error != CUT_OFF:
            yield "pnyx.retries", 1, (provider, error)
        if not failed or (isinstance(event, CallFailed) and event.final):
            del self._calls[run_id][event.key]
            took = seconds(call.started, event.time)
            yield "gen_ai.client.operation.duration", took, ("chat", error, *of_model)


def seconds(first: str, last: str) -> float:
    """Return the seconds between the times of two events."""
    took = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    return max(took.total_seconds(), 0.0)
