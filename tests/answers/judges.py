"""What decides whether two answers are the same: pnyx, and the two tools that it is compared with.

math-verify compares two answers as its README shows, between dollar signs: it finds far more so. Of
inspect there are its scorers `math()`, which needs the parser that math-verify brings, and `exact()`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import FrameType, SimpleNamespace
from typing import Any

import pnyx

Judge = Callable[[str, str, str | None], bool]  # two answers, the question → are they the same?
SECONDS = 5.0  # what a tool may take for one pair; one that takes longer has not called them the same


class MissingToolError(Exception):
    """A tool to compare with is not installed; the message says how to get it."""


def pnyx_judge(a: str, b: str, question: str | None) -> bool:
    return pnyx.same_answer(a, b, question)


def _math_verify() -> Judge:
    try:
        from math_verify import parse, verify
    except ImportError as error:
        raise MissingToolError("math-verify is not installed. Run: make setup") from error
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)

    def judge(a: str, b: str, question: str | None) -> bool:
        gold, answer = (parse(_as_mathematics(text), parsing_timeout=2) for text in (a, b))
        return bool(verify(gold, answer, timeout_seconds=2))

    return judge


def _as_mathematics(text: str) -> str:
    return text if "$" in text else f"${text}$"


def _inspect(name: str) -> Judge:
    try:
        from inspect_ai import scorer
    except ImportError as error:
        raise MissingToolError("inspect_ai is not installed. Run: make setup") from error
    score: Callable[[Any, Any], Awaitable[Any]] = getattr(scorer, name)()

    def judge(a: str, b: str, question: str | None) -> bool:
        state = SimpleNamespace(output=SimpleNamespace(completion=b))
        try:
            return bool(_loop().run_until_complete(score(state, scorer.Target([a]))).value == "C")
        except ValueError:  # what math() raises about a target that is no mathematics
            return False

    return judge


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all pairs: inspect keeps its worker per loop."""
    return asyncio.new_event_loop()


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds. Only in the main thread."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, leave)
    # pytest's own limit uses the same timer.
    remaining = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *remaining)
        signal.signal(signal.SIGALRM, before)


JUDGES: dict[str, Callable[[], Judge]] = {
    "pnyx": lambda: pnyx_judge,
    "math-verify": _math_verify,
    "inspect math()": partial(_inspect, "math"),
    "inspect exact()": partial(_inspect, "exact"),
}
"""How to get each judge, by its name. MissingToolError where it is not installed."""
