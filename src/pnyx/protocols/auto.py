"""auto: a model classifies the question, and the protocol for its class answers it.

Votes come first, and talk where it helps: a checkable answer is voted on and debated only on a split, since
most of what a panel gains is the vote (design/routing.md has the figures). Rules that are left open:
- The vote is the first round of `deliberate` with `early`, so a debate pays for no answer twice.
- The cheapest seat that reads the long prompts classifies. Models with short prompts read questions with a
  short answer as something else too often; where all seats are such, words of the question decide
  (`core.prose.requests`), and without such a word the votes do: all kinds of questions can be voted on.
- A silent classifier falls back to consensus, as an unreadable one does: routing must stay cheap.
- Without `decompose`, a compound question goes to consensus. The inner protocol has its configured options.
- `routing = "classic"` is the protocol selector of the `duh` consensus engine, with its classes.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.models import Seat
from ..core.parsing.verdicts import QUESTION_CLASS_FORM, ROUTING_CLASS_FORM
from ..core.phases import START, Phases, Transition
from ..core.prose.requests import request_kind
from ..core.protocol import Chosen, Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.text import Draft, Material
from ..errors import SeatAbsent
from ..prompts import load
from . import expected
from .shared.evidence import routed_decision
from .shared.routing import Route, Routing
from .shared.verdict import ask_verdict

CONTEXT = load("context")
VOTE_FIRST, CLASSIC = "vote-first", "classic"

PHASES = Phases(
    (
        Transition(START, "classify", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("classify", "answer", "a protocol to run", lambda f: f["protocol"]),
        Transition("answer", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


ROUTINGS = {
    VOTE_FIRST: Routing(
        load("auto/route"),
        ROUTING_CLASS_FORM,
        {
            "checkable": Route("deliberate", {"early": True}),
            "open": Route("consensus"),
            "writing": Route("council", passed={"rounds": "council_rounds"}),
            "compound": Route("decompose"),
        },
    ),
    CLASSIC: Routing(
        load("auto/classify"),
        QUESTION_CLASS_FORM,
        {"reasoning": Route("consensus"), "judgment": Route("voting"), "compound": Route("decompose")},
        any_model=True,
    ),
}


async def auto(brief: Brief, panel: Panel) -> Decision:
    # Runs of 0.1.0 have no such option, and its table.
    routing = ROUTINGS[brief.options.get("routing", CLASSIC)]
    await panel.enter("classify", question=brief.question)
    seat = routing.classifier(panel.by_cost)
    found = request_kind(brief.question) if seat is None else await _classify(brief, panel, seat, routing)
    route = routing.find(found, brief.options["decompose"], seat is None)
    await panel.enter("answer", protocol=route.protocol)
    decision = await panel.run(route.protocol, replace(brief, options=route.settings(brief.options)), True)
    await panel.enter("complete", answer=decision.answer, text=decision.answer)
    routed = {
        "route": route.protocol,
        "class": found,
        "classified_by": "words" if seat is None else "model",
        "fell_back": found is None,
    }
    return routed_decision(decision, route.protocol, routed)


async def _classify(brief: Brief, panel: Panel, seat: Seat, routing: Routing) -> str | None:
    # Of files only the names: the class seldom depends on more, and they can be long.
    names = "\n".join(f"{one.name} ({one.media_type})" for one in brief.files)
    material = (Material("names of the files with it", names), *brief.context) if names else brief.context
    question = Draft("", "", (brief.question, *(("\n\n", CONTEXT(context=material)) if material else ())))
    try:
        verdict = await ask_verdict(panel, seat, routing.prompt(question=question), routing.form)
    except SeatAbsent:
        return None
    return str(verdict.value)


def _routes(scope: Scope) -> list[Chosen]:
    routing = ROUTINGS[scope.options["routing"]]
    small = routing.classifier(scope.seats) is None
    reachable = routing.reachable(scope.options["decompose"], small)
    return [(route.protocol, route.settings(scope.options)) for route in reachable]


def _calls(scope: Scope) -> tuple[int, int]:
    asked = ROUTINGS[scope.options["routing"]].classifier(scope.seats) is not None
    bounds = [scope.inner(*route) for route in _routes(scope)]
    return asked + min(least for least, _ in bounds), 2 * asked + max(most for _, most in bounds)


PROTOCOL = Protocol(
    name="auto",
    summary="classifies the question: a vote, debated on a split, for a short answer; else a debate",
    phases=PHASES,
    script=auto,
    options={
        "decompose": Option(True, "let questions of several dependent parts be decomposed"),
        "council_rounds": Option(3, "the most rounds of a council that it runs", 1, 500),
        "routing": Option(
            VOTE_FIRST,
            "vote-first: a vote for checkable answers, debated on a split; classic: the table of 0.1.0",
            choices=tuple(ROUTINGS),
        ),
    },
    calls=_calls,
    expected=expected.auto,
    routes=_routes,
    presets={"quick": {"decompose": False, "council_rounds": 1}, "deep": {"council_rounds": 10}},
    judged=True,
    composable=False,
)
