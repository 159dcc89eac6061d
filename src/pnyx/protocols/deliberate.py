"""deliberate: a debate that is held only where the native answers differ, and put to a vote if it is stuck.

Source of the shape: "Consistently Not Stupid". Where PROTOCOLS.md is silent:
- Short answers are compared in code. Where one is missing, the cheapest model sorts the texts by what they
  come to, one call for all of them; without a readable verdict, texts count as different.
- Consensus is one of the seats that spoke in the round, two or more. A seat that is silent, cut off or cannot
  be read keeps its position: that is no move, and in the result it dissents. The silent are not live.
- A round shows a seat its own position and the last one of each other; only the final vote shows everything.
  When nobody casts a final vote, the last positions are counted.
- As debates lose right minorities, native answers stay a prior: confidence is the decision's share of them
  and, at a quarter weight, of later positions; `detail.vote_only` is what native plurality alone would say.
- Responses beyond the seats are first answers without a speaker; a seat without one takes its position later.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ..core.answers.extract import final_answer
from ..core.models import Seat
from ..core.parsing.positions import POSITION_FORM, Position
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.tally import plurality
from ..core.text import Draft, Material
from ..errors import SeatAbsent
from ..prompts import load
from .shared.debate import RULE, Debate, standing
from .shared.first_answers import native_answers
from .shared.positions import Camps, Stated, leader, voice
from .shared.verdict import Unread, Verdict, ask_verdict, question

ANSWER, TURN, VOTE = load("deliberate/answer"), load("deliberate/position"), load("deliberate/vote")

PATIENCE = 2
"""Rounds without a move after which a debate is stuck."""

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
    asked = question(brief)
    await panel.enter("answer", question=brief.question)
    replies = await native_answers(brief, panel, ANSWER(question=asked, today=brief.today))
    camps = Camps(panel, asked)
    debate = Debate([await camps.place([Stated.of(reply) for reply in replies])])
    await panel.tally("native plurality", debate.native.counts, leader(debate.natives))
    ballots, held = debate.natives, list[Stated]()
    stop = "unanimous" if len(debate.native.counts) == 1 else ""
    while not stop:
        await panel.enter("debate", debate.number + 1, debate.best, stop=stop)
        turns = [_turn(panel, asked, debate, seat) for seat in panel.seats]
        said = await panel.all(turns, quorum=0)
        ballots, held = await camps.place([one for one in said if not one.held]), [o for o in said if o.held]
        debate.hear(ballots)
        stop = _stop(debate, ballots, brief.options["rounds"])
    if stop in ("stuck", "max_rounds"):
        await panel.enter("vote", debate.number, debate.best, stop=stop)
        ballots, held = await _vote(panel, asked, debate, camps), []
    winner = leader(ballots, [debate.native.counts])
    decided, counts = voice(ballots, winner), plurality([one.camp for one in (*ballots, *held)]).counts
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
        confidence=debate.backing(winner),
        confidence_rule=RULE,
        detail={**debate.detail(ballots), "judged": camps.judged},
        **standing(counts, winner),
    )


async def _turn(panel: Panel, asked: str | Draft, debate: Debate, seat: Seat) -> Stated:
    mine = debate.standing.get(seat.label)
    own = Material("Your position", mine.text if mine else "You have taken none yet.")
    others = [Material(label, s.shown) for label, s in debate.standing.items() if label != seat.label]
    shown = panel.shuffle(others, "deliberate", debate.number, seat.label)
    draft = TURN(question=asked, own=own, others=shown)
    verdict: Verdict[Position] | None = None
    with suppress(Unread):
        verdict = await ask_verdict(panel, seat, draft, POSITION_FORM)
    if verdict is None or verdict.reply.truncated:
        if mine is None:
            raise SeatAbsent(f"{seat.label} has taken no position yet")
        return replace(mine, held=True)
    said = verdict.value
    told = said.answer is None or final_answer(said.decision) is not None
    text = said.decision if told else f"{said.decision}\n\nFinal answer: {said.answer}"
    return Stated(seat, text, said.answer, critique=said.critique)


def _stop(debate: Debate, spoke: Sequence[Stated], rounds: int) -> str:
    """Why the debate is over, or nothing."""
    if len(spoke) > 1 and len({one.camp for one in spoke}) == 1:
        return "consensus"
    if debate.still == PATIENCE:
        return "stuck"
    return "max_rounds" if debate.number == rounds else ""


async def _vote(panel: Panel, asked: str | Draft, debate: Debate, camps: Camps) -> Sequence[Stated]:
    """The votes of the seats, each cast alone with all of the debate in view."""
    history = [
        Material(f"{one.seat.label}, {f'round {n}' if n else 'first answer'}", one.shown)
        for n, said in enumerate(debate.rounds)
        for one in said
    ]
    asks = [panel.ask(seat, VOTE(question=asked, history=history, label=seat.label)) for seat in panel.seats]
    votes = [vote for vote in await panel.all(asks, quorum=0) if not vote.truncated]
    labels = {seat.label for seat in panel.seats}
    last = [one for label, one in debate.standing.items() if label in labels]
    return await camps.place([Stated.of(vote) for vote in votes]) or last or debate.natives


def _calls(scope: Scope) -> tuple[int, int]:
    seats, native = len(scope.seats), 0 if scope.responses else len(scope.seats)
    # With free-form answers a comparison comes after each; it and a turn may be asked for again, a vote not.
    return native, native + 2 + scope.options["rounds"] * 2 * (seats + 1) + seats + 2


PROTOCOL = Protocol(
    name="deliberate",
    summary="a debate where the answers differ: steelman, critique, decision; put to a vote if it is stuck",
    phases=PHASES,
    script=deliberate,
    options={"rounds": Option(5, "the most rounds of debate", 1, 20)},
    quorum_given=2,
    calls=_calls,
    presets={"quick": {"rounds": 1}, "deep": {"rounds": 8}},
)
