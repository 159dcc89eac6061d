"""Advances a protocol step by step: the one loop, for the runner and for tests.

It knows the tree of steps and nothing else: a `StepHandler` makes calls, uses tools, and records. It neither
reads nor writes the journal, holds no budget, and knows no provider. Its own clock serves one purpose: once
the outcome of a parallel step is certain, the branches that are left get a little more time (`GRACE_S`).

A step's key is its position in the tree ("/3/1.2/consensus/4": step 3 of the protocol, whose own script has
reached step 1, branch 2 of that, a run of consensus, its step 4). Keys do not depend on which branch
finishes first, so that a replay finds the same ones.
"""

from __future__ import annotations

import asyncio
import math
import time
import typing
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar, cast

from ..core.decision import flaw
from ..core.phases import START
from ..core.protocol import Protocol
from ..core.steps import (
    Abstain,
    All,
    Ask,
    Branch,
    Brief,
    Decision,
    Enter,
    Graph,
    Panel,
    Reply,
    Run,
    Step,
    Tally,
    Use,
)
from ..core.tool_calls import ToolResult
from ..errors import Halted, NoQuorum, ScriptError, SeatAbsent

__all__ = ["Resolve", "StepHandler", "Where", "drive"]

T = TypeVar("T")
GRACE_S = 2.0
"""The least time for stragglers once the outcome of a parallel step is certain, in seconds."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where in a protocol a step stands; for events."""

    protocol: str
    phase: str = START
    round: int = 1


class StepHandler(typing.Protocol):
    """Carries out the leaves of the tree: calls, tools, phases and tallies.

    close: the branches `late` of the parallel step at `key` are not waited for any longer.
    """

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply: ...

    async def use(self, key: str, step: Use, where: Where) -> ToolResult: ...

    async def enter(self, key: str, step: Enter, where: Where) -> None: ...

    async def tally(self, key: str, step: Tally, where: Where) -> None: ...

    async def abstain(self, key: str, step: Abstain, where: Where) -> None: ...

    async def close(self, key: str, late: Sequence[int], where: Where) -> None: ...


Resolve = Callable[[str, Brief], tuple[Protocol, Brief]]
"""Finds a sub-protocol by name and settles the options of its brief."""


async def drive(
    protocol: Protocol,
    brief: Brief,
    panel: Panel,
    handler: StepHandler,
    resolve: Resolve,
    path: str = "",
) -> Decision:
    """Run a protocol to its decision.

    path: the key under which its steps stand; "" for the outermost protocol. Raises `SeatAbsent` and
    `NoQuorum` if the protocol does not handle them; `ScriptError` if it awaits anything but its panel, enters
    a phase that its table does not allow or from a branch, or returns no well-formed decision; and whatever
    the handler or the protocol's own code raises.
    """
    driver = _Driver(protocol, panel, handler, resolve)
    decision = await driver.script(protocol.script(brief, panel), path, root=True)
    if (wrong := flaw(decision)) is not None:
        raise ScriptError(f"{protocol.name}: {wrong}")
    return cast(Decision, decision)


class _Driver:
    def __init__(self, protocol: Protocol, panel: Panel, handler: StepHandler, resolve: Resolve) -> None:
        self.protocol, self.panel, self.handler, self.resolve = protocol, panel, handler, resolve
        self.where = Where(protocol.name)

    async def script(self, coroutine: Coroutine[Step[Any], Any, Any], path: str, root: bool = False) -> Any:
        """Send a script each result until it returns; only `SeatAbsent` and `NoQuorum` reach it."""
        value: Any = None
        error: Exception | None = None
        position = 0
        try:
            while True:
                try:
                    step = coroutine.throw(error) if error else coroutine.send(value)
                except StopIteration as done:
                    return done.value
                value, error, key = None, None, f"{path}/{position}"
                position += 1
                try:
                    value = await self.step(key, step, root)
                except (
                    SeatAbsent,
                    NoQuorum,
                ) as exc:  # what a protocol may handle; nothing else is its business
                    error = exc
        finally:
            coroutine.close()

    async def step(self, key: str, step: object, root: bool) -> Any:
        match step:
            case Ask():
                return await self.handler.ask(key, step, self.where)
            case Use():
                return await self.handler.use(key, step, self.where)
            case Tally():
                return await self.handler.tally(key, step, self.where)
            case Abstain():
                return await self.handler.abstain(key, step, self.where)
            case All(branches, quorum, enough):
                return await self.all(key, branches, quorum, enough)
            case Graph(nodes, quorum):
                return await self.graph(key, nodes, quorum)
            case Run(name, brief):
                inner, settled = self.resolve(name, brief)
                return await drive(
                    inner, settled, self.panel, self.handler, self.resolve, f"{key}/{inner.name}"
                )
            case Enter() if root:
                self.protocol.phases.check(self.where.phase, step.phase, step.facts)
                self.where = Where(self.protocol.name, step.phase, step.round)
                return await self.handler.enter(key, step, self.where)
            case Enter():
                raise ScriptError(f"{self.protocol.name}: a parallel branch may not change the phase")
        raise ScriptError(
            f"{self.protocol.name}: a protocol may only await its panel, not {type(step).__name__}"
        )

    async def branch(self, key: str, branch: Branch[T]) -> T:
        if isinstance(branch, Step):
            return cast(T, await self.step(key, branch, root=False))
        return cast(T, await self.script(branch, key))

    async def all(
        self,
        key: str,
        branches: Sequence[Branch[T]],
        quorum: int,
        enough: Callable[[list[T]], bool] | None,
    ) -> list[T]:
        running = [self.branch(f"{key}.{i}", branch) for i, branch in enumerate(branches)]
        results = await _together(running, enough)
        if late := [i for i, result in enumerate(results) if isinstance(result, _Late)]:
            await self.handler.close(key, late, self.where)
        return self._quorate([r for r in results if not isinstance(r, Exception)], quorum, len(branches))

    async def graph(
        self,
        key: str,
        nodes: Mapping[str, tuple[Sequence[str], Callable[[Mapping[str, T]], Branch[T]]]],
        quorum: int,
    ) -> dict[str, T]:
        try:
            TopologicalSorter({label: needs for label, (needs, _) in nodes.items()}).prepare()
        except CycleError as exc:
            raise ScriptError(f"{self.protocol.name}: a graph with a cycle: {exc.args[1]}") from exc
        done = {label: asyncio.get_running_loop().create_future() for label in nodes}

        async def node(label: str, needs: Sequence[str], script: Callable[[Mapping[str, T]], Branch[T]]) -> T:
            try:
                # Awaited bare, a future that other nodes need too would be cancelled with this node.
                given = {need: await asyncio.shield(done[need]) for need in needs}
                result = await self.branch(f"{key}.{label}", script(given))
            except Exception as exc:
                done[label].set_exception(exc)
                done[label].exception()  # seen: it is reported by this node, not by the loop
                raise
            done[label].set_result(result)
            return result

        results = await _together([node(label, *spec) for label, spec in nodes.items()])
        found = {label: r for label, r in zip(nodes, results, strict=True) if not isinstance(r, Exception)}
        self._quorate(list(found), quorum, len(nodes))
        return found

    def _quorate(self, results: list[T], quorum: int, asked: int) -> list[T]:
        if len(results) < quorum:
            place = f"{self.protocol.name}, {self.where.phase}"
            raise NoQuorum(f"{place}: {len(results)} of {asked} answered, {quorum} needed")
        return results


class _Late(SeatAbsent):
    """The branch was closed before it had a result."""


async def _together(
    branches: Sequence[Awaitable[T]], enough: Callable[[list[T]], bool] | None = None
) -> list[T | Exception]:
    """Results in order, with `SeatAbsent` or `NoQuorum` in place of what is missing.

    Once there is `enough`, the other branches get as long again as it took, at least `GRACE_S`, and are then
    cancelled. A `Halted` is raised after all branches have ended, so that calls in flight, which are paid,
    are recorded; any other exception cancels the other branches and is raised at once.
    """
    tasks = [asyncio.ensure_future(b) for b in branches]
    waiting: set[asyncio.Future[T]] = set(tasks)
    began, until = time.monotonic(), math.inf
    try:
        while waiting:
            left = None if until == math.inf else until - time.monotonic()
            done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            if any(_wrong(task.exception()) for task in done):
                break
            if enough is not None and until == math.inf and enough(_results(tasks)):
                now = time.monotonic()
                until = now + max(GRACE_S, now - began)
    finally:
        for task in waiting:
            task.cancel()
        if waiting:
            # Their exceptions are retrieved here; asyncio warns about those that nobody retrieves.
            await asyncio.gather(*tasks, return_exceptions=True)
    errors = [_Late("was not waited for") if task.cancelled() else task.exception() for task in tasks]
    halted = [exc for exc in errors if isinstance(exc, Halted)]
    if stops := [*(exc for exc in errors if exc is not None and _wrong(exc)), *halted]:
        raise stops[0]
    return [
        task.result() if exc is None else cast(Exception, exc)
        for task, exc in zip(tasks, errors, strict=True)
    ]


def _wrong(exc: BaseException | None) -> bool:
    """Whether the exception ends the run at once."""
    return exc is not None and not isinstance(exc, SeatAbsent | NoQuorum | Halted)


def _results(tasks: Sequence[asyncio.Future[T]]) -> list[T]:
    return [task.result() for task in tasks if task.done() and task.exception() is None]
