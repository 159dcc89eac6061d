"""aggregate: blind peer review. A reader accepts or rejects the steps of answers without names.

Source: "Consistently Not Stupid". Rules that it leaves open:
- `one`: the next strongest seat replaces an aggregator that is silent or cut off; without an aggregator, the
  leading first answer is the decision, verbatim. Agreement is the share of first answers with its answer.
- `each`: the plurality of the aggregated answers decides; ties go by the first answers, then by strength. If
  answers are not short, the cheapest model groups all of them in one call. Seats that read each other tend to
  agree, so support is the posterior of first answers and, at a quarter weight, of aggregated ones.
- Aggregators do not see their own label. A reply without the line `ANSWER:` is all answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.models import Seat
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel
from ..core.text import Draft
from ..core.voting.tally import plurality
from ..prompts import load
from . import expected
from .shared.debate import Debate, decision_fields
from .shared.evidence import POOLED
from .shared.first_answers import get_first_answers
from .shared.poll import Poll
from .shared.positions import AnswerGroups, StatedAnswer, leader, representative
from .shared.review import Review, ask_review, first_review
from .shared.transcript import Transcript

SYSTEM, ANSWER, REVIEW = (load(f"aggregate/{name}") for name in ("system", "answer", "review"))

PHASES = Phases(
    (
        Transition(START, "answer", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("answer", "aggregate", "two answers", lambda f: len(f["answers"]) > 1),
        Transition("aggregate", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def aggregate(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("answer", question=brief.question)
    opening = Transcript(brief, panel, SYSTEM)
    first_answers = await get_first_answers(brief, panel, opening.opening(ANSWER()))
    poll = Poll.of(first_answers, question=brief.question)
    await poll.tally_step()
    await panel.enter("aggregate", 1, poll.representative(poll.leader).text, answers=first_answers)

    def ask(seat: Seat) -> Draft:
        order, transcript = panel.shuffle(first_answers, "aggregate", seat.label), opening.copy()
        shown = [transcript.add(f"Answer by {one.seat.label}", one.text) for one in order]
        return transcript.task(REVIEW(), shown)

    if brief.options["aggregators"] == "each":
        reviews = await panel.all([ask_review(panel, seat, ask(seat)) for seat in panel.seats], 0)
        decision = await _majority(poll, panel, opening, reviews)
    else:
        decision = _single(poll, await first_review(panel, ask))
    await panel.enter("complete", 1, decision.answer, text=decision.answer)
    return decision


def _single(poll: Poll, review: Review | None) -> Decision:
    answer = review.answer if review else poll.representative(poll.leader).text
    short, reviews = poll.read(answer), [review.to_dict()] if review else []
    return Decision(
        answer=answer,
        final_answer=short,
        stop_reason="aggregated" if review else "no_aggregator",
        detail={**poll.detail(short), "vote_only": poll.vote_only, "reviews": reviews},
        **poll.decision_fields(short),
    )


async def _majority(poll: Poll, panel: Panel, opening: Transcript, reviews: Sequence[Review]) -> Decision:
    groups = AnswerGroups(panel, opening)
    answers = [StatedAnswer.of(reply, poll.question) for reply in poll.votes]
    answers += [StatedAnswer(one.seat, one.answer, poll.read(one.answer)) for one in reviews]
    grouped = await groups.assign(answers)
    debate = Debate([grouped[: len(poll.votes)]])
    if reviews:
        debate.add_round(grouped[len(poll.votes) :])
    ballots = debate.rounds[-1]
    winner = leader(ballots, [debate.first_count.counts])
    decided, counts = representative(ballots, winner), plurality([one.group for one in ballots]).counts
    await panel.tally("plurality", counts, winner, ties=["native plurality", "strength"])
    detail = debate.detail(ballots, winner)
    return Decision(
        answer=decided.text,
        final_answer=decided.short,
        stop_reason="aggregated" if reviews else "no_aggregator",
        dissent=debate.dissent(ballots, winner),
        support=debate.support(winner),
        support_rule=POOLED,
        detail={
            **detail,
            "seats": _before_and_after(debate, bool(reviews)),
            "reviews": [one.to_dict() for one in reviews],
            "judged": groups.judged,
        },
        **decision_fields(counts, winner, detail["agreed"]["seats"]),
    )


def _before_and_after(debate: Debate, aggregated: bool) -> list[dict[str, Any]]:
    """Return the first and the aggregated answer of each seat, None for one without."""
    first = {one.seat.label: one for one in debate.first_answers}
    after = {one.seat.label: one for one in debate.rounds[-1]} if aggregated else {}
    return [
        {
            "seat": label,
            "model": one.seat.model,
            "native": first[label].group if label in first else None,
            "aggregated": after[label].group if label in after else None,
        }
        for label, one in (after | first).items()
    ]


def _calls(scope: Scope) -> tuple[int, int]:
    each = scope.options["aggregators"] == "each"
    calls = (0 if scope.responses else len(scope.seats)) + (len(scope.seats) if each else 1)
    return calls, calls + 2 * each  # to group answers that are not short, and one repair


PROTOCOL = Protocol(
    name="aggregate",
    summary="blind peer review: a reader accepts or rejects the steps of answers without names",
    phases=PHASES,
    script=aggregate,
    options={
        "aggregators": Option(
            "one",
            "one: the strongest seat aggregates; each: every seat does, and their majority decides",
            choices=("one", "each"),
        )
    },
    quorum_given=1,
    calls=_calls,
    expected=expected.aggregate,
    judged=True,
    presets={"quick": {"aggregators": "one"}, "deep": {"aggregators": "each"}},
)
