"""Where the arms of an evaluation answer: runs of the one runner, paired by a shared pool of answers.

Every answer is a run with a name of its own, so an evaluation that was killed begins again from the start
and finds what it has: finished runs are read, unfinished ones taken up from their journal. A run that failed
is tried again by the next evaluation.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from ..core.answers import final_answer
from ..core.decision import Given
from ..core.events import CallFailed, Event, PhaseEntered, RunFinished
from ..core.grouping import LONGEST
from ..errors import Diverged, Halted, Interrupted, OutOfBudget, PnyxError
from ..run.handle import RunHandle
from ..run.request import build
from ..run.result import Result
from ..run.runner import Runner
from ..run.spec import Spec
from ..store import runs as store
from .learning import OWNER
from .log import Arm
from .naming import request, single_arm, takes_given

__all__ = ["Bench", "Told", "failure"]

GRACE_S = 10.0
"""How long calls in flight may go on once the evaluation stops."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an arm answered: a result, the short answers that stood one after another, what the pool gave."""

    result: Result
    standing: tuple[str | None, ...] = ()
    given: tuple[Result, ...] = ()

    def facts(self) -> dict[str, Any]:
        """What the log wants of it, as plain values; cost, calls and tokens with those of the pool's part."""
        all_of = (self.result, *self.given)
        costs = [one.usage["cost_usd"] for one in all_of]
        models = [seat["model"] for seat in self.result.seats]
        sums = {
            name: sum(one.usage[name] for one in all_of)
            for name in ("calls", "input_tokens", "cached_tokens", "output_tokens")
        }
        return {
            **sums,
            "cost_usd": None if None in costs else sum(costs),
            "seconds": self.result.elapsed_s + max((one.elapsed_s for one in self.given), default=0.0),
            "run_id": self.result.run_id,
            "failure": failure(self.result),
            "final_answer": self.result.final_answer,
            "confidence": self.result.confidence,
            "rule": self.result.confidence_rule,
            "standing": list(self.standing),
            "detail": {
                "status": self.result.status,
                "stop_reason": self.result.stop_reason,
                "rounds": self.result.rounds,
                **({"model": models[0]} if len(models) == 1 else {"models": models}),
                "degraded": self.result.degraded,
            },
        }


@dataclass(eq=False)
class Bench:
    """The runs of one evaluation.

    name: of the batch that its money is counted under, and the beginning of its runs' names; None gives each
    answer a fresh run. panel: model references, each once. samples: question -> the model to sample for it
    and how often, known once the pool is. observe: told of every answer.
    """

    runner: Runner
    panel: Sequence[str]
    name: str | None = None
    seed: int | None = None
    judge: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    samples: Callable[[str], tuple[str, int]] | None = None
    observe: Callable[[Arm, Told], object] = lambda arm, told: None
    arms: dict[str, Arm] = field(default_factory=dict)
    pool: dict[str, dict[str, Result]] = field(default_factory=dict)
    halted: Halted | None = None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _live: set[RunHandle] = field(default_factory=set)
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def answer(self, arm: Arm, question: str) -> Told:
        """The arm's answer. Raises `Halted` once the evaluation stops.

        A run that failed is the arm's answer too, an empty one, with what it cost; without a name, where
        somebody else decides what is tried again, it raises `PnyxError`.
        """
        given = self._given(arm, question)
        spec = self._spec(arm, question, given)
        handle, result = await self._run(spec)
        if failure(result) is None:
            standing = await _standing(handle, result)
        elif self.name is None:
            raise _failed(result)
        else:
            standing = ()
        if arm.kind == "single":
            self.pool.setdefault(question, {})[arm.name] = result
        told = Told(result, standing, tuple(given.values()))
        self.observe(arm, told)
        return told

    async def ask_judge(self, prompt: str) -> str:
        """What the judge replies."""
        spec = self._build(prompt, request(single_arm(self.judge or self.panel[0]), ()))
        _, result = await self._run(spec)
        if failure(result) is not None:
            raise _failed(result)
        return result.answer

    def halt(self, why: Halted) -> None:
        """Let nothing more begin; what is in flight is still received, for a while."""
        if self.halted is None:
            self.halted = why
            for handle in self._live:
                handle.interrupt()
                self.loop.call_later(GRACE_S, handle.kill)

    def kill(self) -> None:
        """Stop at once."""
        self.halt(Interrupted("interrupted"))
        for handle in self._live:
            handle.kill()

    def _check(self) -> None:
        if self.halted is not None:
            raise self.halted

    def _given(self, arm: Arm, question: str) -> dict[str, Result]:
        """The pool's answers that the arm begins with, where its protocol takes such, by model."""
        if not takes_given(arm):
            return {}
        known = self.pool.get(question, {})
        found = {model: known[model] for model in self.panel if model in known}
        return found if sum(failure(one) is None for one in found.values()) > 1 else {}

    def _spec(self, arm: Arm, question: str, given: Mapping[str, Result]) -> Spec:
        panel, times = self.panel, 1
        if arm.kind == "samples":
            assert self.samples is not None
            model, times = self.samples(question)
            panel = [model]
        responses = [_response(model, given.get(model)) for model in panel] if given else ()
        return self._build(question, request(arm, panel, times=times, given=responses))

    def _build(self, question: str, asked: Mapping[str, Any]) -> Spec:
        own: dict[str, Any] = {"owner": OWNER, "batch": self.name, "seed": self.seed}
        return build(self.runner.settings, question, **own, **self.options, **asked)

    async def _run(self, spec: Spec) -> tuple[RunHandle, Result]:
        # Of questions that are the same the first is asked, and the others read what it was answered.
        turn = self._turns.setdefault(_asked(spec), asyncio.Lock())
        async with turn if self.name else nullcontext():
            self._check()
            handle, result = await self._decided(spec)
        if result.status == "paused" and (why := _stops_all(handle, result)):
            self.halt(why)
        if failure(result) is not None:
            self._check()
        return handle, result

    async def _decided(self, spec: Spec) -> tuple[RunHandle, Result]:
        """The first run for this question that is not known to have failed, when it has ended."""
        for n in count(1):
            if self.name is None:
                handle = await self.runner.start(spec)
            else:
                handle = await self.runner.once(spec, f"{self.name}/{_asked(spec)}/{n}")
            past = handle.past
            self._live.add(handle)
            try:
                result = await handle.result()
            except Diverged:
                # A prompt has changed since it was begun: what is recorded is no answer to the new one.
                continue
            finally:
                self._live.discard(handle)
            if result.status not in ("failed", "cancelled") or not _worth_another(past):
                return handle, result
        raise AssertionError("unreachable")


def failure(result: Result) -> str | None:
    """Why a run gave no answer; None where it gave one."""
    if result.status not in ("paused", "failed", "cancelled"):
        return None
    return f"{result.status}: {result.detail.get('message') or result.stop_reason}"


def _failed(result: Result) -> PnyxError:
    return PnyxError(f"run {result.run_id} {failure(result)}")


def _worth_another(past: Sequence[Event]) -> bool:
    """Whether a run that had ended before failed for a reason that may be gone: not a model's own silence."""
    last = past[-1] if past else None
    return isinstance(last, RunFinished) and (
        last.status == "cancelled" or any(isinstance(event, CallFailed) for event in past)
    )


def _asked(spec: Spec) -> str:
    """All that decides what is asked of whom; another date or price is no other question."""
    seats = [[seat.model, seat.temperature] for seat in spec.seats]
    limits, given = spec.limits, [[one.source, one.answer, one.reasoning] for one in spec.responses]
    parts: list[object] = [spec.protocol, seats, dict(spec.options), spec.seed, spec.question, given]
    parts += [limits.temperature, limits.max_output_tokens, spec.tools, spec.tool_turns, spec.searches]
    return json.dumps(parts, sort_keys=True)


def _response(model: str, result: Result | None) -> Given:
    """The pool's answer as it is handed to a protocol; an empty one keeps the place of a silent seat."""
    if result is None or failure(result) is not None:
        return Given("", source=model)
    answer, short = result.answer.strip(), result.final_answer
    if "\n" in answer or short is None or len(answer) > LONGEST:
        return Given(result.answer, source=model)
    return Given(short, source=model)


def _stops_all(handle: RunHandle, result: Result) -> Halted | None:
    """Why nothing else should begin: an interrupt, or a cap that all runs share, not one of its own."""
    scope = handle.summary.exhausted or "run:"
    if result.stop_reason == OutOfBudget.stop_reason and not scope.startswith("run:"):
        return OutOfBudget(str(result.detail.get("message", "")))
    return Interrupted("interrupted") if result.stop_reason == Interrupted.stop_reason else None


async def _standing(handle: RunHandle, result: Result) -> tuple[str | None, ...]:
    """The short answers that stood when each round began, where there was one, and the decision's."""
    past = await handle.database.read(lambda c: store.log(c, handle.run_id))
    # Protocols that run inside this one count rounds of their own, on other questions perhaps.
    own = [e for e in past if isinstance(e, PhaseEntered) and e.protocol == result.protocol]
    before: dict[int | None, str] = {}
    for event in own[:-1]:
        if event.answer:
            before.setdefault(event.round, event.answer)
    return (*map(final_answer, before.values()), result.final_answer)
