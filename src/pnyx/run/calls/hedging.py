"""Hedged requests: a call that is slower than 95 % of its model's calls gets a second, parallel request.

Source: Dean and Barroso, "The Tail at Scale" (2013). Waiting for the 95th percentile keeps the extra load
small. A token bucket keeps it under `SHARE` even while a host is slow for all calls.
"""

from __future__ import annotations

from collections import deque

from ...core.caching.lru import LRU

__all__ = ["Hedging"]

SHARE = 0.05
"""The most extra requests, as a share of all requests."""
SAVED = 5.0
"""The most unused extra requests that accumulate."""
SAMPLES, ENOUGH = 200, 20
"""Calls of a model that are remembered, and how many are needed for its 95th percentile."""
MODELS = 1000
"""Models whose latencies a process keeps."""


class Hedging:
    """The latencies of each model in this process, and how many extra requests are allowed."""

    def __init__(self) -> None:
        self._latencies = LRU[str, deque[float]](MODELS, make=lambda model: deque(maxlen=SAMPLES))
        self._saved = 0.0

    def record(self, model: str, seconds: float) -> None:
        """Record the latency of a completed call."""
        self._latencies[model].append(seconds)
        self._saved = min(SAVED, self._saved + SHARE)

    def patience(self, model: str) -> float | None:
        """Return the seconds after which a call is late: the model's p95; None while too few are known."""
        latencies = sorted(self._latencies[model]) if model in self._latencies else []
        return latencies[int(len(latencies) * 0.95)] if len(latencies) >= ENOUGH else None

    def acquire(self) -> bool:
        """Return whether one extra request may be sent, and count it if so."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True
