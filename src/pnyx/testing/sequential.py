"""Runs the branches of a parallel step one after another, without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any, TypeVar

from ..core.steps import Ask
from ..errors import NoQuorum, SeatAbsent
from ..run.drive import Node

__all__ = ["Sequential", "finish"]

T = TypeVar("T")


class Sequential:
    """A `Scheduler` of `run/drive.py` under which nothing ever waits.

    asks: every question to a seat so far, a list that grows with the run. waves: how many questions each
    parallel step had. last_first: branches of a parallel step run in reverse order.
    """

    def __init__(self, asks: Sequence[Ask], *, last_first: bool = False) -> None:
        self.asks, self.last_first = asks, last_first
        self.waves: list[int] = []

    async def run_all(
        self, branches: Sequence[Coroutine[Any, Any, T]], enough: Callable[[list[T]], bool] | None
    ) -> list[T | Exception]:
        # `enough` closes branches that are late, and none is: each has ended before the next begins.
        before, results = len(self.asks), dict[int, T | Exception]()
        order = list(enumerate(branches))
        try:
            for place, branch in reversed(order) if self.last_first else order:
                results[place] = await _result(branch)
        finally:
            for branch in branches:
                branch.close()
        self.waves.append(len(self.asks) - before)
        return [results[place] for place in range(len(branches))]

    async def run_graph(self, nodes: Mapping[str, Node[T]]) -> list[T | Exception]:
        done, failed = dict[str, T](), dict[str, Exception]()
        for label in TopologicalSorter({label: node.needs for label, node in nodes.items()}).static_order():
            node = nodes[label]
            if missing := [failed[need] for need in node.needs if need in failed]:
                failed[label] = missing[0]
                continue
            try:
                done[label] = await node.start({need: done[need] for need in node.needs})
            except (SeatAbsent, NoQuorum) as exc:
                failed[label] = exc
        return [done[label] if label in done else failed[label] for label in nodes]


async def _result(branch: Coroutine[Any, Any, T]) -> T | Exception:
    try:
        return await branch
    except (SeatAbsent, NoQuorum) as exc:
        return exc


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its result. Raises what it raises."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("the run suspended, and there is no event loop to resume it")
