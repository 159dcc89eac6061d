"""auto: the cheapest model classes the question, and the protocol for its class answers it.

Source of the shape: the protocol selector of the `duh` consensus engine. Where PROTOCOLS.md is silent:
- A classifier that is silent falls back as one that cannot be read does: routing must stay cheap.
- A compound question goes to consensus where decomposing is not allowed; that is a route and no fallback.
- The decision is the inner protocol's, whole, with the route in its detail; its options are those that are
  configured for it.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.parsing.verdicts import QUESTION_CLASS_FORM, QuestionClass
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..errors import SeatAbsent
from ..prompts import load
from .shared.verdict import ask_verdict, question

CLASSIFY = load("auto/classify")

PHASES = Phases(
    (
        Transition(START, "classify", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("classify", "answer", "a protocol to run", lambda f: f["protocol"]),
        Transition("answer", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def auto(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("classify", question=brief.question)
    found = await _class(brief, panel)
    protocol = route(found, brief.options["decompose"])
    await panel.enter("answer", protocol=protocol)
    decision = await panel.run(protocol, replace(brief, options={}))
    await panel.enter("complete", answer=decision.answer, text=decision.answer)
    routed = {"route": protocol, "class": found, "fell_back": found is None}
    return replace(decision, detail={**decision.detail, **routed})


def route(found: QuestionClass | None, decompose: bool) -> str:
    """The protocol for a class of questions; None is a class that could not be read."""
    match found:
        case "judgment":
            return "voting"
        case "compound" if decompose:
            return "decompose"
        case _:
            return "consensus"


async def _class(brief: Brief, panel: Panel) -> QuestionClass | None:
    draft = CLASSIFY(question=question(brief))
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
    summary="the cheapest model classes the question; consensus, voting or decompose answers it",
    phases=PHASES,
    script=auto,
    options={"decompose": Option(True, "let questions of several dependent parts be decomposed")},
    calls=_calls,
    composable=False,
)
