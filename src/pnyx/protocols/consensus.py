"""consensus: propose, challenge from fixed angles, revise, commit, until the challenges repeat.

Source: the `duh` consensus engine (phases, framings, rigor, convergence). Rules that it leaves open: the next
strongest seat replaces a silent proposer, the next in rank that did not propose a silent challenger; on a
panel smaller than `challengers` the proposer's own seat challenges last; rigor and dissent: the last round's.
`detail.vote_only` is the first proposal, one vote: the answer if nobody had challenged it. Seats agree if all
of the last round hold the answer (`shared.critique`); the same objections again, from seats that do not, are
`stalled`. Support is the posterior of the answer by what seats stated in all rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle, islice
from typing import Any

from ..core.answers.replies.extract import final_answer
from ..core.decision import Status
from ..core.models import strongest
from ..core.phases import START, Phases, Transition
from ..core.prose.convergence import overlap
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..prompts import load
from . import expected
from .shared.challenge import ask_challenges, same_cache
from .shared.critique import CAPS, Critique, agreed_on, decision_fields
from .shared.poll import Poll
from .shared.transcript import Transcript, quoted

SYSTEM = load("consensus/system")
PROPOSE, PROPOSE_AGAIN = load("consensus/propose"), load("consensus/propose-again")
CHALLENGE, REVISE = load("consensus/challenge"), load("consensus/revise")
FRAMINGS = [load(f"consensus/{angle}") for angle in ("flaw", "alternative", "risk", "advocate")]

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
    open_points, proposals, replies = list[str](), list[str](), list[list[Reply]]()
    for n in range(1, rounds + 1):
        facts = {"converged": converged, "committed": n - 1, "rounds": rounds}
        await panel.enter("propose", n, answer or None, question=brief.question, **facts)
        transcript.trim(open_points)
        again = open_points and PROPOSE_AGAIN(answer=open_points[-1], challenges=quoted(open_points[:-1]))
        proposal = await panel.first(seats, transcript.task(again or PROPOSE(), open_points), tools=True)
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

        overlaps.append(overlap([c.text for c in challenges], [c.text for c in last]) if last else 0.0)
        converged = bool(last) and overlaps[-1] >= brief.options["threshold"]
        await panel.enter("revise", n, answer or proposal.text, challenges=challenges)
        revisers = tuple(dict.fromkeys((proposal.seat, *seats)))
        draft = REVISE(proposal=proposed, challenges=quoted(open_points))
        draft = transcript.task(draft, [proposed, *open_points])
        revision = await panel.first(revisers, draft, closing=converged or n == rounds)
        open_points.append(transcript.add(f"Answer of round {n}", revision.text))

        answer = revision.text
        replies += [[proposal], challenges, [revision]]
        await panel.enter("commit", n, answer, revision=answer)
        if converged:
            break
    await panel.enter("complete", n, answer, converged=converged, committed=n, rounds=rounds)

    short = final_answer(answer, brief.question)
    critiques = [Critique.of(challenge, brief.question, short) for challenge in challenges]
    fields = decision_fields(replies, critiques, brief.options["kind"])
    undecided: Status = "stalled" if converged else "decided"
    return Decision(
        answer=answer,
        status="consensus" if fields["consensus_reached"] else undecided,
        rounds=n,
        converged=converged,
        stop_reason="converged" if converged else "max_rounds",
        detail={
            "overlap": overlaps,
            "challenges": [_challenge_fields(one) for one in critiques],
            "agreed": agreed_on(revision, critiques),
            "vote_only": Poll.of(replies[0], question=brief.question).vote_only,
        },
        **fields,
    )


def _challenge_fields(one: Critique) -> dict[str, Any]:
    challenge = one.reply
    ids = [id.removesuffix(".short") for id in challenge.ask.prompt.id.split("+")]
    framing = next(framing.id for framing in FRAMINGS if framing.id in ids).rpartition("/")[2]
    fields = {"seat": challenge.seat.label, "framing": framing, "flagged": one.flagged}
    return {**fields, "substantive": one.is_substantive}


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
        "kind": Option("", "the question's kind, which caps support", choices=("", *CAPS)),
    },
    calls=_calls,
    expected=expected.consensus,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 6, "challengers": 4}},
)
