"""The progress of a batch: one line that is redrawn on a terminal, else a line after each tenth."""

from __future__ import annotations

import time

from ....core.models import money
from ...render.terminal import clip, flat
from ...views.transcript import paid, seconds
from .output import Output

__all__ = ["Progress"]

WITHOUT_END = 10
"""Questions between two lines if the total is unknown."""


class Progress:
    """Prints the progress of work in parts, such as the arms of an evaluation.

    total: questions in each part, None if unknown. done: finished questions of the current part.
    """

    def __init__(self, output: Output, total: int | None) -> None:
        self.done = 0
        self._output, self._total = output, total
        self._part, self._cost, self._unpriced = "", 0.0, False
        self._began = self._last = time.monotonic()

    def add(self, part: str, cost_usd: float | None) -> None:
        """Count a finished question of `part`. cost_usd: None if unknown."""
        if part != self._part:
            self.close()
            # The first answer of a part has been in the making since the last one of the part before.
            self._part, self.done, self._began = part, 0, self._last
            self._cost, self._unpriced = 0.0, False
        self._last = time.monotonic()
        self.done += 1
        self._cost += cost_usd or 0.0
        self._unpriced |= cost_usd is None
        step = max((self._total or 10 * WITHOUT_END) // 10, 1)
        if self._output.live:
            self._output.err.write(f"\r\x1b[K{clip(flat(self._line()), (self._output.err.width or 80) - 1)}")
        elif self.done == self._total or self.done % step == 0:
            self._output.note(self._line())

    def clear(self) -> None:
        """Remove the line from a terminal, before other lines are printed there."""
        if self._part and self._output.live:
            self._output.err.write("\r\x1b[K")

    def close(self) -> None:
        if self._part and self._output.live:
            self._output.err.write("\n")

    def forecast_usd(self) -> float | None:
        """What all questions of the part cost if the rest cost as much; None if unknown, or none are left."""
        if not self._total or not 0 < self.done < self._total or not self._cost or self._unpriced:
            return None
        return self._cost / self.done * self._total

    def _line(self) -> str:
        took = time.monotonic() - self._began
        parts = [f"{self._part}: {self.done}/{self._total or '?'}", paid(self._cost, self._unpriced)]
        if self._total and (left := took / self.done * (self._total - self.done)) >= 1:
            parts.append(f"about {seconds(left)} left")
        if (forecast := self.forecast_usd()) is not None:
            parts.append(f"{money(forecast)} in all")
        return " · ".join([*parts, seconds(took)])
