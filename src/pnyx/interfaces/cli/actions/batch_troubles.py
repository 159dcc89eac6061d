"""What went wrong in the lines of a batch, each reason once: a host that is down is so for all lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....core.caching.regex import regex
from ....run.result import Result
from ...render.terminal import clip
from ...views.transcript import quantity

__all__ = ["Troubles"]

MOST = 5
"""Reasons for dropped seats that are shown, the most frequent ones."""
CHARS = 300
_VARYING = regex(r"\$[\d.,]*\d|,")
"""Amounts, and what stands between the names of seats."""


class Troubles:
    """What went wrong so far: why lines failed, and why seats were dropped from answers."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        """Why lines failed, without what differs from run to run -> the first of them."""
        self._more: Counter[int] = Counter()
        """The number of a line that failed -> how many others failed for its reason."""
        self._dropped: Counter[tuple[str, str]] = Counter()
        """Model and reason -> how many answers have seats that were dropped for it."""

    def is_new(self, result: Result, why: str, line: int) -> bool:
        """Count a line that failed. Return whether none failed for this reason before."""
        for name in (result.run_id, *(drop["seat"] for drop in result.dropped)):
            why = why.replace(name, "")
        first = self._first.setdefault(" ".join(_VARYING.sub(" ", why).split()), line)
        self._more[first] += first != line
        return first == line

    def add(self, result: Result) -> None:
        """Count the seats of an answer that were dropped."""
        self._dropped.update({(drop["model"], drop["reason"]) for drop in result.dropped})

    def failures(self) -> Iterator[str]:
        """Yield a sentence for each reason for which several lines failed."""
        for line, count in self._more.items():
            if count:
                yield f"{quantity(count, 'more line')} went wrong like line {line}"

    def drops(self) -> Iterator[str]:
        """Yield a printable sentence for each reason that has cost answers a seat."""
        for (model, reason), count in self._dropped.most_common(MOST):
            yield f"without {clip(model, CHARS)} in {quantity(count, 'answer')}: {clip(reason, CHARS)}"
        if (rest := len(self._dropped) - MOST) > 0:
            yield f"{quantity(rest, 'more reason')} for dropped seats: `dropped` of each answer"
