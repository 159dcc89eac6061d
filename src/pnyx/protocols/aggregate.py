"""aggregate: blind peer review. Answers without names, and a reader who accepts or rejects their steps.

Source of the shape: "Consistently Not Stupid". Where PROTOCOLS.md is silent:
- `one`: an aggregator that is silent or cut off is replaced by the next strongest seat; without any, the
  leading first answer is the decision, verbatim. Agreement is the share of first answers with its answer.
- `each`: the plurality of the aggregated answers decides, ties by first plurality, then by strength. Where
  answers are not short, the cheapest model sorts all of them in one call. As reading each other makes seats
  agree, confidence is the share of first answers and, at a quarter weight, of aggregated ones.
- Aggregators do not see their own label. A reply without the line `ANSWER:` is all answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.answers.extract import final_answer
from ..core.models import Seat
from ..core.phases import START, Phases, Transition
from ..core.protocol import Option, Protocol, Scope
from ..core.steps import Brief, Decision, Panel, Reply
from ..core.tally import plurality
from ..core.text import Draft, Material
from ..prompts import load
from .shared.debate import RULE, Debate, standing
from .shared.first_answers import native_answers
from .shared.poll import Poll
from .shared.positions import Camps, Stated, leader, voice
from .shared.review import Review, ask_review, first_review
from .shared.verdict import question

ANSWER, REVIEW = load("aggregate/answer"), load("aggregate/review")

PHASES = Phases(
    (
        Transition(START, "answer", "a question that is not empty", lambda f: f["question"].strip()),
        Transition("answer", "aggregate", "two answers", lambda f: len(f["answers"]) > 1),
        Transition("aggregate", "complete", "an answer", lambda f: f["text"].strip()),
    )
)


async def aggregate(brief: Brief, panel: Panel) -> Decision:
    asked = question(brief)
    await panel.enter("answer", question=brief.question)
    natives = await native_answers(brief, panel, ANSWER(question=asked, today=brief.today))
    poll = Poll.of(natives)
    await poll.tell()
    await panel.enter("aggregate", 1, poll.voice(poll.leader).text, answers=natives)

    def ask(seat: Seat) -> Draft:
        shown = panel.shuffle(natives, "aggregate", seat.label)
        answers = [Material(native.seat.label, native.text) for native in shown]
        return REVIEW(question=asked, today=brief.today, answers=answers)

    if brief.options["aggregators"] == "each":
        asks = [ask_review(panel, seat, ask(seat)) for seat in panel.seats]
        reviews = await panel.all(asks, quorum=0)
        decision = await _majority(panel, asked, natives, reviews)
    else:
        decision = _single(poll, await first_review(panel, ask))
    await panel.enter("complete", 1, decision.answer, text=decision.answer)
    return decision


def _single(poll: Poll, review: Review | None) -> Decision:
    answer = review.answer if review else poll.voice(poll.leader).text
    short = final_answer(answer)
    return Decision(
        answer=answer,
        final_answer=short,
        stop_reason="aggregated" if review else "no_aggregator",
        detail={
            **poll.detail(),
            "vote_only": poll.alone,
            "reviews": [review.told] if review else [],
        },
        **poll.standing(short),
    )


async def _majority(
    panel: Panel, asked: str | Draft, natives: Sequence[Reply], reviews: Sequence[Review]
) -> Decision:
    said = [Stated.of(reply) for reply in natives]
    said += [Stated(one.seat, one.answer, final_answer(one.answer)) for one in reviews]
    camps = Camps(panel, asked)
    placed = await camps.place(said)
    debate = Debate([placed[: len(natives)]])
    if reviews:
        debate.hear(placed[len(natives) :])
    ballots = debate.rounds[-1]
    winner = leader(ballots, [debate.native.counts])
    decided, counts = voice(ballots, winner), plurality([one.camp for one in ballots]).counts
    await panel.tally("plurality", counts, winner, ties=["native plurality", "strength"])
    return Decision(
        answer=decided.text,
        final_answer=decided.short,
        stop_reason="aggregated" if reviews else "no_aggregator",
        dissent=debate.dissent(ballots, winner),
        confidence=debate.backing(winner),
        confidence_rule=RULE,
        detail={
            **debate.detail(ballots),
            "seats": _before_and_after(debate, bool(reviews)),
            "reviews": [one.told for one in reviews],
            "judged": camps.judged,
        },
        **standing(counts, winner),
    )


def _before_and_after(debate: Debate, aggregated: bool) -> list[dict[str, Any]]:
    """For each seat its native and its aggregated answer, None where it gave none."""
    native = {one.seat.label: one for one in debate.natives}
    after = {one.seat.label: one for one in debate.rounds[-1]} if aggregated else {}
    return [
        {
            "seat": label,
            "model": one.seat.model,
            "native": native[label].camp if label in native else None,
            "aggregated": after[label].camp if label in after else None,
        }
        for label, one in (after | native).items()
    ]


def _calls(scope: Scope) -> tuple[int, int]:
    each = scope.options["aggregators"] == "each"
    calls = (0 if scope.responses else len(scope.seats)) + (len(scope.seats) if each else 1)
    return calls, calls + 2 * each  # to sort answers that are not short


PROTOCOL = Protocol(
    name="aggregate",
    summary="blind peer review: answers without names, and a reader who accepts or rejects their steps",
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
    presets={"quick": {"aggregators": "one"}, "deep": {"aggregators": "each"}},
)
