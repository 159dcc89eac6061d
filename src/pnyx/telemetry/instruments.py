"""The metrics: one table for Prometheus and for OpenTelemetry.

Names of `gen_ai` and `http` are those of OpenTelemetry's semantic conventions 1.41. Those of `pnyx` are our
own. Prometheus has the same names with `_` for `.`, the unit at the end, and `_total` for a counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

__all__ = ["INSTRUMENTS", "Instrument"]

_TOKENS = tuple(float(4**power) for power in range(14))
_SECONDS = tuple(round(0.01 * 2**power, 2) for power in range(14))
_RUN_SECONDS = (0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1280.0)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_UNITS = {"s": "seconds"}


@dataclass(frozen=True, slots=True)
class Instrument:
    """A metric. unit: as UCUM writes it. labels: in the order of their values. bounds: of a histogram.
    known: values of labels whose series begin at 0: what Prometheus sees at 1 first has not increased.

    A gauge is replaced as a whole by each sample; a counter and a histogram only grow.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    description: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    known: tuple[tuple[str, ...], ...] = ()

    @property
    def prometheus_name(self) -> str:
        """The name without `_total`, which Prometheus's clients add to a counter."""
        unit = _UNITS.get(self.unit)
        return self.name.replace(".", "_") + (f"_{unit}" if unit else "")

    @property
    def prometheus_labels(self) -> tuple[str, ...]:
        return tuple(label.replace(".", "_") for label in self.labels)


_MODEL = ("gen_ai.provider.name", "gen_ai.request.model", "server.address")
_TABLE = (
    Instrument(
        "gen_ai.client.token.usage",
        "histogram",
        "{token}",
        "Tokens that requests to model hosts used, as they are billed.",
        ("gen_ai.operation.name", "gen_ai.token.type", *_MODEL),
        _TOKENS,
    ),
    Instrument(
        "gen_ai.client.operation.duration",
        "histogram",
        "s",
        "Time of calls to models, retries included.",
        ("gen_ai.operation.name", "error.type", *_MODEL),
        _SECONDS,
    ),
    Instrument(
        "http.server.request.duration",
        "histogram",
        "s",
        "Time of HTTP requests, until the end of the response.",
        ("http.request.method", "http.route", "http.response.status_code"),
        _HTTP_SECONDS,
    ),
    Instrument(
        "pnyx.runs",
        "counter",
        "{run}",
        "Runs that ended or paused in this process.",
        ("protocol", "status", "stop_reason"),
    ),
    Instrument(
        "pnyx.run.duration",
        "histogram",
        "s",
        "Time that processes worked on a run until it ended.",
        ("protocol", "status"),
        _RUN_SECONDS,
    ),
    Instrument("pnyx.runs.active", "gauge", "{run}", "Runs that this process carries out now."),
    Instrument(
        "pnyx.runs.lost",
        "counter",
        "{run}",
        "Runs that this process could not carry on: they could not be written, or another process took them.",
        ("error.type",),
        known=(("Fenced",), ("StoreError",), ("Diverged",)),
    ),
    Instrument(
        "pnyx.cost.usd",
        "counter",
        "{USD}",
        "What calls cost, as charged to budgets; without calls of an unknown price.",
        ("provider", "gen_ai.request.model"),
    ),
    Instrument(
        "pnyx.requests",
        "counter",
        "{request}",
        "Requests to model hosts with their outcome: ok, or the kind of failure.",
        ("provider", "gen_ai.request.model", "outcome"),
    ),
    Instrument(
        "pnyx.retries",
        "counter",
        "{request}",
        "Requests to model hosts that failed and were followed by another one.",
        ("provider", "error.type"),
    ),
    Instrument("pnyx.calls.active", "gauge", "{call}", "Requests to model hosts in flight.", ("provider",)),
    Instrument("pnyx.seats.dropped", "counter", "{seat}", "Seats that left their run.", ("provider",)),
    Instrument("pnyx.tool.calls", "counter", "{call}", "Calls of tools.", ("tool", "outcome")),
    Instrument(
        "pnyx.budget.events",
        "counter",
        "{event}",
        "Budgets that warned, were exhausted, raised or overrun.",
        ("kind", "scope"),
        known=tuple(product(("warning", "exhausted", "raised", "overrun"), ("run", "day", "batch", "key"))),
    ),
    Instrument(
        "pnyx.budget.calls.waiting",
        "gauge",
        "{call}",
        "Calls of this process that wait for room under a shared budget.",
        ("scope",),
    ),
    Instrument(
        "pnyx.budget.holds",
        "gauge",
        "{run}",
        "Runs with a hold on a shared budget, in the whole database.",
        ("scope",),
    ),
    Instrument(
        "pnyx.budget.held.usd",
        "gauge",
        "{USD}",
        "What these runs are still expected to need.",
        ("scope",),
    ),
    Instrument(
        "pnyx.queue.length",
        "gauge",
        "{run}",
        "Runs that wait for a worker, in the whole database.",
    ),
    Instrument(
        "pnyx.runs.held_back",
        "gauge",
        "{run}",
        "Runs held back because several workers ended while running them, in the whole database.",
    ),
    Instrument("pnyx.queue.age", "gauge", "s", "How long the oldest of them has waited."),
    Instrument(
        "pnyx.circuit_breaker.open",
        "gauge",
        "{model}",
        "1 while the host of the model counts as down, else 0.",
        ("provider", "gen_ai.request.model"),
    ),
    Instrument(
        "pnyx.database.up",
        "gauge",
        "{database}",
        "1 if the database answered the last sample, else 0.",
    ),
    Instrument(
        "pnyx.telemetry.lost",
        "counter",
        "{item}",
        "Announcements that a part of telemetry dropped, or failed at.",
        ("part", "reason"),
        known=tuple(product(("log", "metrics", "traces"), ("dropped", "failed"))),
    ),
)
INSTRUMENTS: Mapping[str, Instrument] = {instrument.name: instrument for instrument in _TABLE}
"""Name -> metric."""
