"""Circuit breakers: hosts that are down, remembered across the runs of a process.

A run finds by its retries that a host is down, and drops the seat. Later runs read it here and drop the seat
at once. A single run is never affected. Reasons for the thresholds: design/failures.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ...core.caching.lru import LRU

__all__ = ["CircuitBreaker", "CircuitBreakers"]

DOWN = frozenset(("unreachable", "overloaded", "timeout"))
"""Kinds of failure of a host that is down; any other kind shows that it is up."""
RUNS = 3
"""Runs that must fail on a model, with no reply in between, before its circuit opens."""
MODELS = 1000
"""Models whose circuit breakers a process keeps. Clients choose the names, so nothing else bounds them."""
PAUSE_S, LONGEST_PAUSE_S = 30.0, 300.0


@dataclass
class CircuitBreaker:
    """The circuit breaker of one model. While it is open no run calls the model; after a pause one run tries.

    clock: monotonic seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _failed: set[str] = field(default_factory=set)
    _pause: float = PAUSE_S
    _until: float | None = None
    _probe: str | None = None
    _reason: str = ""

    def is_open(self) -> bool:
        """Return whether runs are refused now, or one is trying the model again."""
        return self._until is not None

    def refusal(self, run_id: str) -> str | None:
        """Return why the run must not call the model now, and for how long; None if it may."""
        if self._until is None or run_id == self._probe:
            return None
        left = self._until - self.clock()
        if left <= 0:
            # A probe that is cut off reports nothing: after another pause there is another probe.
            self._probe, self._until = run_id, self.clock() + self._pause
            return None
        return f"its host is down ({self._reason}); calls resume in {math.ceil(left)} s"

    def record_success(self) -> None:
        """Close the circuit: the host is up."""
        self._failed.clear()
        self._pause, self._until, self._probe = PAUSE_S, None, None

    def record_failure(self, run_id: str, kind: str, reason: str) -> None:
        """Count a run whose retries on the model all failed. kind: as in `ProviderError`."""
        if kind not in DOWN:
            self.record_success()
            return
        if self._until is None:
            self._failed.add(run_id)
            if len(self._failed) < RUNS:
                return
        elif run_id == self._probe:
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        else:
            return  # it called before the circuit opened
        self._reason, self._probe, self._until = reason, None, self.clock() + self._pause


class CircuitBreakers(LRU[str, CircuitBreaker]):
    """The circuit breakers of a process by model reference, at most `MODELS`; an open one is kept longest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(MODELS, make=lambda model: CircuitBreaker(clock), keep=CircuitBreaker.is_open)

    def states(self) -> dict[str, bool]:
        """Return model -> whether its circuit is open. Changes no order of use."""
        return {model: breaker.is_open() for model, breaker in self.items()}
