"""Subtasks of a question: the plan, and a protocol run for each as soon as its needs are answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

from ...core.anonymity.mask import mask
from ...core.caching.regex import regex
from ...core.parsing.plans import PLAN_FORM, Subtask, check_plan
from ...core.parsing.verdicts import Unreadable
from ...core.steps import Brief, Decision, Panel, Reply, Step
from ...core.text import Material
from ...errors import NoQuorum, SeatAbsent
from ...prompts import load
from .transcript import Transcript

__all__ = ["SubtaskAnswer", "answer_subtasks", "ask_plan"]

PLAN_PROMPT, REPAIR_PROMPT = load("decompose/plan"), load("decompose/again")
_FENCE = regex(r"<\s*/?\s*(?:question|m[0-9a-f]{10})\b[^<>]*>", re.IGNORECASE)
"""The tags that prompts put around a question and around material; other tags may be part of the question."""
Branch: TypeAlias = "Coroutine[Step[Any], Any, SubtaskAnswer | None]"


@dataclass(frozen=True, slots=True)
class SubtaskAnswer:
    """A subtask and the decision of its inner run. number: from 1, in the order of the plan."""

    number: int
    task: Subtask
    decision: Decision

    def as_text(self) -> str:
        """Return the question and the answer."""
        return f"{self.task.question}\n\n{self.decision.answer}"


async def ask_plan(transcript: Transcript, panel: Panel, most: int) -> tuple[tuple[Subtask, ...], str]:
    """Return the cheapest model's plan of 1 to `most` subtasks; or no subtasks, and the reason.

    An invalid plan is sent back once, with the problem.
    """
    draft = transcript.opening(PLAN_PROMPT(most=str(most)))
    try:
        reply = await panel.ask(panel.cheapest, draft, PLAN_FORM.schema, max_tokens=PLAN_FORM.max_tokens)
        plan, problem = _read(reply, most)
        if problem:
            previous = Material("Your plan", reply.text)
            again = REPAIR_PROMPT(asked=draft, plan=previous, problem=problem)
            second = panel.ask(panel.cheapest, again, PLAN_FORM.schema, max_tokens=PLAN_FORM.max_tokens)
            plan, problem = _read(await second, most)
    except SeatAbsent as exc:
        return (), f"the planner was silent: {exc}"
    return plan, problem


def _read(reply: Reply, most: int) -> tuple[tuple[Subtask, ...], str]:
    if reply.truncated:
        return (), "the plan was cut off before its end: give a shorter one"
    try:
        plan = PLAN_FORM.read(reply)
    except Unreadable as exc:
        return (), str(exc)
    problem = check_plan(plan, most)
    return ((), problem) if problem else (plan, "")


async def answer_subtasks(
    brief: Brief, panel: Panel, plan: Sequence[Subtask], *, protocol: str, parallel: bool
) -> list[SubtaskAnswer]:
    """Return the answers of the subtasks that a run of `protocol` could answer, in the order of the plan.

    parallel: False runs one at a time, in an order that respects the needs.
    """
    # Journal keys use the numbers: the planner's labels are text from a model.
    numbers = {task.label: n for n, task in enumerate(plan, 1)}
    tasks = {task.label: task for task in plan}
    order = list(TopologicalSorter({task.label: task.needs for task in plan}).static_order())
    nodes: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, SubtaskAnswer | None]], Branch]]] = {}
    for place, label in enumerate(order):
        needs = tuple(str(numbers[need]) for need in tasks[label].needs)
        before = () if parallel or not place else (str(numbers[order[place - 1]]),)
        waits = tuple(dict.fromkeys((*needs, *before)))
        nodes[str(numbers[label])] = waits, _node(brief, panel, numbers[label], tasks[label], needs, protocol)
    done = (await panel.graph(nodes, quorum=0)).values()
    return sorted((one for one in done if one is not None), key=lambda one: one.number)


def _node(
    brief: Brief, panel: Panel, number: int, task: Subtask, needs: tuple[str, ...], protocol: str
) -> Callable[[Mapping[str, SubtaskAnswer | None]], Branch]:
    async def answer(results: Mapping[str, SubtaskAnswer | None]) -> SubtaskAnswer | None:
        answers = [results[need] for need in needs]
        # None and no error: without `parallel`, the next subtask waits for this one but may not need it.
        if None in answers:
            return None
        materials = tuple(
            Material(f"Result of subtask {one.number}", one.as_text()) for one in answers if one
        )
        names = tuple(seat.model for seat in panel.seats)
        # The user's question is trusted; a model wrote this one, so model names in it are masked.
        inner_question = mask(" ".join(_FENCE.sub(" ", task.question).split()), names, trusted=brief.question)
        context = (*brief.context, *materials)
        inner = replace(brief, question=inner_question, options={}, context=context, responses=())
        try:
            return SubtaskAnswer(number, task, await panel.run(protocol, inner))
        except (SeatAbsent, NoQuorum):
            return None

    return answer
