"""Advances a protocol step by step: the one loop, for the runner and for `pnyx.testing`.

It knows only the tree of steps. A `StepHandler` makes calls, uses tools, and records; a `Scheduler` runs the
branches of a parallel step. The loop does not use the journal, the budget or providers, and needs no event
loop; the scheduler of real runs has asyncio's. That one reads the clock for one purpose: once the outcome of
a parallel step is certain, the remaining branches get a little more time (`GRACE_S`).

A step's key is its position in the tree. "/3/1.2/consensus/4" is step 3 of the protocol, step 1 of that
step's script, its branch 2, a run of consensus in it, and step 4 of that. Keys do not depend on which branch
finishes first, so that a replay finds the same ones.
"""

from __future__ import annotations

import asyncio
import math
import time
import typing
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any, Generic, TypeVar, cast

from ..core.flaws import decision_flaw, step_flaw
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
from ..errors import Diverged, Fenced, Halted, NoQuorum, ScriptError, SeatAbsent, StoreError
from ..isolation import describe

__all__ = ["Late", "Node", "Resolve", "Scheduler", "StepHandler", "Where", "drive"]

T = TypeVar("T")
GRACE_S = 2.0
"""The least time for the remaining branches once the outcome of a parallel step is certain, in seconds."""

CONTROL = (Halted, Fenced, StoreError, Diverged)
"""What the run itself raises to stop. A protocol that raises one, or ends the process, is at fault."""


@dataclass(frozen=True, slots=True)
class Where:
    """The protocol, phase and round of a step, for events.

    closing: whether its answer is that of the run. has_answer: whether the protocol has named a best answer.
    """

    protocol: str
    phase: str = START
    round: int = 1
    closing: bool = True
    has_answer: bool = False


class StepHandler(typing.Protocol):
    """Performs the leaves of the tree: calls, tools, phases and tallies.

    close: stop waiting for the branches `late` of the parallel step at `key`. follow: from here on,
    `protocol` with `options` makes the answer of the run.
    """

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply: ...

    async def use(self, key: str, step: Use, where: Where) -> ToolResult: ...

    async def enter(self, key: str, step: Enter, where: Where) -> None: ...

    async def tally(self, key: str, step: Tally, where: Where) -> None: ...

    async def abstain(self, key: str, step: Abstain, where: Where) -> None: ...

    async def close(self, key: str, late: Sequence[int], where: Where) -> None: ...

    def follow(self, protocol: str, options: Mapping[str, Any]) -> None: ...


class Late(SeatAbsent):
    """The result of a branch that was closed before it had one."""


@dataclass(frozen=True, slots=True)
class Node(Generic[T]):
    """A node of a graph. start: makes its coroutine from the results of the nodes that it needs."""

    needs: Sequence[str]
    start: Callable[[Mapping[str, T]], Coroutine[Any, Any, T]]


class Scheduler(typing.Protocol):
    """Runs the branches of a parallel step: in which order, and how many at a time, is up to it.

    A branch without a result has `SeatAbsent` or `NoQuorum` in its place; any other exception of a branch is
    raised. Every coroutine has ended or is closed when a method returns or raises.
    """

    async def run_all(
        self, branches: Sequence[Coroutine[Any, Any, T]], enough: Callable[[list[T]], bool] | None
    ) -> list[T | Exception]:
        """Return the results in the order of the branches.

        enough: whether the results so far make the outcome certain. The scheduler may then close the other
        branches, and `Late` takes their place.
        """
        ...

    async def run_graph(self, nodes: Mapping[str, Node[T]]) -> list[T | Exception]:
        """Return the results in the order of the nodes, which have no cycle.

        A node starts once its needs have results; without one of them it has the exception of that need.
        """
        ...


Resolve = Callable[[str, Brief], tuple[Protocol, Brief]]
"""Finds a sub-protocol by name and resolves the options of its brief."""


async def drive(
    protocol: Protocol,
    brief: Brief,
    panel: Panel,
    handler: StepHandler,
    resolve: Resolve,
    path: str = "",
    scheduler: Scheduler | None = None,
    closing: bool = True,
) -> Decision:
    """Run a protocol to its decision.

    path: the prefix of its steps' keys; "" for the outermost protocol. scheduler: without one, branches are
    tasks of asyncio that run concurrently. closing: whether its answer is that of the run.

    Raises `SeatAbsent` and `NoQuorum` if the protocol does not handle them; `ScriptError` if it awaits
    anything but its panel, enters a phase that its table does not allow or from a branch, or returns no valid
    decision; and what the handler or the protocol's own code raises.
    """
    where = Where(protocol.name, closing=closing)
    driver = _Driver(protocol, panel, handler, resolve, scheduler or _Concurrent(), where)
    coroutine = _contain(protocol, partial(protocol.script, brief, panel))
    decision = await driver.script(coroutine, path, root=True)
    if (problem := decision_flaw(decision)) is not None:
        raise ScriptError(f"{protocol.name}: {problem}")
    return cast(Decision, decision)


def _contain(protocol: Protocol, call: Callable[[], T]) -> T:
    """Return what the protocol's code returns. Raises `ScriptError` for what would stop more than its run."""
    try:
        return call()
    except BaseException as exc:
        if isinstance(exc, CONTROL) or not isinstance(exc, Exception | KeyboardInterrupt):
            raise ScriptError(f"{protocol.name}: it raised {describe(exc)}") from exc
        raise


class _Driver:
    def __init__(
        self,
        protocol: Protocol,
        panel: Panel,
        handler: StepHandler,
        resolve: Resolve,
        scheduler: Scheduler,
        where: Where,
    ) -> None:
        self.protocol, self.panel, self.handler, self.resolve = protocol, panel, handler, resolve
        self.scheduler = scheduler
        self.where = where

    async def script(self, coroutine: Coroutine[Step[Any], Any, Any], path: str, root: bool = False) -> Any:
        """Run a script to its return value; of errors, only `SeatAbsent` and `NoQuorum` reach it."""
        if not isinstance(coroutine, Coroutine):
            kind = type(coroutine).__name__
            raise ScriptError(f"{self.protocol.name}: it must be an async function, which awaits; not {kind}")
        value: Any = None
        error: Exception | None = None
        position = 0
        try:
            while True:
                advance = partial(coroutine.throw, error) if error else partial(coroutine.send, value)
                try:
                    step = _contain(self.protocol, advance)
                except StopIteration as done:
                    return done.value
                value, error, key = None, None, f"{path}/{position}"
                position += 1
                try:
                    value = await self.step(key, step, root)
                except (SeatAbsent, NoQuorum) as exc:  # all that a protocol may handle
                    error = exc
        finally:
            coroutine.close()

    async def step(self, key: str, step: object, root: bool) -> Any:
        if (problem := step_flaw(step)) is not None:
            raise ScriptError(f"{self.protocol.name}: {problem}")
        match step:
            case Ask():
                # Protocols keep replies of all rounds, and later prompts are longer than all of them.
                return (await self.handler.ask(key, step, self.where)).without_prompt()
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
            case Run(name, brief, closing):
                inner, inner_brief = self.resolve(name, brief)
                path, last = f"{key}/{inner.name}", closing and self.where.closing
                if last and root:
                    self.handler.follow(inner.name, inner_brief.options)
                return await drive(
                    inner, inner_brief, self.panel, self.handler, self.resolve, path, self.scheduler, last
                )
            case Enter() if root:
                self.protocol.phases.check(self.where.phase, step.phase, step.facts)
                has_answer = self.where.has_answer or bool(step.answer)
                self.where = replace(self.where, phase=step.phase, round=step.round, has_answer=has_answer)
                return await self.handler.enter(key, step, self.where)
            case Enter():
                raise ScriptError(f"{self.protocol.name}: a parallel branch may not change the phase")

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
        try:
            results = await self.scheduler.run_all(running, enough)
        finally:
            for branch in branches:
                if not isinstance(branch, Step):
                    branch.close()  # it may not have started
        if late := [i for i, result in enumerate(results) if isinstance(result, Late)]:
            await self.handler.close(key, late, self.where)
        self._check_quorum(results, quorum)
        return [result for result in results if not isinstance(result, Exception)]

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
        if unknown := {need for needs, _ in nodes.values() for need in needs} - nodes.keys():
            raise ScriptError(f"{self.protocol.name}: a graph needs nodes that it lacks: {sorted(unknown)}")

        def node(label: str, needs: Sequence[str], script: Callable[[Mapping[str, T]], Branch[T]]) -> Node[T]:
            def start(results: Mapping[str, T]) -> Coroutine[Any, Any, T]:
                return self.branch(f"{key}.{label}", _contain(self.protocol, partial(script, results)))

            return Node(needs, start)

        results = await self.scheduler.run_graph({label: node(label, *spec) for label, spec in nodes.items()})
        present = {label: r for label, r in zip(nodes, results, strict=True) if not isinstance(r, Exception)}
        self._check_quorum(results, quorum)
        return present

    def _check_quorum(self, results: Sequence[object], quorum: int) -> None:
        absent = [result for result in results if isinstance(result, Exception)]
        answered = len(results) - len(absent)
        if answered < quorum:
            place = f"{self.protocol.name}, {self.where.phase}"
            message = f"{place}: {answered} of {len(results)} answered, {quorum} needed"
            raise NoQuorum(": ".join(filter(None, (message, _reasons(absent)))))


def _reasons(absent: Sequence[Exception]) -> str:
    """Why branches have no result, each reason once with the seats that it holds for."""
    seats: dict[str, list[str]] = {}
    for exc in absent:
        reason, seat = (exc.reason, exc.seat) if isinstance(exc, SeatAbsent) else (str(exc), "")
        seats.setdefault(reason, []).append(seat)
    if len(seats) == 1:
        return next(iter(seats))
    return "; ".join(
        f"{', '.join(filter(None, labels))}: {reason}" if any(labels) else reason
        for reason, labels in seats.items()
    )


class _Concurrent:
    """The scheduler of real runs: every branch is a task of asyncio."""

    async def run_all(
        self, branches: Sequence[Coroutine[Any, Any, T]], enough: Callable[[list[T]], bool] | None
    ) -> list[T | Exception]:
        return await _gather(branches, enough)

    async def run_graph(self, nodes: Mapping[str, Node[T]]) -> list[T | Exception]:
        done = {label: asyncio.get_running_loop().create_future() for label in nodes}

        async def run(label: str, node: Node[T]) -> T:
            try:
                # Without a shield, a future that other nodes await too would be cancelled with this node.
                results = {need: await asyncio.shield(done[need]) for need in node.needs}
                result = await node.start(results)
            except Exception as exc:
                done[label].set_exception(exc)
                done[label].exception()  # marks it as retrieved: this node raises it
                raise
            done[label].set_result(result)
            return result

        return await _gather([run(label, node) for label, node in nodes.items()])


async def _gather(
    branches: Sequence[Awaitable[T]], enough: Callable[[list[T]], bool] | None = None
) -> list[T | Exception]:
    """Return results in order, with `SeatAbsent` or `NoQuorum` in place of a missing one.

    Once the results are `enough`, the other branches get as much time again, at least `GRACE_S`, and are then
    cancelled. A `Halted` is raised after all branches have ended, so that calls in flight, which cost money,
    are recorded; any other exception cancels the other branches and is raised at once.
    """
    tasks = [asyncio.ensure_future(b) for b in branches]
    waiting: set[asyncio.Future[T]] = set(tasks)
    started_at, until = time.monotonic(), math.inf
    try:
        while waiting:
            left = None if until == math.inf else until - time.monotonic()
            done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            if any(_is_fatal(task.exception()) for task in done):
                break
            if enough is not None and until == math.inf and enough(_results(tasks)):
                now = time.monotonic()
                until = now + max(GRACE_S, now - started_at)
    finally:
        for task in waiting:
            task.cancel()
        if waiting:
            # Retrieve their exceptions: asyncio warns about exceptions that are never retrieved.
            await asyncio.gather(*tasks, return_exceptions=True)
    errors = [Late("was not waited for") if task.cancelled() else task.exception() for task in tasks]
    halted = [exc for exc in errors if isinstance(exc, Halted)]
    if stops := [*(exc for exc in errors if exc is not None and _is_fatal(exc)), *halted]:
        raise stops[0]
    return [
        task.result() if exc is None else cast(Exception, exc)
        for task, exc in zip(tasks, errors, strict=True)
    ]


def _is_fatal(exc: BaseException | None) -> bool:
    """Return whether the exception ends the run at once."""
    return exc is not None and not isinstance(exc, SeatAbsent | NoQuorum | Halted)


def _results(tasks: Sequence[asyncio.Future[T]]) -> list[T]:
    return [task.result() for task in tasks if task.done() and task.exception() is None]
