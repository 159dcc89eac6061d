"""Hedged requests: a call that takes longer than nearly all of its model's gets a second try beside it.

Dean and Barroso, "The Tail at Scale" (2013): waiting for the 95th percentile first keeps the extra load
small. A token bucket keeps it under `SHARE` even while a host is slow for everyone.
"""

from __future__ import annotations

from collections import deque

from ..core.lru import LRU

__all__ = ["Hedging"]

SHARE = 0.05
"""Extra requests, as a share of all."""
SAVED = 5.0
"""The most extra requests that may be saved up for a bad minute."""
SAMPLES, ENOUGH = 200, 20
"""Calls of a model that are remembered, and from how many on its 95th percentile means something."""


MODELS = 1000
"""Models whose latencies a process keeps."""


class Hedging:
    """How long the calls of each model took in this process, and how many extra ones are allowed."""

    def __init__(self) -> None:
        self._took = LRU[str, deque[float]](MODELS, make=lambda model: deque(maxlen=SAMPLES))
        self._saved = 0.0

    def took(self, model: str, seconds: float) -> None:
        """Take in a call that was answered."""
        self._took[model].append(seconds)
        self._saved = min(SAVED, self._saved + SHARE)

    def patience(self, model: str) -> float | None:
        """Seconds after which a call of the model is late: its p95; None while too few are known."""
        took = sorted(self._took[model]) if model in self._took else []
        return took[int(len(took) * 0.95)] if len(took) >= ENOUGH else None

    def take(self) -> bool:
        """Whether one more request may be sent; if so, it counts."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True
