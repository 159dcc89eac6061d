"""decompose: a plan of subtasks, an inner run for each as soon as its needs are answered, and a synthesis.

Source: the decomposition of the `duh` consensus engine. Rules that it leaves open:
- Only the cheapest seat plans. Without a plan, or an answered subtask, the inner protocol answers it all.
- The planner's questions become those of inner runs, on one line each; other prompts fence what it wrote.
- If a subtask fails, those that need it are skipped; the prompt of the synthesis lists the missing ones.
- The next strongest seat replaces a synthesiser that is silent or cut off. Without one, all answers are
  joined, verbatim. Support is the lowest of all subtasks, None if one has none; dissent joins theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core.answers.replies.extract import final_answer
from ..core.models import strongest
from ..core.parsing.plans import Subtask
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.text import Draft
from ..errors import SeatAbsent
from ..prompts import load
from . import composable, expected
from .shared.evidence import routed_decision
from .shared.subtasks import SubtaskAnswer, answer_subtasks, ask_plan
from .shared.transcript import Transcript

SYSTEM = load("decompose/system")
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
    await panel.enter("plan", question=brief.question)
    transcript = Transcript(brief, panel, SYSTEM)
    plan, problem = await ask_plan(transcript, panel, brief.options["max_subtasks"])
    if len(plan) < 2:
        return await _undecomposed(brief, panel, plan, problem or "the question has one part")
    await panel.enter("subtasks", plan=plan)
    inner, parallel = brief.options["inner"], brief.options["parallel"]
    answers = await answer_subtasks(brief, panel, plan, protocol=inner, parallel=parallel)
    if not answers:
        return await _undecomposed(brief, panel, plan, "no subtask could be answered")
    joined = "\n\n".join(one.as_text() for one in answers)
    await panel.enter("synthesis", 1, joined, answered=answers)
    reply = await _synthesis(panel, _draft(transcript, plan, answers, brief.options["synthesis"]))
    answer = reply.text if reply else joined
    await panel.enter("complete", 1, answer, text=answer)
    known = [share for one in answers if (share := one.decision.support) is not None]
    return Decision(
        answer=answer,
        final_answer=final_answer(answer, brief.question) if reply else None,
        support=min(known) if len(known) == len(answers) else None,
        support_rule="least supported subtask" if len(known) == len(answers) else None,
        dissent=tuple(against for one in answers for against in one.decision.dissent),
        stop_reason="synthesised" if reply else "no_synthesis",
        detail={
            "decomposed": True,
            "plan": [_plan_fields(task) for task in plan],
            "subtasks": [_answer_fields(one) for one in answers],
            "missing": [plan[n - 1].label for n in _missing(plan, answers)],
            "synthesis": brief.options["synthesis"],
            "synthesiser": reply and {"seat": reply.seat.label, "model": reply.seat.model},
        },
    )


async def _undecomposed(brief: Brief, panel: Panel, plan: Sequence[Subtask], why: str) -> Decision:
    """Return the decision of the inner protocol on the original question."""
    await panel.enter("answer", plan=plan, answered=[])
    decision = await panel.run(brief.options["inner"], replace(brief, options={}), closing=True)
    await panel.enter("complete", answer=decision.answer, text=decision.answer)
    detail = {"decomposed": False, "why_not": why, "plan": [_plan_fields(task) for task in plan]}
    return routed_decision(decision, brief.options["inner"], detail)


def _draft(
    transcript: Transcript, plan: Sequence[Subtask], answers: Sequence[SubtaskAnswer], synthesis: str
) -> Draft:
    shown = [transcript.add(f"Subtask {one.number}", one.as_text()) for one in answers]
    numbers = ", ".join(map(str, _missing(plan, answers)))
    missing = f"Nobody could answer subtask {numbers}: say what is open." if numbers else ""
    if synthesis == "merge":
        return transcript.task(MERGE(missing=missing), shown)
    rated = {one.number: one.decision.support for one in answers}
    ratings = [f"Subtask {n}: {'not rated' if c is None else format(c, '.2f')}" for n, c in rated.items()]
    return transcript.task(PRIORITIZE(missing=missing, weights="\n".join(ratings)), shown)


async def _synthesis(panel: Panel, draft: Draft) -> Reply | None:
    with suppress(SeatAbsent):
        reply = await panel.first(panel.closers(strongest(panel.seats)), draft, whole=True, closing=True)
        return None if reply.truncated else reply
    return None


def _missing(plan: Sequence[Subtask], answers: Sequence[SubtaskAnswer]) -> list[int]:
    return [n for n in range(1, len(plan) + 1) if n not in {one.number for one in answers}]


def _plan_fields(task: Subtask) -> dict[str, Any]:
    return {"label": task.label, "question": task.question, "needs": list(task.needs)}


def _answer_fields(one: SubtaskAnswer) -> dict[str, Any]:
    names = ("answer", "final_answer", "status", "support", "stop_reason")
    return {"label": one.task.label, **{name: getattr(one.decision, name) for name in names}}


def _calls(scope: Scope) -> tuple[int, int]:
    least, most = scope.inner(scope.options["inner"])
    return 1 + least, 2 + scope.options["max_subtasks"] * most + 1


PROTOCOL = Protocol(
    name="decompose",
    summary="the cheapest model plans subtasks; each is answered once its needs are, then combined",
    phases=PHASES,
    script=decompose,
    options={
        "inner": Option("consensus", "the protocol that answers each subtask", choices=composable),
        "max_subtasks": Option(7, "the most subtasks", 2, 7),
        "parallel": Option(True, "answer subtasks that need nothing of each other at the same time"),
        "synthesis": Option(
            "merge", "merge all answers, or prioritize by their support", choices=("merge", "prioritize")
        ),
    },
    calls=_calls,
    expected=expected.decompose,
    presets={"quick": {"max_subtasks": 3, "inner": "single"}, "deep": {"max_subtasks": 7}},
    judged=True,
    composable=False,
    closing=("synthesis",),
)
