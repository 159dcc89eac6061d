"""Run the arms of an evaluation: runs of one batch, paired by a shared pool of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from ...core.answers.replies.extract import final_answer
from ...core.answers.same.grouping import MAX_CHARS
from ...core.decision import Given
from ...core.events import PhaseEntered
from ...core.models import total_usd
from ...errors import OutOfBudget, PnyxError
from ...run.batch import Batch, failure
from ...run.handle import RunHandle
from ...run.options.request import RunRequest
from ...run.options.resolve import resolve
from ...run.result import Result
from ...run.spec import Spec
from ..analysis.log import Arm
from ..owners import OWNER
from .arm_names import request_fields, single_arm, takes_responses

__all__ = ["ArmAnswer", "Bench"]


@dataclass(frozen=True, slots=True)
class ArmAnswer:
    """The answer of an arm.

    leading: the leading short answer at the start of each round, and then the decision's. pool: the results
    from the pool that the arm started from.
    """

    result: Result
    leading: tuple[str | None, ...] = ()
    pool: tuple[Result, ...] = ()

    def facts(self) -> dict[str, Any]:
        """The values for the log. Cost, calls, tokens and seconds include those of the pool's results."""
        results = (self.result, *self.pool)
        models = [seat["model"] for seat in self.result.seats]
        sums = {
            name: sum(result.usage[name] for result in results)
            for name in ("calls", "input_tokens", "cached_tokens", "output_tokens")
        }
        return {
            **sums,
            "cost_usd": total_usd(result.usage["cost_usd"] for result in results),
            "seconds": self.result.elapsed_s + max((result.elapsed_s for result in self.pool), default=0.0),
            "run_id": self.result.run_id,
            "failure": failure(self.result),
            "final_answer": self.result.final_answer,
            "confidence": self.result.support,
            "rule": self.result.support_rule,
            "standing": list(self.leading),
            "vote_only": _vote_before_debate(self.result),
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

    panel: different model references. judge: the model that grades free text; None selects the first of the
    panel. samples: question -> the model to sample and how often; set once the pool is complete. observe: is
    called with every answer. pool: question -> model -> result. waiting: ids of runs that stopped at their
    own spending cap; they have no answer yet.
    """

    batch: Batch
    panel: Sequence[str]
    seed: int | None = None
    judge: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    samples: Callable[[str], tuple[str, int]] | None = None
    observe: Callable[[Arm, ArmAnswer], object] = lambda arm, answer: None
    arms: dict[str, Arm] = field(default_factory=dict)
    pool: dict[str, dict[str, Result]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    async def answer(self, arm: Arm, question: str) -> ArmAnswer:
        """The arm's answer. Raises `Halted` if the evaluation stops, `OutOfBudget` at the cap of one run.

        A failed run counts as an empty answer, at its cost. In a batch without a name, where the caller
        decides about retries, it raises `PnyxError` instead.
        """
        if arm.kind != "single":
            for one in self.pool.get(question, {}).values():
                self._check_paid(one)
        pool = self._pool_results(arm, question)
        spec = self._spec(arm, question, pool)
        handle, result = await self.batch.run(spec)
        if arm.kind == "single":
            self.pool.setdefault(question, {})[arm.name] = result
        self._check_paid(result)
        if failure(result) is None:
            leading = await _leading_answers(handle, result)
        elif self.batch.name is None:
            raise _failed(result)
        else:
            leading = ()
        answer = ArmAnswer(result, leading, tuple(pool.values()))
        self.observe(arm, answer)
        return answer

    async def ask_judge(self, prompt: str) -> str:
        """The judge's reply. Raises as `answer` does, and `PnyxError` if its run failed."""
        spec = self._build(prompt, request_fields(single_arm(self.judge or self.panel[0]), ()))
        _, result = await self.batch.run(spec)
        self._check_paid(result)
        if failure(result) is not None:
            raise _failed(result)
        return result.answer

    def _check_paid(self, result: Result) -> None:
        """Raise `OutOfBudget` for a run that is paused at its own cap; a larger cap resumes it."""
        if (result.status, result.stop_reason) == ("paused", OutOfBudget.stop_reason):
            self.waiting.add(result.run_id)
            raise OutOfBudget(f"run {result.run_id} {failure(result)}")

    def _pool_results(self, arm: Arm, question: str) -> dict[str, Result]:
        """The pool's results that the arm starts from, by model; empty if its protocol asks for its own."""
        if not takes_responses(arm):
            return {}
        known = self.pool.get(question, {})
        found = {model: known[model] for model in self.panel if model in known}
        return found if sum(failure(one) is None for one in found.values()) > 1 else {}

    def _spec(self, arm: Arm, question: str, pool: Mapping[str, Result]) -> Spec:
        panel, times = self.panel, 1
        if arm.kind == "samples":
            assert self.samples is not None
            model, times = self.samples(question)
            panel = [model]
        responses = [_response(model, pool.get(model)) for model in panel] if pool else ()
        return self._build(question, request_fields(arm, panel, times=times, responses=responses))

    def _build(self, question: str, fields: Mapping[str, Any]) -> Spec:
        seed = self.seed
        if seed is not None and len(fields["models"]) > 1:
            # With one seed, a model would have the same label and position in every question, and a judge
            # that prefers the first proposal would always prefer that model.
            seed = crc32(f"{seed}/{question}".encode())
        request = RunRequest(question=question, seed=seed, **self.options, **fields)
        return resolve(request, self.batch.runner.settings, owner=OWNER, batch=self.batch.name)


def _failed(result: Result) -> PnyxError:
    return PnyxError(f"run {result.run_id} {failure(result)}")


def _response(model: str, result: Result | None) -> Given:
    """The pool's answer as a response for a protocol; an empty one keeps the position of a silent seat."""
    if result is None or failure(result) is not None:
        return Given("", source=model)
    answer, short = result.answer.strip(), result.final_answer
    if "\n" in answer or short is None or len(answer) > MAX_CHARS:
        return Given(result.answer, source=model)
    return Given(short, source=model)


def _vote_before_debate(result: Result) -> str | None:
    """The short answer that led before the seats read each other; None if there was none.

    `detail.vote_only.answer` may be the name of a group of long texts, so the text decides, where it has one.
    """
    vote = result.detail.get("vote_only")
    if not isinstance(vote, Mapping):
        return None
    answer, text = vote.get("answer"), vote.get("text")
    short = final_answer(text, result.question) if isinstance(text, str) else answer
    return short if isinstance(short, str) else None


async def _leading_answers(handle: RunHandle, result: Result) -> tuple[str | None, ...]:
    """The leading short answer at the start of each round that had one, and then the decision's."""
    events = [event async for event in handle.events()]
    # Protocols inside this one count their own rounds, perhaps on other questions.
    phases = [e for e in events if isinstance(e, PhaseEntered) and e.protocol == result.protocol]
    before: dict[int | None, str] = {}
    for event in phases[:-1]:
        if event.answer:
            before.setdefault(event.round, event.answer)
    return (*(final_answer(text, result.question) for text in before.values()), result.final_answer)
