"""auto: the cheapest model classifies the question, and the protocol for its class answers it.

Source: the protocol selector of the `duh` consensus engine. Rules that it leaves open:
- A silent classifier falls back to consensus, as an unreadable one does: routing must stay cheap.
- Without `decompose`, a compound question goes to consensus; that is a route, not a fallback.
- The decision is the inner protocol's, with the route in its detail. It has its own configured options.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.parsing.verdicts import QUESTION_CLASS_FORM, QuestionClass
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.text import Draft
from ..errors import SeatAbsent
from ..prompts import load
from . import expected
from .shared.verdict import ask_verdict

CLASSIFY, CONTEXT = load("auto/classify"), load("context")

PHASES = Phases(
    (
        Transition(START, "classify", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("classify", "answer", "a protocol to run", lambda f: f["protocol"]),
        Transition("answer", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def auto(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("classify", question=brief.question)
    question_class = await _classify(brief, panel)
    protocol = route(question_class, brief.options["decompose"])
    await panel.enter("answer", protocol=protocol)
    decision = await panel.run(protocol, replace(brief, options={}))
    await panel.enter("complete", answer=decision.answer, text=decision.answer)
    routing = {"route": protocol, "class": question_class, "fell_back": question_class is None}
    return replace(decision, detail={**decision.detail, **routing})


def route(question_class: QuestionClass | None, decompose: bool) -> str:
    """Return the protocol for a class of questions; None is a class that could not be read."""
    match question_class:
        case "judgment":
            return "voting"
        case "compound" if decompose:
            return "decompose"
        case _:
            return "consensus"


async def _classify(brief: Brief, panel: Panel) -> QuestionClass | None:
    question: str | Draft = brief.question
    if brief.context:
        question = Draft("", "", (brief.question, "\n\n", CONTEXT(context=brief.context)))
    draft = CLASSIFY(question=question)
    try:
        return (await ask_verdict(panel, panel.cheapest, draft, QUESTION_CLASS_FORM)).value
    except SeatAbsent:
        return None


def _calls(scope: Scope) -> tuple[int, int]:
    routes = ("consensus", "voting", "decompose") if scope.options["decompose"] else ("consensus", "voting")
    bounds = [scope.inner(route) for route in routes]
    return 1 + min(least for least, _ in bounds), 2 + max(most for _, most in bounds)


PROTOCOL = Protocol(
    name="auto",
    summary="the cheapest model classifies the question; consensus, voting or decompose answers it",
    phases=PHASES,
    script=auto,
    options={"decompose": Option(True, "let questions of several dependent parts be decomposed")},
    calls=_calls,
    expected=expected.auto,
    composable=False,
)
