"""Many runs under one name and one cap, each begun once, all stopped together.

Whoever has many questions to put can be killed and begin again from the start: finished runs are read,
unfinished ones are taken up from their journal, and one that failed with its host is tried again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from weakref import WeakValueDictionary

from ..core.events import CallFailed, CallStarted, Event, RunFinished
from ..errors import Diverged, Halted, Interrupted, OutOfBudget
from ..prompts import digest
from .exhaustion import batch_remedy, reason
from .handle import RunHandle
from .result import Result
from .runner import Runner
from .spec import Spec

__all__ = ["Batch", "failure"]

GRACE_S = 10.0
"""How long calls in flight may go on once a batch stops."""


@dataclass(eq=False)
class Batch:
    """name: the beginning of its runs' names, and the `Spec.batch` that their money is counted under;
    None makes every run a fresh one. current: what was answered to other wordings of our prompts is asked
    anew. halted: why nothing more begins. unpriced: whether a run's cost is unknown. Belongs to one event
    loop.
    """

    runner: Runner
    name: str | None = None
    current: bool = False
    halted: Halted | None = None
    unpriced: bool = False
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _live: set[RunHandle] = field(default_factory=set)
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def run(self, spec: Spec) -> tuple[RunHandle, Result]:
        """The run of `spec`, when it has ended; of those that ask the same there is one.

        Raises `Halted` once the batch stops, and as `Runner.once` does.
        """
        turn = self._turns.setdefault(_asked(spec), asyncio.Lock())
        async with turn if self.name else nullcontext():
            self._check()
            handle, result = await self._decided(spec)
        if result.status == "paused" and (why := _stops_all(handle, result)):
            self.halt(why)
        if failure(result) is not None:
            self._check()
        return handle, result

    def halt(self, why: Halted) -> None:
        """Let nothing more begin; what is in flight is still received, for a while."""
        if self.halted is None:
            self.halted = why
            for handle in self._live:
                self._stop(handle)

    def _stop(self, handle: RunHandle) -> None:
        handle.interrupt()
        self.loop.call_later(GRACE_S, handle.kill)

    def kill(self) -> None:
        """Stop at once."""
        self.halt(Interrupted("interrupted"))
        for handle in self._live:
            handle.kill()

    def _check(self) -> None:
        if self.halted is not None:
            # Raised for every question that is left: the same error would gather the frames of all of them.
            raise self.halted.with_traceback(None)

    async def _decided(self, spec: Spec) -> tuple[RunHandle, Result]:
        """The first run for this that is not known to have failed, when it has ended."""
        for n in count(1):
            if self.name is None:
                handle = await self.runner.start(spec)
            else:
                handle = await self.runner.once(spec, f"{self.name}/{_asked(spec)}/{n}")
            past = handle.past
            self._live.add(handle)
            if self.halted is not None:  # while it began
                self._stop(handle)
            try:
                result = await handle.result()
            except Diverged:
                # A prompt has changed since it was begun: what is recorded is no answer to the new one.
                continue
            finally:
                self._live.discard(handle)
            self.unpriced |= result.usage["cost_usd"] is None
            if self.current and _reworded(past):
                continue
            if result.status not in ("failed", "cancelled") or not _worth_another(past):
                return handle, result
        raise AssertionError("unreachable")


def failure(result: Result) -> str | None:
    """Why a run gave no answer; None where it gave one."""
    if result.status not in ("paused", "failed", "cancelled"):
        return None
    return f"{result.status}: {result.detail.get('message') or result.stop_reason}"


def _reworded(past: Sequence[Event]) -> bool:
    """Whether a prompt that was sent is worded otherwise in this version."""
    sent = {(event.prompt_id, event.prompt_sha256) for event in past if isinstance(event, CallStarted)}
    return any(digest(prompt) not in (None, sha256) for prompt, sha256 in sent)


def _worth_another(past: Sequence[Event]) -> bool:
    """Whether a run that had ended before failed for a reason that may be gone: not a model's own silence."""
    last = past[-1] if past else None
    return isinstance(last, RunFinished) and (
        last.status == "cancelled" or any(isinstance(event, CallFailed) for event in past)
    )


def _asked(spec: Spec) -> str:
    """All that decides what is asked of whom; another date or price is no other question."""
    seats = [[seat.model, seat.temperature, seat.role] for seat in spec.seats]
    limits, given = spec.limits, [[one.source, one.answer, one.reasoning] for one in spec.responses]
    parts: list[object] = [spec.protocol, seats, dict(spec.options), spec.seed, spec.question, given]
    parts += [
        limits.temperature,
        limits.max_output_tokens,
        spec.tools,
        spec.tool_turns,
        spec.searches,
        spec.ground,
    ]
    return json.dumps(parts, sort_keys=True)


def _stops_all(handle: RunHandle, result: Result) -> Halted | None:
    """Why nothing else should begin: an interrupt, or a cap that all runs share, not one of its own."""
    event = handle.summary.exhausted
    if result.stop_reason == OutOfBudget.stop_reason and event and not event.scope.startswith("run:"):
        return OutOfBudget(f"{reason(event)}. {batch_remedy(event)}")
    return Interrupted("interrupted") if result.stop_reason == Interrupted.stop_reason else None
