"""Many runs under one name and one cap, each started once, all stopped together.

A process with many questions can be killed and start again from the first: finished runs are read, unfinished
ones continue from their journal, and one that failed because of its host is tried again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from weakref import WeakValueDictionary

from ..core.events import Budget, CallFailed, CallStarted, Event, RunFinished
from ..errors import Diverged, Halted, Interrupted, OutOfBudget
from ..prompts import digest
from .handle import RunHandle
from .result import Result
from .runner import Runner
from .spec import Spec
from .spending.exhaustion import BatchOutOfBudget, batch_remedy, reason

__all__ = ["Batch", "failure", "request_key"]

GRACE_S = 10.0
"""How long calls in flight may continue once a batch stops, in seconds."""


@dataclass(eq=False)
class Batch:
    """The runs of a batch. Belongs to one event loop.

    name: the prefix of its runs' names, and the `Spec.batch` of their account; None: every run is a new one.
    current: ask again where the wording of a prompt has changed since. halted: why no further run starts.
    unpriced: whether the cost of a run is unknown.
    """

    runner: Runner
    name: str | None = None
    current: bool = False
    halted: Halted | None = None
    unpriced: bool = False
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _live: set[RunHandle] = field(default_factory=set)
    _exhausted: Budget | None = None
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def run(self, spec: Spec) -> tuple[RunHandle, Result]:
        """Return the run of `spec` and its result, when it has ended. Equal requests share one run.

        Raises `Halted` once the batch stops, and what `Runner.get_or_start` raises.
        """
        lock = self._locks.setdefault(request_key(spec), asyncio.Lock())
        async with lock if self.name else nullcontext():
            self._check()
            handle, result = await self._finish(spec)
        if result.status == "paused":
            self._halt_with(handle, result)
        if failure(result) is not None:
            self._check()
        return handle, result

    def halt(self, why: Halted) -> None:
        """Start no further run. Replies to calls in flight are still received, for `GRACE_S`."""
        if self.halted is None:
            self.halted = why
            for handle in self._live:
                self._stop(handle)

    def _halt_with(self, handle: RunHandle, result: Result) -> None:
        """Halt after a run that was interrupted, or that found no room under a cap that all runs share."""
        event = handle.summary.exhausted
        if result.stop_reason == Interrupted.stop_reason:
            self.halt(Interrupted("interrupted"))
        elif result.stop_reason == OutOfBudget.stop_reason and event and not event.scope.startswith("run:"):
            if self.halted is None:
                self._exhausted = event
            self.halt(OutOfBudget(f"{reason(event)}. {batch_remedy(event)}"))

    def _stop(self, handle: RunHandle) -> None:
        if self._exhausted is None:
            handle.interrupt()
        else:
            handle.stop(BatchOutOfBudget(self._exhausted))
        self.loop.call_later(GRACE_S, handle.kill)

    def kill(self) -> None:
        """Stop at once, calls in flight included."""
        self.halt(Interrupted("interrupted"))
        for handle in self._live:
            handle.kill()

    def _check(self) -> None:
        if self.halted is not None:
            # Raised for every remaining question: without this the error collects the frames of all of them.
            raise self.halted.with_traceback(None)

    async def _finish(self, spec: Spec) -> tuple[RunHandle, Result]:
        """Return the first run for `spec` that has not failed, when it has ended."""
        for n in count(1):
            if self.name is None:
                handle = await self.runner.start(spec)
            else:
                handle = await self.runner.get_or_start(spec, f"{self.name}/{request_key(spec)}/{n}")
            past = handle.past
            self._live.add(handle)
            if self.halted is not None:  # while it started
                self._stop(handle)
            try:
                result = await handle.result()
            except Diverged:
                # A prompt has changed since the run started: its replies do not answer the new one.
                continue
            finally:
                self._live.discard(handle)
            self.unpriced |= result.usage["cost_usd"] is None
            if self.current and _has_outdated_prompt(past):
                continue
            if result.status not in ("failed", "cancelled") or not _is_worth_repeating(past):
                return handle, result
        raise AssertionError("unreachable")


def failure(result: Result) -> str | None:
    """Return why a run has no answer, or None if it has one."""
    if result.status not in ("paused", "failed", "cancelled"):
        return None
    return f"{result.status}: {result.detail.get('message') or result.stop_reason}"


def _has_outdated_prompt(past: Sequence[Event]) -> bool:
    """Return whether a prompt that was sent has another wording in this version."""
    sent = {(event.prompt_id, event.prompt_sha256) for event in past if isinstance(event, CallStarted)}
    return any(digest(prompt) not in (None, sha256) for prompt, sha256 in sent)


def _is_worth_repeating(past: Sequence[Event]) -> bool:
    """Return whether an earlier run failed for a reason that may be gone, such as a host that was down."""
    last = past[-1] if past else None
    return isinstance(last, RunFinished) and (
        last.status == "cancelled" or any(isinstance(event, CallFailed) for event in past)
    )


def request_key(spec: Spec) -> str:
    """Return a key of all that decides which requests are sent to which models. Dates and prices do not.

    Runs are found by it, those of earlier versions too: options that version 0.1.0 did not have are part of
    it only if they are set.
    """
    limits, responses = spec.limits, [[one.source, one.answer, one.reasoning] for one in spec.responses]
    seats = [
        [seat.model, seat.temperature, seat.role, *_if_set(effort=seat.effort, tokens=seat.thinking_tokens)]
        for seat in spec.seats
    ]
    parts: list[object] = [spec.protocol, seats, dict(spec.options), spec.seed, spec.question, responses]
    parts += [
        limits.temperature,
        limits.max_output_tokens,
        spec.tools,
        spec.tool_turns,
        spec.searches,
        spec.ground,
        *_if_set(
            limits_effort=limits.effort,
            limits_tokens=limits.thinking_tokens,
            phases=dict(limits.phases),
            effort=spec.effort,
            tokens=spec.thinking_tokens,
            efforts_of_phases=dict(spec.efforts_of_phases),
            efforts_of_seats=dict(spec.efforts_of_seats),
            language=spec.language,
            instructions=spec.instructions,
            answer_schema=spec.answer_schema,
            files=[[one.name, one.content] for one in spec.files] or None,
            client_tools=spec.client_tools or None,
            tool_choice=spec.tool_choice,
            parallel_tool_calls=spec.parallel_tool_calls,
            judge=spec.judge and spec.judge.model,
        ),
    ]
    return json.dumps(parts, sort_keys=True)


def _if_set(**options: object) -> list[dict[str, object]]:
    """Return the options that are neither None nor empty as one object, if there are any."""
    found = {name: value for name, value in options.items() if value is not None and value != {}}
    return [found] if found else []
