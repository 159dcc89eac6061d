"""What a process is like at a moment: the gauges."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import datetime

from sqlalchemy import Connection

from ..core.models import NUSD
from ..errors import StoreError
from ..run.runner import Runner
from ..store.money import holds
from ..store.records import leases
from .measure import Gauges, Meter

__all__ = ["sample"]

WAIT_S = 2.0
"""Seconds that the database may take."""


async def sample(runner: Runner, meter: Meter) -> Gauges:
    """Return the gauges now. Those of the database are missing if it does not answer."""
    resources = runner.resources
    gauges: dict[str, dict[tuple[str, ...], float]] = {
        "pnyx.runs.active": {(): runner.active},
        "pnyx.calls.active": meter.calls_active(),
        "pnyx.budget.calls.waiting": _by_kind(resources.waiting.counts().items()),
        "pnyx.circuit_breaker.open": _greatest(
            (meter.model_labels(model), float(is_open))
            for model, is_open in resources.circuits.states().items()
        ),
        "pnyx.database.up": {(): 0.0},
    }
    try:
        async with asyncio.timeout(WAIT_S):
            gauges |= await runner.database.read(_stored)
    except (StoreError, TimeoutError):
        pass  # the gauge of the database says so
    return gauges


def _stored(connection: Connection) -> dict[str, dict[tuple[str, ...], float]]:
    count, oldest, held_back = leases.queue_length(connection)
    age = 0.0 if oldest is None else max(0.0, time.time() - datetime.fromisoformat(oldest).timestamp())
    held = holds.by_scope(connection)
    return {
        "pnyx.database.up": {(): 1.0},
        "pnyx.queue.length": {(): count},
        "pnyx.queue.age": {(): age},
        "pnyx.runs.held_back": {(): held_back},
        "pnyx.budget.holds": _by_kind((scope, runs) for scope, (runs, _) in held.items()),
        "pnyx.budget.held.usd": _by_kind((scope, amount / NUSD) for scope, (_, amount) in held.items()),
    }


def _by_kind(values: Iterable[tuple[str, float]]) -> dict[tuple[str, ...], float]:
    """Add up values by the kind of their scope: "key" for "key:ada"."""
    return _folded(((scope.partition(":")[0],), value) for scope, value in values)


def _folded(
    values: Iterable[tuple[tuple[str, ...], float]],
    fold: Callable[[float, float], float] = lambda one, other: one + other,
) -> dict[tuple[str, ...], float]:
    folded: dict[tuple[str, ...], float] = {}
    for labels, value in values:
        folded[labels] = fold(folded[labels], value) if labels in folded else value
    return folded


def _greatest(values: Iterable[tuple[tuple[str, ...], float]]) -> dict[tuple[str, ...], float]:
    return _folded(values, max)
