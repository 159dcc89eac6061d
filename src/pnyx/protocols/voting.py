"""voting: every seat answers alone, in parallel; the strongest judges and improves what it picks.

Source of the shape: the voting protocol of the `duh` consensus engine. Where PROTOCOLS.md is silent:
- The weight of a seat is what its votes were found to be worth, where that is known of all that voted; else
  ln(1 + x), x being the output price in USD per million tokens where every one of them has one above 0, else
  the parameters in billions where those of all are known; else all weigh the same. Told as shares of the sum.
  With `weighted` the count of short answers is weighted too, and decides where it has one leader: a synthesis
  that ends elsewhere gives way to that answer's strongest vote, verbatim.
- The judge is the strongest seat that voted; when it is silent, the next strongest judges. One that cannot be
  read abstains, and the count decides; where nothing could be counted, the next strongest judges.
  Without any, the leading answer is the decision, verbatim. So is the vote that was picked, when the judge
  writes nothing below its pick or is cut off there; one that states no short answer gives way to the
  `Final answer:` that the judge worked out above its pick.
- A judge that names no vote, but ends on the answer that leads the count, has said it in its own words.
- With `swap`, two judgements that end on different answers (where those cannot be compared: on different
  picks) are a flip, and count as a tie: the only leader of the count decides, told by the judgement that
  agrees with it or else by its strongest vote, verbatim; without such a leader the first order's stands.
- Answers that cannot be counted dissent when they were not picked.
- It takes existing answers, as aggregate does; the strongest of all seats judges them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.answers.extract import final_answer
from ..core.models import strengths
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Dissent, Panel, Reply
from ..core.stopping import MIN_ANSWERS, STRONGEST_FIRST
from ..core.text import Draft, Material
from ..prompts import load
from .shared.first_answers import judges
from .shared.first_answers import votes as answers
from .shared.judge import Ruling, rulings_of, settle
from .shared.poll import SHARE, Poll
from .shared.verdict import question

VOTE, JUDGE, WEIGH = load("voting/vote"), load("voting/judge"), load("voting/weigh")

PHASES = Phases(
    (
        Transition(START, "vote", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("vote", "judge", "two votes", lambda f: f["votes"] > 1),
        Transition("vote", "complete", "a single vote", lambda f: f["votes"] == 1),
        Transition("judge", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def voting(brief: Brief, panel: Panel) -> Decision:
    asked, options = question(brief), brief.options
    await panel.enter("vote", question=brief.question)
    draft = VOTE(question=asked, today=brief.today)
    votes, unasked = await answers(brief, panel, draft, options["early"])
    weights = strengths([vote.seat for vote in votes]) if options["aggregation"] == "weighted" else None
    # Whoever is asked on when the strongest differ is asked a harder question: the share means less then.
    poll = Poll.of(votes, weights, SHARE if unasked is None else f"{SHARE}, {STRONGEST_FIRST}")
    told = {**poll.detail(), "not_asked": [seat.label for seat in unasked or ()]}
    leading = poll.voice(poll.leader)
    await poll.tell()
    if len(votes) == 1:
        await panel.enter("complete", 1, leading.text, votes=1)
        return Decision(
            answer=leading.text,
            final_answer=final_answer(leading.text),
            stop_reason="single_vote",
            detail=told,
            **poll.standing(None),
        )

    await panel.enter("judge", 1, leading.text, votes=len(votes))
    order = panel.shuffle(votes, "judge")
    orders = [order, order[::-1]] if options["swap"] else [order]
    drafts = [_judgement(asked, shown, weights) for shown in orders]
    judge, rulings = await rulings_of(panel, poll, judges(brief, panel, poll), drafts)
    ruling, settled_by = settle(rulings, poll)
    await panel.enter("complete", 1, ruling.answer, text=ruling.answer)
    return Decision(
        answer=ruling.answer,
        final_answer=ruling.short,
        stop_reason="judged" if rulings else "no_judge",
        detail={
            **told,
            "weights": weights,
            "judge": judge and {"seat": judge.label, "model": judge.model},
            "judgements": [{"pick": r.pick, "answer": r.short} for r in rulings],
            "pick": ruling.pick,
            "flipped": not rulings[0].agrees(rulings[1]) if len(rulings) == 2 else None,
            "settled_by": settled_by,
        },
        **{**poll.standing(ruling.short), "dissent": _dissent(poll, ruling)},
    )


def _judgement(asked: str | Draft, votes: Sequence[Reply], weights: Mapping[str, float] | None) -> Draft:
    shown = [Material(vote.seat.label, vote.text) for vote in votes]
    if weights is None:
        return JUDGE(question=asked, votes=shown)
    told = "\n".join(f"{label}: {weight:.2f}" for label, weight in sorted(weights.items()))
    return WEIGH(question=asked, votes=shown, weights=told)


def _dissent(poll: Poll, ruling: Ruling) -> tuple[Dissent, ...]:
    """The votes for other answers, and those not picked that cannot be counted, or compared with this one."""
    counted = poll.standing(ruling.short).get("dissent")
    unpicked = [
        vote
        for vote, answer in zip(poll.votes, poll.answers, strict=True)
        if ruling.pick not in (None, vote.seat.label) and (counted is None or answer is None)
    ]
    return (*(counted or ()), *(Dissent(vote.seat.label, vote.seat.model, vote.text) for vote in unpicked))


def _calls(scope: Scope) -> tuple[int, int]:
    seats, judged = len(scope.seats), 1 + scope.options["swap"]
    if scope.responses:
        return judged, 2 * judged
    known = scope.options["early"] and all(seat.weight is not None for seat in scope.seats)
    return (min(seats, MIN_ANSWERS) if known else seats) + judged, seats + 2 * judged


PROTOCOL = Protocol(
    name="voting",
    summary="every seat answers alone; the strongest judges, and improves what it picks",
    phases=PHASES,
    script=voting,
    options={
        "aggregation": Option(
            "majority",
            "majority picks the best answer and improves it, weighted combines all by strength",
            choices=("majority", "weighted"),
        ),
        "swap": Option(False, "judge twice, in opposite orders; a flip is reported, and counts as a tie"),
        "early": Option(True, "once votes have learned weights, ask only until the others hardly matter"),
    },
    quorum_given=1,
    calls=_calls,
    presets={"deep": {"swap": True}},
)
