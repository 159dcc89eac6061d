"""escalate: two cheap models first. If they agree, that is the answer; if not, dearer ones are asked.

Sources: FrugalGPT (Chen et al. 2023) for the cascade, with agreement in place of a trained judge. Rules:
- Seats are asked from the cheapest on, different models first, two at once and then one at a time.
- Without learned weights, an answer that two models gave, and that leads, ends it.
- With learned weights the posterior of the leading answer does, from `sure` on, or that the others together
  could not outvote it; agreement alone does not. Models without weight come last, and one with more weight
  than all others together comes first, since nothing can be settled without it.
- Answers that are not short cannot be compared: then the strongest seat that was not asked answers alone.
- Weights cannot be learned from its runs, and the result has no `detail.native`: the dearer models are only
  asked where the cheap ones differ, and would look worse than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from ..core.models import Seat, strongest
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.voting.stopping import MIN_ANSWERS, STOP_POSTERIOR
from ..prompts import load
from . import expected
from .shared.evidence import VOTES
from .shared.first_answers import may_stop_early, models_first, settled
from .shared.poll import Poll
from .shared.transcript import Transcript

SYSTEM, ANSWER = load("escalate/system"), load("escalate/answer")
CHEAPEST_FIRST = "cheapest first"

PHASES = Phases(
    (
        Transition(START, "pair", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("pair", "complete", "an answer that is sure", lambda f: f["stop"]),
        Transition("pair", "escalate", "no such answer", lambda f: not f["stop"]),
        Transition("escalate", "escalate", "no such answer and a seat left", lambda f: not f["stop"]),
        Transition("escalate", "complete", "an answer that is sure, or no seat left", lambda f: f["stop"]),
    )
)


async def escalate(brief: Brief, panel: Panel) -> Decision:
    draft = Transcript(brief, panel, SYSTEM).opening(ANSWER())
    waiting, replies, n = asking_order(panel), list[Reply](), 0
    turn, waiting = waiting[:MIN_ANSWERS], waiting[MIN_ANSWERS:]
    called = [*turn]
    await panel.enter("pair", question=brief.question)
    while True:
        replies += await panel.all([panel.work(seat, draft) for seat in turn], quorum=0)
        poll = Poll.of(replies, rule=f"{VOTES}, {CHEAPEST_FIRST}", question=brief.question)
        stop = _stop(poll, waiting, brief.options["sure"], brief.question)
        if stop or not waiting:
            break
        n += 1
        best = poll.representative(poll.leader).text if poll.votes else None
        await panel.enter("escalate", n, best, stop=stop)
        if len(poll.votes) >= MIN_ANSWERS and poll.leader is None:
            waiting = list(strongest(tuple(waiting)))
        turn, waiting = waiting[:1], waiting[1:]
        called += turn
    if len(replies) < MIN_ANSWERS:
        # An empty parallel step raises the usual `NoQuorum`.
        await panel.all([], MIN_ANSWERS)
    stop = stop or "all_asked"
    await poll.tally_step()
    last = replies[-1] if stop == "no_short_answer" else poll.representative(poll.leader)
    short = poll.read(last.text) if stop == "no_short_answer" else poll.leader
    await panel.enter("complete", n or 1, last.text, stop=stop)
    return Decision(
        answer=last.text,
        final_answer=short,
        rounds=n + 1,
        stop_reason=stop,
        detail={
            **{name: value for name, value in poll.detail(short).items() if name != "native"},
            "asked": [seat.label for seat in called],
            "not_asked": [seat.label for seat in panel.seats if seat not in called],
        },
        **poll.decision_fields(None if stop == "no_short_answer" else poll.leader),
    )


def asking_order(panel: Panel) -> list[Seat]:
    """Return the seats in the order in which they are asked; of free ones the smallest model comes first."""
    one_price = len({seat.price for seat in panel.seats}) == 1
    by_size = sorted(panel.by_cost, key=lambda seat: seat.parameters or 0.0)
    ranked = models_first(by_size if one_price else panel.by_cost)
    weights = {seat.model: seat.weight for seat in ranked if seat.weight is not None}
    if len({seat.model for seat in ranked}) > len(weights) or not any(weights.values()):
        return ranked
    total = fsum(weights.values())
    alone = next((model for model, weight in weights.items() if weight > total - weight), None)
    return sorted(ranked, key=lambda seat: (seat.model != alone, not seat.weight))


def _stop(poll: Poll, waiting: Sequence[Seat], sure: float, question: str) -> str:
    """Return why no further seat is needed, "" if one is."""
    voters = {vote.seat.model: answer for vote, answer in zip(poll.votes, poll.answers, strict=True)}
    if poll.leader is None:
        # Two texts, and then the one of the strongest seat.
        return "no_short_answer" if len(poll.votes) > MIN_ANSWERS else ""
    seats = (*poll.seats, *waiting)
    if may_stop_early(seats) and any(seat.weight for seat in seats):
        return "settled" if waiting and settled(poll.votes, waiting, question, sure) else ""
    behind = sum(answer == poll.leader for answer in voters.values())
    return "agreement" if behind >= MIN_ANSWERS and poll.tally.winner == poll.leader else ""


def _calls(scope: Scope) -> tuple[int, int]:
    return min(MIN_ANSWERS, len(scope.seats)), len(scope.seats)


PROTOCOL = Protocol(
    name="escalate",
    summary="two cheap models first; only if they differ are dearer ones asked, until the answer is sure",
    phases=PHASES,
    script=escalate,
    options={
        "sure": Option(
            STOP_POSTERIOR,
            "the posterior, by learned weights, at which no further model is asked",
            0.25,
            1.0,
        ),
    },
    calls=_calls,
    expected=expected.escalate,
    presets={"quick": {"sure": 0.8}, "deep": {"sure": 0.99}},
    nouns={"pair": "answer", "escalate": "answer"},
)
