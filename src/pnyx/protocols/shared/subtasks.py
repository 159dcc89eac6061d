"""Subtasks of a question: asked for as a plan, and answered each by a protocol as soon as its needs are."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

from ...core.anonymity.mask import mask
from ...core.parsing.plans import PLAN_FORM, Subtask, check_plan
from ...core.parsing.verdicts import Unreadable
from ...core.regex import regex
from ...core.steps import Brief, Decision, Panel, Reply, Step
from ...core.text import Material
from ...errors import NoQuorum, SeatAbsent
from ...prompts import load
from .verdict import question

__all__ = ["Answered", "answer_all", "ask_plan"]

PLAN_PROMPT, AGAIN = load("decompose/plan"), load("decompose/again")
_FENCE = regex(r"<\s*/?\s*(?:question|m[0-9a-f]{10})\b[^<>]*>", re.IGNORECASE)
"""What prompts put around a question and around material; any other tag may be what is asked about."""
Branch: TypeAlias = "Coroutine[Step[Any], Any, Answered | None]"


@dataclass(frozen=True, slots=True)
class Answered:
    """A subtask and what its inner run came to. number: from 1, in the order of the plan."""

    number: int
    task: Subtask
    decision: Decision

    @property
    def told(self) -> str:
        return f"{self.task.question}\n\n{self.decision.answer}"


async def ask_plan(brief: Brief, panel: Panel, most: int) -> tuple[tuple[Subtask, ...], str]:
    """The cheapest model's plan of 1 to `most` subtasks; or none, and why.

    A plan that cannot be carried out is sent back once, with the reason.
    """
    draft = PLAN_PROMPT(question=question(brief), today=brief.today, most=str(most))
    try:
        reply = await panel.ask(panel.cheapest, draft, PLAN_FORM.schema)
        plan, problem = _read(reply, most)
        if problem:
            said = Material("Your plan", reply.text)
            again = AGAIN(asked=draft, plan=said, problem=problem)
            plan, problem = _read(await panel.ask(panel.cheapest, again, PLAN_FORM.schema), most)
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


async def answer_all(
    brief: Brief, panel: Panel, plan: Sequence[Subtask], *, protocol: str, parallel: bool
) -> list[Answered]:
    """The subtasks that could be answered, in the order of the plan, each by a run of `protocol`.

    parallel: False runs one at a time, in an order that respects the needs.
    """
    # What the planner called them is no key for a journal; their numbers are.
    numbers = {task.label: n for n, task in enumerate(plan, 1)}
    tasks = {task.label: task for task in plan}
    order = list(TopologicalSorter({task.label: task.needs for task in plan}).static_order())
    nodes: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Answered | None]], Branch]]] = {}
    for place, label in enumerate(order):
        needs = tuple(str(numbers[need]) for need in tasks[label].needs)
        before = () if parallel or not place else (str(numbers[order[place - 1]]),)
        waits = tuple(dict.fromkeys((*needs, *before)))
        nodes[str(numbers[label])] = waits, _node(brief, panel, numbers[label], tasks[label], needs, protocol)
    done = (await panel.graph(nodes, quorum=0)).values()
    return sorted((one for one in done if one is not None), key=lambda one: one.number)


def _node(
    brief: Brief, panel: Panel, number: int, task: Subtask, needs: tuple[str, ...], protocol: str
) -> Callable[[Mapping[str, Answered | None]], Branch]:
    async def answer(given: Mapping[str, Answered | None]) -> Answered | None:
        known = [given[need] for need in needs]
        # None instead of an error: one at a time, the next subtask waits for this one without needing it.
        if None in known:
            return None
        results = tuple(Material(f"Result of subtask {one.number}", one.told) for one in known if one)
        names = tuple(seat.model for seat in panel.seats)
        # A question is trusted where it is asked; this one a model wrote.
        asked = mask(" ".join(_FENCE.sub(" ", task.question).split()), names, trusted=brief.question)
        context = (*brief.context, *results)
        inner = replace(brief, question=asked, options={}, context=context, responses=())
        try:
            return Answered(number, task, await panel.run(protocol, inner))
        except (SeatAbsent, NoQuorum):
            return None

    return answer
