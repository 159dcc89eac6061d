"""decompose: a plan of subtasks, each answered by an inner protocol as soon as it can be, and a synthesis.

Source of the shape: the decomposition of the `duh` consensus engine. Where PROTOCOLS.md is silent:
- Nobody else plans when the cheapest seat is silent: the question is answered undecomposed, and the result
  says why. So it is after a plan of one subtask, and when no subtask could be answered.
- The planner's questions become the questions of inner runs, on one line each; in every other prompt what it
  wrote is fenced. Subtasks are numbered as the plan lists them.
- A subtask that fails takes those that need it with it; the synthesis is told which are missing.
- A synthesiser that is silent or cut off is replaced by the next strongest; without any, the answers stand
  side by side, verbatim. The confidence of a synthesis is that of the least sure subtask, null where one
  has none; its dissent is that of all subtasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core.answers.extract import final_answer
from ..core.models import strongest
from ..core.parsing.plans import Subtask
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.text import Draft, Material
from ..errors import SeatAbsent
from ..prompts import load
from . import composable
from .shared.subtasks import Answered, answer_all, ask_plan
from .shared.verdict import question

MERGE, PRIORITIZE = load("decompose/merge"), load("decompose/prioritize")

PHASES = Phases(
    (
        Transition(START, "plan", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("plan", "subtasks", "two subtasks or more", lambda f: len(f["plan"]) > 1),
        Transition("plan", "answer", "no plan, or one subtask", lambda f: len(f["plan"]) < 2),
        Transition("subtasks", "synthesis", "a subtask answered", lambda f: f["answered"]),
        Transition("subtasks", "answer", "no subtask answered", lambda f: not f["answered"]),
        Transition("synthesis", "complete", "an answer", lambda f: f["text"].strip()),
        Transition("answer", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def decompose(brief: Brief, panel: Panel) -> Decision:
    options = brief.options
    await panel.enter("plan", question=brief.question)
    plan, problem = await ask_plan(brief, panel, options["max_subtasks"])
    if len(plan) < 2:
        return await _undecomposed(brief, panel, plan, problem or "the question has one part")
    await panel.enter("subtasks", plan=plan)
    answered = await answer_all(brief, panel, plan, protocol=options["inner"], parallel=options["parallel"])
    if not answered:
        return await _undecomposed(brief, panel, plan, "no subtask could be answered")
    beside = "\n\n".join(one.told for one in answered)
    await panel.enter("synthesis", 1, beside, answered=answered)
    reply = await _synthesis(panel, _draft(brief, plan, answered))
    answer = reply.text if reply else beside
    await panel.enter("complete", 1, answer, text=answer)
    sure = [one.decision.confidence for one in answered]
    known = [confidence for confidence in sure if confidence is not None]
    return Decision(
        answer=answer,
        final_answer=final_answer(answer) if reply else None,
        confidence=min(known) if len(known) == len(sure) else None,
        confidence_rule="least sure subtask" if len(known) == len(sure) else None,
        dissent=tuple(against for one in answered for against in one.decision.dissent),
        stop_reason="synthesised" if reply else "no_synthesis",
        detail={
            "decomposed": True,
            "plan": [_planned(task) for task in plan],
            "subtasks": [_told(one) for one in answered],
            "missing": [plan[n - 1].label for n in _missing(plan, answered)],
            "synthesis": options["synthesis"],
            "synthesiser": reply and {"seat": reply.seat.label, "model": reply.seat.model},
        },
    )


async def _undecomposed(brief: Brief, panel: Panel, plan: Sequence[Subtask], why: str) -> Decision:
    """The inner protocol on the original question."""
    await panel.enter("answer", plan=plan, answered=[])
    decision = await panel.run(brief.options["inner"], replace(brief, options={}))
    await panel.enter("complete", answer=decision.answer, text=decision.answer)
    told = {"decomposed": False, "why_not": why, "plan": [_planned(task) for task in plan]}
    return replace(decision, detail={**decision.detail, **told})


def _draft(brief: Brief, plan: Sequence[Subtask], answered: Sequence[Answered]) -> Draft:
    missing = ", ".join(map(str, _missing(plan, answered)))
    fill = {
        "question": question(brief),
        "today": brief.today,
        "results": [Material(f"Subtask {one.number}", one.told) for one in answered],
        "missing": f"Nobody could answer subtask {missing}: say what is open." if missing else "",
    }
    if brief.options["synthesis"] == "merge":
        return MERGE(**fill)
    sure = {one.number: one.decision.confidence for one in answered}
    rated = [f"Subtask {n}: {'not rated' if c is None else format(c, '.2f')}" for n, c in sure.items()]
    return PRIORITIZE(**fill, weights="\n".join(rated))


async def _synthesis(panel: Panel, draft: Draft) -> Reply | None:
    with suppress(SeatAbsent):
        reply = await panel.first(strongest(panel.seats), draft, whole=True)
        return None if reply.truncated else reply
    return None


def _missing(plan: Sequence[Subtask], answered: Sequence[Answered]) -> list[int]:
    return [n for n in range(1, len(plan) + 1) if n not in {one.number for one in answered}]


def _planned(task: Subtask) -> dict[str, Any]:
    return {"label": task.label, "question": task.question, "needs": list(task.needs)}


def _told(one: Answered) -> dict[str, Any]:
    names = ("answer", "final_answer", "status", "confidence", "stop_reason")
    return {"label": one.task.label, **{name: getattr(one.decision, name) for name in names}}


def _calls(scope: Scope) -> tuple[int, int]:
    least, most = scope.inner(scope.options["inner"])
    return 1 + least, 2 + scope.options["max_subtasks"] * most + 1


PROTOCOL = Protocol(
    name="decompose",
    summary="subtasks planned by the cheapest model, answered as soon as their needs are, put together",
    phases=PHASES,
    script=decompose,
    options={
        "inner": Option("consensus", "the protocol that answers each subtask", choices=composable),
        "max_subtasks": Option(7, "the most subtasks", 2, 7),
        "parallel": Option(True, "answer subtasks that need nothing of each other at the same time"),
        "synthesis": Option(
            "merge", "merge all answers, or prioritize by their confidence", choices=("merge", "prioritize")
        ),
    },
    calls=_calls,
    composable=False,
    closing=("synthesis",),
)
