"""Where the arms of an evaluation answer: runs of one batch, paired by a shared pool of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from ...core.answers.extract import final_answer
from ...core.answers.grouping import MAX_CHARS
from ...core.decision import Given
from ...core.events import PhaseEntered
from ...errors import OutOfBudget, PnyxError
from ...run.batch import Batch, failure
from ...run.handle import RunHandle
from ...run.request import RunRequest
from ...run.resolve import resolve
from ...run.result import Result
from ...run.spec import Spec
from ..analysis.learning import OWNER
from ..analysis.log import Arm
from .arm_names import request, single_arm, takes_given

__all__ = ["Bench", "Told"]


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
    """The answers of one evaluation.

    panel: model references, each once. samples: question -> the model to sample for it and how often, known
    once the pool is. observe: told of every answer. waiting: ids of the runs that wait for a larger cap of
    their own, and are no answers yet.
    """

    batch: Batch
    panel: Sequence[str]
    seed: int | None = None
    judge: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    samples: Callable[[str], tuple[str, int]] | None = None
    observe: Callable[[Arm, Told], object] = lambda arm, told: None
    arms: dict[str, Arm] = field(default_factory=dict)
    pool: dict[str, dict[str, Result]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    async def answer(self, arm: Arm, question: str) -> Told:
        """The arm's answer. Raises `Halted` once the evaluation stops, and where a run may not cost enough.

        A run that failed is the arm's answer too, an empty one, with what it cost; without a name, where
        somebody else decides what is tried again, it raises `PnyxError`.
        """
        if arm.kind != "single":
            for one in self.pool.get(question, {}).values():
                self._check_paid(one)
        given = self._given(arm, question)
        spec = self._spec(arm, question, given)
        handle, result = await self.batch.run(spec)
        if arm.kind == "single":
            self.pool.setdefault(question, {})[arm.name] = result
        self._check_paid(result)
        if failure(result) is None:
            standing = await _standing(handle, result)
        elif self.batch.name is None:
            raise _failed(result)
        else:
            standing = ()
        told = Told(result, standing, tuple(given.values()))
        self.observe(arm, told)
        return told

    async def ask_judge(self, prompt: str) -> str:
        """What the judge replies."""
        spec = self._build(prompt, request(single_arm(self.judge or self.panel[0]), ()))
        _, result = await self.batch.run(spec)
        self._check_paid(result)
        if failure(result) is not None:
            raise _failed(result)
        return result.answer

    def _check_paid(self, result: Result) -> None:
        """Raises `OutOfBudget` for a run that stands at its own cap, which a larger one takes up again."""
        if (result.status, result.stop_reason) == ("paused", OutOfBudget.stop_reason):
            self.waiting.add(result.run_id)
            raise OutOfBudget(f"run {result.run_id} {failure(result)}")

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
        chance = self.seed
        if chance is not None and len(asked["models"]) > 1:
            # Of one seed a model would have the same label and place in every question, and whoever favours
            # the first of several would always favour that model.
            chance = crc32(f"{chance}/{question}".encode())
        request = RunRequest(question=question, seed=chance, **self.options, **asked)
        return resolve(request, self.batch.runner.settings, owner=OWNER, batch=self.batch.name)


def _failed(result: Result) -> PnyxError:
    return PnyxError(f"run {result.run_id} {failure(result)}")


def _response(model: str, result: Result | None) -> Given:
    """The pool's answer as it is handed to a protocol; an empty one keeps the place of a silent seat."""
    if result is None or failure(result) is not None:
        return Given("", source=model)
    answer, short = result.answer.strip(), result.final_answer
    if "\n" in answer or short is None or len(answer) > MAX_CHARS:
        return Given(result.answer, source=model)
    return Given(short, source=model)


async def _standing(handle: RunHandle, result: Result) -> tuple[str | None, ...]:
    """The short answers that stood when each round began, where there was one, and the decision's."""
    past = [event async for event in handle.events()]
    # Protocols that run inside this one count rounds of their own, on other questions perhaps.
    own = [e for e in past if isinstance(e, PhaseEntered) and e.protocol == result.protocol]
    before: dict[int | None, str] = {}
    for event in own[:-1]:
        if event.answer:
            before.setdefault(event.round, event.answer)
    return (*map(final_answer, before.values()), result.final_answer)
