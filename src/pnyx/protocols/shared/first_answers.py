"""The answers that seats have before they read each other: from calls, or the responses of the request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from ...core.answers.same.grouping import MAX_CHARS
from ...core.decision import Given
from ...core.models import Seat, strongest
from ...core.steps import Brief, Panel, Reply
from ...core.text import Draft
from ...core.voting.stopping import (
    ENOUGH_JUDGED,
    FULL_POLL_EVERY,
    MIN_ANSWERS,
    STOP_POSTERIOR,
    is_settled,
    pending_weights,
)
from ...errors import NoQuorum
from .poll import Poll

__all__ = ["get_first_answers", "get_votes", "judges", "may_stop_early", "models_first", "settled"]


async def get_first_answers(brief: Brief, panel: Panel, draft: Draft) -> list[Reply]:
    """Return the reply of every seat to `draft`, in parallel; or, without a call, the request's responses.

    Responses replace the replies of the seats in their order. One beyond the last seat has its own label, and
    no seat that can be called. Raises `NoQuorum` for fewer than two answers.
    """
    if not brief.responses:
        return await panel.all([panel.work(seat, draft) for seat in panel.seats], quorum=2)
    return _responses(brief, panel, draft)


def _responses(brief: Brief, panel: Panel, draft: Draft) -> list[Reply]:
    responses = [(n, response) for n, response in enumerate(brief.responses) if response.answer.strip()]
    if len(responses) < 2:
        raise NoQuorum(f"{len(responses)} of {len(brief.responses)} responses have an answer, 2 needed")
    return [Reply(panel.ask(_author(panel, n, one), draft), _text(one)) for n, one in responses]


async def get_votes(
    brief: Brief, panel: Panel, draft: Draft, early: bool, quorum: int = 1
) -> tuple[list[Reply], list[Seat] | None]:
    """Return the replies of all seats, or the responses of the request; and the seats that were not called.

    early: if votes of several models have learned weights, each from `ENOUGH_JUDGED` answers or more, call
    only as many seats as could still change the answer: the two strongest models first, then one at a time.
    One question in `FULL_POLL_EVERY`, drawn by the seed, still calls all seats, to learn from. The seats not
    called are None if all were called at once.
    Raises `NoQuorum` if fewer than `quorum` seats answer.
    """
    if brief.responses:
        return _responses(brief, panel, draft), None
    ranked = models_first(strongest(panel.seats))
    full_poll = panel.shuffle(range(FULL_POLL_EVERY), "everybody", brief.question)[0] == 0
    weighted = may_stop_early(ranked)
    few_models = len({seat.model for seat in ranked}) < MIN_ANSWERS
    if not early or full_poll or few_models or not weighted:
        return await panel.all([panel.work(seat, draft) for seat in panel.seats], quorum), None
    replies: list[Reply] = []
    calls = 0
    while not settled(replies, ranked[calls:], brief.question):
        turn = ranked[calls : max(calls + 1, MIN_ANSWERS)]
        calls += len(turn)
        replies += await panel.all([panel.work(seat, draft) for seat in turn], quorum=0)
    order = {seat.label: place for place, seat in enumerate(panel.seats)}
    if len(replies) < quorum:
        # An empty parallel step raises the usual `NoQuorum`.
        await panel.all([], quorum)
    replies = sorted(replies, key=lambda reply: order[reply.seat.label])
    return replies, sorted(ranked[calls:], key=lambda seat: order[seat.label])


def may_stop_early(seats: Collection[Seat]) -> bool:
    """Whether enough is known of the models of all seats for a vote to end without some of them."""
    return all(
        seat.weight is not None and (seat.judged is None or seat.judged >= ENOUGH_JUDGED) for seat in seats
    )


def models_first(ranked: Sequence[Seat]) -> list[Seat]:
    """Return the seats in this order, but further seats of the same model last: they repeat it."""
    seats_of = Counter[str]()
    places = {}
    for seat in ranked:
        places[seat] = seats_of[seat.model]
        seats_of[seat.model] += 1
    return sorted(ranked, key=places.__getitem__)


def settled(
    replies: Sequence[Reply], waiting: Sequence[Seat], question: str, sure: float = STOP_POSTERIOR
) -> bool:
    """Whether the `waiting` seats could no longer change the answer, or its posterior is at least `sure`.

    Every seat needs a learned weight.
    """
    poll, models = (
        Poll.of(replies, question=question),
        {reply.seat.model: reply for reply in reversed(replies)},
    )
    by_model = Poll.of(list(models.values()), question=question)
    counted = [reply.seat for reply, answer in zip(replies, poll.answers, strict=True) if answer is not None]
    left = pending_weights([seat.weight or 0.0 for seat in counted], [seat.weight or 0.0 for seat in waiting])
    answers = sum(answer is not None for answer in by_model.answers)
    return is_settled(poll.tally.counts, answers, left, by_model=by_model.tally.counts, sure=sure)


def judges(brief: Brief, panel: Panel, poll: Poll) -> tuple[Seat, ...]:
    """Return the seats that may judge: the request's judge, then the voters, strongest first.

    If the request has responses, all seats may.
    """
    return panel.closers(strongest(panel.seats) if brief.responses else poll.seats)


def _author(panel: Panel, n: int, response: Given) -> Seat:
    if n >= len(panel.seats):
        return Seat(f"Participant {n + 1}", response.source or "given")
    seat = panel.seats[n]
    if response.source in (None, "", seat.model):
        return seat
    # The price and weight of the seat's model do not apply to another author.
    return replace(seat, model=response.source, weight=None, price=None, parameters=None)


def _text(response: Given) -> str:
    answer = response.answer.strip()
    short = len(answer) <= MAX_CHARS and "\n" not in answer
    return "\n\n".join(
        filter(None, (response.reasoning.strip(), f"Final answer: {answer}" if short else answer))
    )
