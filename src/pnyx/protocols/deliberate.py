"""deliberate: a debate only if the first answers differ, and a final vote if it is stuck.

Source: "Consistently Not Stupid". Rules that it leaves open:
- Code compares short answers. If one is missing, the cheapest model groups all texts by conclusion, in one
  call; without a readable verdict, texts count as different.
- Consensus needs two positions in the round. A seat that is silent, cut off or unreadable keeps its position:
  that is no change, and in the result it dissents. Silent seats are not live.
- If nobody casts a final vote, the last positions are counted.
- Debates can lose a right minority, so first answers stay a prior: confidence is the decision's share of
  them and, at a quarter weight, of later positions; `detail.vote_only` is their plurality.
- A response beyond the last seat has no seat; a seat without a response joins in the debate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from ..core.models import Seat
from ..core.parsing.positions import Position, position_form
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.tally import plurality
from ..errors import SeatAbsent
from ..prompts import load
from . import expected
from .shared.debate import RULE, Debate, decision_fields
from .shared.first_answers import get_first_answers
from .shared.positions import AnswerGroups, StatedAnswer, leader, representative
from .shared.transcript import Transcript, quoted
from .shared.verdict import UnreadableVerdict, Verdict, ask_verdict

SYSTEM, ANSWER, VOTE = (load(f"deliberate/{name}") for name in ("system", "answer", "vote"))
TURN, OWN, NO_POSITION = (load(f"deliberate/{name}") for name in ("position", "own", "none"))

PATIENCE = 2
"""Rounds without a changed position after which a debate is stuck."""

PHASES = Phases(
    (
        Transition(START, "answer", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("answer", "complete", "unanimous answers", lambda f: f["stop"] == "unanimous"),
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
    replies = await get_first_answers(brief, panel, transcript.opening(ANSWER()))
    groups = AnswerGroups(panel, transcript)
    firsts = [StatedAnswer.of(reply, brief.question) for reply in replies]
    shown = groups.show("First answer", firsts)
    debate = Debate([await groups.assign(firsts)])
    await panel.tally("native plurality", debate.first_count.counts, leader(debate.first_answers))
    ballots, repeated = debate.first_answers, list[StatedAnswer]()
    stop = "unanimous" if len(debate.first_count.counts) == 1 else ""
    while not stop:
        await panel.enter("debate", debate.number + 1, debate.best, stop=stop)
        positions = await panel.all([_turn(groups, debate, shown, seat) for seat in panel.seats], quorum=0)
        repeated = [one for one in positions if one.repeated]
        new = [one for one in positions if not one.repeated]
        shown |= groups.show(f"Position of round {debate.number + 1}", new)
        ballots = await groups.assign(new)
        debate.add_round(ballots)
        stop = _stop(debate, ballots, brief.options["rounds"])
    if stop in ("stuck", "max_rounds"):
        await panel.enter("vote", debate.number, debate.best, stop=stop)
        ballots, repeated = await _vote(panel, debate, groups), []
    winner = leader(ballots, [debate.first_count.counts])
    decided = representative(ballots, winner)
    counts = plurality([one.group for one in (*ballots, *repeated)]).counts
    if debate.number:
        await panel.tally("plurality", counts, winner, ties=["native plurality", "strength"])
    await panel.enter("complete", debate.number or 1, decided.text, stop=stop, ballots=ballots)
    return Decision(
        answer=decided.text,
        final_answer=decided.short,
        consensus_reached=stop in ("unanimous", "consensus"),
        dissent=debate.dissent(ballots, winner),
        rounds=debate.number,
        stop_reason=stop,
        confidence=debate.support(winner),
        confidence_rule=RULE,
        detail={**debate.detail(ballots), "judged": groups.judged},
        **decision_fields(counts, winner),
    )


async def _turn(groups: AnswerGroups, debate: Debate, shown: Mapping[str, str], seat: Seat) -> StatedAnswer:
    """Ask `seat` for its position. shown: the label in the transcript of each seat's last position."""
    previous = debate.last_positions.get(seat.label)
    own = OWN(position=shown[seat.label]) if previous else NO_POSITION()
    others = [label for author, label in shown.items() if author != seat.label]
    task = TURN(label=seat.label, own=own, others=quoted(others))
    draft = groups.transcript.task(task, list(shown.values()))
    verdict: Verdict[Position] | None = None
    with suppress(UnreadableVerdict):
        form = position_form(groups.transcript.question)
        verdict = await ask_verdict(groups.panel, seat, draft, form)
    if verdict is None or verdict.reply.truncated:
        if previous is None:
            raise SeatAbsent(f"{seat.label} has taken no position yet")
        return replace(previous, repeated=True)
    return StatedAnswer.of_position(seat, verdict.value, groups.transcript.question)


def _stop(debate: Debate, ballots: Sequence[StatedAnswer], rounds: int) -> str:
    """Return why the debate is over, "" if it goes on."""
    if len(ballots) > 1 and len({one.group for one in ballots}) == 1:
        return "consensus"
    if debate.unchanged_rounds == PATIENCE:
        return "stuck"
    return "max_rounds" if debate.number == rounds else ""


async def _vote(panel: Panel, debate: Debate, groups: AnswerGroups) -> Sequence[StatedAnswer]:
    """Return the votes of the seats, which each read the whole debate."""
    transcript = groups.transcript
    everything = partial(transcript.task, needed=transcript.labels)
    asks = [panel.ask(seat, everything(VOTE(label=seat.label))) for seat in panel.seats]
    votes = [vote for vote in await panel.all(asks, quorum=0) if not vote.truncated]
    last = [one for label, one in debate.last_positions.items() if label in {s.label for s in panel.seats}]
    return (
        await groups.assign([StatedAnswer.of(vote, transcript.question) for vote in votes])
        or last
        or debate.first_answers
    )


def _calls(scope: Scope) -> tuple[int, int]:
    seats, first = len(scope.seats), 0 if scope.responses else len(scope.seats)
    # Free-form answers need a comparison each time; it and a turn may need a repair, a vote does not.
    return first, first + 2 + scope.options["rounds"] * 2 * (seats + 1) + seats + 2


PROTOCOL = Protocol(
    name="deliberate",
    summary="a debate if the answers differ: steelman, critique, decision; a vote if it is stuck",
    phases=PHASES,
    script=deliberate,
    options={"rounds": Option(5, "the most rounds of debate", 1, 20)},
    quorum_given=2,
    calls=_calls,
    expected=expected.deliberate,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 8}},
)
