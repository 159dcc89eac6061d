"""consensus: propose, challenge from fixed angles, revise, commit, until the challenges repeat.

Source: the `duh` consensus engine (phases, framings, rigor, convergence). Rules that it leaves open: the next
strongest seat replaces a silent proposer, the next in rank that did not propose a silent challenger; on a
panel smaller than `challengers` the proposer's own seat challenges last; the decision's rigor and dissent are
those of the last round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from ..core.answers.extract import final_answer
from ..core.convergence import overlap
from ..core.models import strongest
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Dissent, Panel, Reply
from ..core.sycophancy.detect import find_praise, has_objection
from ..core.text import Material
from ..prompts import load
from . import expected
from .shared.challenge import ask_challenges
from .shared.verdict import question_draft

PROPOSE, PROPOSE_AGAIN = load("consensus/propose"), load("consensus/propose-again")
CHALLENGE, REVISE = load("consensus/challenge"), load("consensus/revise")
FRAMINGS = [load(f"consensus/{angle}") for angle in ("flaw", "alternative", "risk", "advocate")]
CAPS = {"factual": 0.95, "technical": 0.90, "creative": 0.85, "judgment": 0.80, "strategic": 0.70}

PHASES = Phases(
    (
        Transition(START, "propose", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("propose", "challenge", "a proposal", lambda f: f["proposal"].strip()),
        Transition("challenge", "revise", "challenges", lambda f: f["challenges"]),
        Transition("revise", "commit", "a revision", lambda f: f["revision"].strip()),
        Transition("commit", "propose", "a round left and no convergence", lambda f: not _over(f)),
        Transition("commit", "complete", "convergence or no round left", lambda f: _over(f)),
    )
)


def _over(facts: Mapping[str, Any]) -> bool:
    return bool(facts["converged"]) or facts["committed"] >= facts["rounds"]


async def consensus(brief: Brief, panel: Panel) -> Decision:
    question, rounds = question_draft(brief), brief.options["rounds"]
    # A seat that may not propose does so only if all others are silent.
    seats = tuple(sorted(strongest(panel.seats), key=lambda seat: not seat.proposer_eligible))
    answer, converged, challenges, overlaps = "", False, list[Reply](), list[float]()
    for n in range(1, rounds + 1):
        facts = {"converged": converged, "committed": n - 1, "rounds": rounds}
        await panel.enter("propose", n, answer or None, question=brief.question, **facts)
        draft = PROPOSE(question=question, today=brief.today)
        if answer:
            previous = Material("Answer", answer)
            draft = PROPOSE_AGAIN(
                question=question, today=brief.today, previous=previous, challenges=_materials(challenges)
            )
        proposal = await panel.first(seats, draft, tools=True)
        proposed = Material("Proposal", proposal.text)

        await panel.enter("challenge", n, answer or proposal.text, proposal=proposal.text)
        last = challenges
        drafts = [
            CHALLENGE(question=question, proposal=proposed, framing=framing())
            for framing in islice(cycle(FRAMINGS), brief.options["challengers"])
        ]
        challenges = await ask_challenges(panel, proposal.seat, drafts)

        await panel.enter("revise", n, answer or proposal.text, challenges=challenges)
        revisers = tuple(dict.fromkeys((proposal.seat, *seats)))
        revision = await panel.first(
            revisers, REVISE(question=question, proposal=proposed, challenges=_materials(challenges))
        )

        answer = revision.text
        await panel.enter("commit", n, answer, revision=answer)
        overlaps.append(overlap([c.text for c in challenges], [c.text for c in last]) if last else 0.0)
        converged = bool(last) and overlaps[-1] >= brief.options["threshold"]
        if converged:
            break
    await panel.enter("complete", n, answer, converged=converged, committed=n, rounds=rounds)

    flagged = [find_praise(c.text) for c in challenges]
    rigor = 0.5 + 0.5 * flagged.count(None) / len(challenges)
    kind, authors = brief.options["kind"], {r.seat for r in (proposal, revision, *challenges)}
    rule = f"rigor capped for {kind} questions" if kind else "rigor"
    return Decision(
        answer=answer,
        status="consensus" if converged else "decided",
        final_answer=final_answer(answer),
        confidence=min(rigor, CAPS.get(kind, 1.0)) if len(authors) > 1 else None,
        confidence_rule=rule if len(authors) > 1 else None,
        rigor=rigor,
        dissent=_dissent(challenges, flagged),
        rounds=n,
        consensus_reached=converged,
        converged=converged,
        stop_reason="converged" if converged else "max_rounds",
        detail={"overlap": overlaps, "challenges": list(map(_challenge_fields, challenges, flagged))},
    )


def _materials(challenges: Sequence[Reply]) -> list[Material]:
    return [Material(c.seat.label, c.text) for c in challenges]


def _dissent(challenges: Sequence[Reply], flagged: Sequence[str | None]) -> tuple[Dissent, ...]:
    """Return the challenges that object. Praise lowers rigor, but the objection after it is still dissent."""
    pairs = zip(challenges, flagged, strict=True)
    objecting = [challenge for challenge, praise in pairs if not praise or has_objection(challenge.text)]
    return tuple(Dissent(one.seat.label, one.seat.model, one.text) for one in objecting)


def _challenge_fields(challenge: Reply, flagged: str | None) -> dict[str, Any]:
    framing = challenge.ask.prompt.id.rpartition("/")[2].removesuffix(".short")
    return {"seat": challenge.seat.label, "framing": framing, "flagged": flagged}


def _calls(scope: Scope) -> tuple[int, int]:
    rounds = scope.options["rounds"]
    per_round = 2 + min(scope.options["challengers"], len(scope.seats))
    return min(2, rounds) * per_round, rounds * per_round


PROTOCOL = Protocol(
    name="consensus",
    summary="one proposes, others challenge, it revises; until the challenges repeat",
    phases=PHASES,
    script=consensus,
    options={
        "rounds": Option(3, "the most rounds", 1, 20),
        "challengers": Option(2, "seats that challenge each proposal", 1, 26),
        "threshold": Option(0.7, "mean word overlap of challenges at which the debate has converged", 0, 1),
        "kind": Option("", "the question's kind, which caps confidence", choices=("", *CAPS)),
    },
    calls=_calls,
    expected=expected.consensus,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 6, "challengers": 4}},
)
