"""The answers that seats have before they hear of each other: asked for, or given with the brief."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...core.answers.grouping import MAX_CHARS
from ...core.decision import Given
from ...core.models import Seat, strongest
from ...core.steps import Brief, Panel, Reply
from ...core.stopping import FULL_POLL_EVERY, MIN_ANSWERS, is_settled, pending_weights
from ...core.text import Draft
from ...errors import NoQuorum
from .poll import Poll

__all__ = ["judges", "native_answers", "votes"]


async def native_answers(brief: Brief, panel: Panel, draft: Draft) -> list[Reply]:
    """The reply of every seat to `draft`, in parallel; or, without any call, the answers given.

    Given answers stand for the replies of the seats in their order; one beyond the last seat has a label
    of its own and nobody to ask. Raises `NoQuorum` when there are fewer than two answers.
    """
    if not brief.responses:
        return await panel.all([panel.work(seat, draft) for seat in panel.seats], quorum=2)
    return _given(brief, panel, draft)


def _given(brief: Brief, panel: Panel, draft: Draft) -> list[Reply]:
    given = [(n, given) for n, given in enumerate(brief.responses) if given.answer.strip()]
    if len(given) < 2:
        raise NoQuorum(f"{len(given)} of {len(brief.responses)} given answers say something, 2 needed")
    return [Reply(panel.ask(_author(panel, n, one), draft), _text(one)) for n, one in given]


async def votes(
    brief: Brief, panel: Panel, draft: Draft, early: bool
) -> tuple[list[Reply], list[Seat] | None]:
    """The replies of all seats, in parallel, or the answers given. Raises `NoQuorum` when nobody answers.

    early: where it is known what votes of several models are worth, only of as many seats as could still
    change the answer: the two strongest models first, then one at a time; but all in one question of
    `FULL_POLL_EVERY`, drawn by the seed, to learn from. The second value is who was not asked, None where all
    were asked together.
    """
    if brief.responses:
        return _given(brief, panel, draft), None
    ranked = _models_first(panel.seats)
    everybody = panel.shuffle(range(FULL_POLL_EVERY), "everybody", brief.question)[0] == 0
    known = all(seat.weight is not None for seat in ranked)
    alone = len({seat.model for seat in ranked}) < MIN_ANSWERS
    if not early or everybody or alone or not known:
        return await panel.all([panel.work(seat, draft) for seat in panel.seats]), None
    heard: list[Reply] = []
    asked = 0
    while not _settled(heard, ranked[asked:]):
        turn = ranked[asked : max(asked + 1, MIN_ANSWERS)]
        asked += len(turn)
        heard += await panel.all([panel.work(seat, draft) for seat in turn], quorum=0)
    order = {seat.label: place for place, seat in enumerate(panel.seats)}
    # Nobody answered: said in the words of a parallel step.
    heard = sorted(heard, key=lambda reply: order[reply.seat.label]) or await panel.all([])
    return heard, sorted(ranked[asked:], key=lambda seat: order[seat.label])


def _models_first(seats: tuple[Seat, ...]) -> list[Seat]:
    """Strongest first, but a model's further seats behind all other models: they repeat it."""
    ranked, met = strongest(seats), Counter[str]()
    places = {}
    for seat in ranked:
        places[seat] = met[seat.model]
        met[seat.model] += 1
    return sorted(ranked, key=places.__getitem__)


def _settled(heard: Sequence[Reply], waiting: Sequence[Seat]) -> bool:
    """Whether those who wait need not be asked."""
    poll, models = Poll.of(heard), {reply.seat.model: reply for reply in reversed(heard)}
    by_model = Poll.of(list(models.values()))
    counted = [reply.seat for reply, answer in zip(heard, poll.answers, strict=True) if answer is not None]
    left = pending_weights([seat.weight or 0.0 for seat in counted], [seat.weight or 0.0 for seat in waiting])
    answers = sum(answer is not None for answer in by_model.answers)
    return is_settled(poll.tally.counts, answers, left, by_model=by_model.tally.counts)


def judges(brief: Brief, panel: Panel, poll: Poll) -> tuple[Seat, ...]:
    """Who may judge answers, strongest first: those who answered; where answers were given, any seat."""
    return strongest(panel.seats) if brief.responses else poll.seats


def _author(panel: Panel, n: int, given: Given) -> Seat:
    if n >= len(panel.seats):
        return Seat(f"Participant {n + 1}", given.source or "given")
    seat = panel.seats[n]
    if given.source in (None, "", seat.model):
        return seat
    # What is known of the seat's model says nothing of another author.
    return replace(seat, model=given.source, weight=None, price=None, parameters=None)


def _text(given: Given) -> str:
    answer = given.answer.strip()
    short = len(answer) <= MAX_CHARS and "\n" not in answer
    return "\n\n".join(
        filter(None, (given.reasoning.strip(), f"Final answer: {answer}" if short else answer))
    )
