"""consensus: propose, challenge from fixed angles, revise, commit, until the challenges repeat.

Source: the `duh` consensus engine (phases, framings, rigor, convergence). Rules that it leaves open: the next
strongest seat replaces a silent proposer, the next in rank that did not propose a silent challenger; on a
panel smaller than `challengers` the proposer's own seat challenges last; rigor and dissent: the last round's.
`detail.vote_only` is the first proposal, one vote: the answer if nobody had challenged it.
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
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.sycophancy.detect import find_praise
from ..prompts import load
from . import expected
from .shared.challenge import ask_challenges, objections, same_cache
from .shared.poll import Poll
from .shared.transcript import Transcript, quoted

SYSTEM = load("consensus/system")
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
    transcript, rounds = Transcript(brief, panel, SYSTEM), brief.options["rounds"]
    # A seat that may not propose does so only if all others are silent.
    seats = tuple(sorted(strongest(panel.seats), key=lambda seat: not seat.proposer_eligible))
    answer, converged, challenges, overlaps = "", False, list[Reply](), list[float]()
    open_points, proposals, firsts = list[str](), list[str](), list[Reply]()
    for n in range(1, rounds + 1):
        facts = {"converged": converged, "committed": n - 1, "rounds": rounds}
        await panel.enter("propose", n, answer or None, question=brief.question, **facts)
        transcript.trim(open_points)
        again = open_points and PROPOSE_AGAIN(answer=open_points[-1], challenges=quoted(open_points[:-1]))
        proposal = await panel.first(seats, transcript.task(again or PROPOSE(), open_points), tools=True)
        firsts = firsts or [proposal]
        proposed = transcript.add(f"Proposal of round {n}", proposal.text)
        proposals.append(proposed)

        await panel.enter("challenge", n, answer or proposal.text, proposal=proposal.text)
        last, shown = challenges, None if same_cache(panel, brief.options["challengers"]) else proposals
        drafts = [
            transcript.task(CHALLENGE(proposal=proposed, framing=framing()), [proposed], shown=shown)
            for framing in islice(cycle(FRAMINGS), brief.options["challengers"])
        ]
        challenges = await ask_challenges(panel, proposal.seat, drafts)
        texts = {challenge.seat.label: challenge.text for challenge in challenges}
        open_points = list(transcript.add_all(f"Challenge of round {n}", texts).values())

        await panel.enter("revise", n, answer or proposal.text, challenges=challenges)
        revisers = tuple(dict.fromkeys((proposal.seat, *seats)))
        draft = REVISE(proposal=proposed, challenges=quoted(open_points))
        revision = await panel.first(revisers, transcript.task(draft, [proposed, *open_points]))
        open_points.append(transcript.add(f"Answer of round {n}", revision.text))

        answer = revision.text
        await panel.enter("commit", n, answer, revision=answer)
        overlaps.append(overlap([c.text for c in challenges], [c.text for c in last]) if last else 0.0)
        converged = bool(last) and overlaps[-1] >= brief.options["threshold"]
        if converged:
            break
    await panel.enter("complete", n, answer, converged=converged, committed=n, rounds=rounds)

    flagged = [find_praise(c.text) for c in challenges]
    rigor = 0.5 + 0.5 * flagged.count(None) / len(challenges)
    listed = list(map(_challenge_fields, challenges, flagged))
    kind, authors = brief.options["kind"], {r.seat for r in (proposal, revision, *challenges)}
    rule = f"rigor capped for {kind} questions" if kind else "rigor"
    return Decision(
        answer=answer,
        status="consensus" if converged else "decided",
        final_answer=final_answer(answer, brief.question),
        confidence=min(rigor, CAPS.get(kind, 1.0)) if len(authors) > 1 else None,
        confidence_rule=rule if len(authors) > 1 else None,
        rigor=rigor,
        dissent=objections(challenges, flagged),
        rounds=n,
        consensus_reached=converged,
        converged=converged,
        stop_reason="converged" if converged else "max_rounds",
        detail={"overlap": overlaps, "challenges": listed, **_vote_only(brief, firsts)},
    )


def _vote_only(brief: Brief, firsts: Sequence[Reply]) -> dict[str, Any]:
    return {"vote_only": Poll.of(firsts, question=brief.question).vote_only}


def _challenge_fields(challenge: Reply, flagged: str | None) -> dict[str, Any]:
    ids = [id.removesuffix(".short") for id in challenge.ask.prompt.id.split("+")]
    framing = next(framing.id for framing in FRAMINGS if framing.id in ids)
    return {"seat": challenge.seat.label, "framing": framing.rpartition("/")[2], "flagged": flagged}


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
