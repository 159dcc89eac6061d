"""deliberate: a debate only if the first answers differ, and a final vote if it is stuck.

Source: "Consistently Not Stupid". Rules that it leaves open:
- Code compares short answers. If one is missing, the cheapest model groups all texts by conclusion, in one
  call; without a readable verdict, texts count as different.
- Consensus needs two positions in the round. A seat that is silent, cut off or unreadable keeps its position:
  that is no change, and in the result it dissents. Silent seats are not live.
- If nobody casts a final vote, the last positions are counted.
- Debates can lose a right minority, so first answers stay a prior: support is the decision's posterior
  by them and, at a quarter weight, by later positions; `detail.vote_only` is their plurality.
- A response beyond the last seat has no seat; a seat without a response joins in the debate.
- With `early`, as `auto` runs it, answers are asked for as voting does, and a split is debated unless learned
  weights make the leader's posterior `STOP_POSTERIOR`; a seat that was not asked joins in the debate.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.voting.stopping import MIN_ANSWERS, STRONGEST_FIRST
from ..core.voting.tally import plurality
from ..prompts import load
from . import expected
from .shared.debate import Debate, decision_fields
from .shared.evidence import POOLED
from .shared.first_answers import get_first_answers, get_votes, may_stop_early
from .shared.position_turns import take_position, vote_again
from .shared.positions import AnswerGroups, StatedAnswer, is_sure, leader, representative
from .shared.transcript import Transcript

SYSTEM, ANSWER = load("deliberate/system"), load("deliberate/answer")

PATIENCE = 2
"""Rounds without a changed position after which a debate is stuck."""

SETTLED = ("unanimous", "settled")
"""Why there is no debate."""

PHASES = Phases(
    (
        Transition(START, "answer", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("answer", "complete", "unanimous answers, or sure ones", lambda f: f["stop"] in SETTLED),
        Transition("answer", "debate", "answers that differ", lambda f: not f["stop"]),
        Transition("debate", "debate", "no reason to stop", lambda f: not f["stop"]),
        Transition("debate", "complete", "consensus", lambda f: f["stop"] == "consensus"),
        Transition("debate", "vote", "no consensus", lambda f: f["stop"] in ("stuck", "max_rounds")),
        Transition("vote", "complete", "ballots", lambda f: f["ballots"]),
    )
)


async def deliberate(brief: Brief, panel: Panel) -> Decision:
    transcript = Transcript(brief, panel, SYSTEM)
    await panel.enter("answer", question=brief.question)
    # Runs of 0.1.0 have no option `early`.
    early, opening = brief.options.get("early", False), transcript.opening(ANSWER())
    replies, not_called = (
        await get_votes(brief, panel, opening, early=True, quorum=2)
        if early
        else (await get_first_answers(brief, panel, opening), None)
    )
    groups = AnswerGroups(panel, transcript)
    firsts = [StatedAnswer.of(reply, brief.question) for reply in replies]
    shown = groups.show("First answer", firsts)
    debate = Debate([await groups.assign(firsts)])
    await panel.tally("native plurality", debate.first_count.counts, leader(debate.first_answers))
    ballots, repeated = debate.first_answers, list[StatedAnswer]()
    stop = "unanimous" if len(debate.first_count.counts) == 1 else ""
    # The weights may make one answer as good as certain although another seat gave another one.
    stop = stop or ("settled" if early and is_sure(debate.first_answers) else "")
    while not stop:
        await panel.enter("debate", debate.number + 1, debate.best, stop=stop)
        positions = await panel.all(
            [take_position(groups, debate, shown, seat) for seat in panel.seats], quorum=0
        )
        repeated = [one for one in positions if one.repeated]
        new = [one for one in positions if not one.repeated]
        shown |= groups.show(f"Position of round {debate.number + 1}", new)
        ballots = await groups.assign(new)
        debate.add_round(ballots)
        stop = _stop(debate, ballots, brief.options["rounds"])
    if stop in ("stuck", "max_rounds"):
        await panel.enter("vote", debate.number, debate.best, stop=stop)
        ballots, repeated = await vote_again(groups, debate), []
    winner = leader(ballots, [debate.first_count.counts])
    decided = representative(ballots, winner)
    counts = plurality([one.group for one in (*ballots, *repeated)]).counts
    if debate.number:
        await panel.tally("plurality", counts, winner, ties=["native plurality", "strength"])
    await panel.enter("complete", debate.number or 1, decided.text, stop=stop, ballots=ballots)
    detail = debate.detail(ballots, winner)
    behind = detail["agreed"]["seats"]
    return Decision(
        answer=decided.text,
        final_answer=decided.short,
        consensus_reached=stop in ("unanimous", "consensus") and behind > 0,
        dissent=debate.dissent(ballots, winner),
        rounds=debate.number,
        stop_reason=stop,
        support=debate.support(winner, ballots),
        support_rule=POOLED if not_called is None else f"{POOLED}, {STRONGEST_FIRST}",
        detail={
            **detail,
            "judged": groups.judged,
            "not_asked": [seat.label for seat in not_called or ()],
        },
        **decision_fields(counts, winner, behind),
    )


def _stop(debate: Debate, ballots: Sequence[StatedAnswer], rounds: int) -> str:
    """Return why the debate is over, "" if it goes on."""
    if len(ballots) > 1 and len({one.group for one in ballots}) == 1:
        return "consensus"
    if debate.unchanged_rounds == PATIENCE:
        return "stuck"
    return "max_rounds" if debate.number == rounds else ""


def _calls(scope: Scope) -> tuple[int, int]:
    seats, first = len(scope.seats), 0 if scope.responses else len(scope.seats)
    known = scope.options["early"] and may_stop_early(scope.seats)
    # Free-form answers need a comparison each time; it and a turn may need a repair, a vote does not.
    return min(first, MIN_ANSWERS) if known else first, first + 2 + scope.options["rounds"] * 2 * (
        seats + 1
    ) + seats + 2


PROTOCOL = Protocol(
    name="deliberate",
    summary="a debate if the answers differ: steelman, critique, decision; a vote if it is stuck",
    phases=PHASES,
    script=deliberate,
    options={
        "rounds": Option(5, "the most rounds of debate", 1, 20),
        "early": Option(False, "once answers have learned weights, ask only until they settle the question"),
    },
    quorum_given=2,
    calls=_calls,
    expected=expected.deliberate,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 8}},
)
