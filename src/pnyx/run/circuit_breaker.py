"""Hosts that are down, remembered over the runs of a process.

A run learns from its retries that a host is down, and drops the seat. The runs after it are told here, and
need not wait to learn it again; a run by itself is never held back. Why it counts so: design/failures.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.lru import LRU

__all__ = ["CircuitBreaker", "CircuitBreakers"]

DOWN = frozenset(("unreachable", "overloaded", "timeout"))
"""Kinds of failure that a host gives which is down; after any other, it is up."""
RUNS = 3
"""So many runs give a model up, with no answer to any run in between, until its circuit opens."""
MODELS = 1000
"""Models whose circuit breakers a process keeps. Clients choose the names, so nothing else bounds them."""
PAUSE_S, LONGEST_PAUSE_S = 30.0, 300.0


@dataclass
class CircuitBreaker:
    """One model's. While it is open no run asks the model; after a pause one run tries it again.

    clock: seconds that only grow.
    """

    clock: Callable[[], float] = time.monotonic
    _failed: set[str] = field(default_factory=set)
    _pause: float = PAUSE_S
    _until: float | None = None
    _probe: str | None = None
    _reason: str = ""

    def is_open(self) -> bool:
        """Whether runs are refused now, or one is trying the model again."""
        return self._until is not None

    def refusal(self, run_id: str) -> str | None:
        """Why the run is not to ask the model now, and for how long; None where it may."""
        if self._until is None or run_id == self._probe:
            return None
        left = self._until - self.clock()
        if left <= 0:
            # Of a probe that is cut off nothing is heard: after another pause there is another one.
            self._probe, self._until = run_id, self.clock() + self._pause
            return None
        return f"its host is down ({self._reason}), and is not asked for another {math.ceil(left)} s"

    def answered(self) -> None:
        """The host is up."""
        self._failed.clear()
        self._pause, self._until, self._probe = PAUSE_S, None, None

    def failed(self, run_id: str, kind: str, reason: str) -> None:
        """The run has given the model up, after all its retries. kind: as in `ProviderError`."""
        if kind not in DOWN:
            self.answered()
            return
        if self._until is None:
            self._failed.add(run_id)
            if len(self._failed) < RUNS:
                return
        elif run_id == self._probe:
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        else:
            return  # it had asked before the circuit opened, and tells nothing new
        self._reason, self._probe, self._until = reason, None, self.clock() + self._pause


class CircuitBreakers(LRU[str, CircuitBreaker]):
    """The circuit breakers of a process by model reference, at most `MODELS`; an open one is kept longest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(MODELS, make=lambda model: CircuitBreaker(clock), keep=CircuitBreaker.is_open)
