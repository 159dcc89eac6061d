"""Challenges of a proposal: which seats write them, which replace a silent one, and which of them object."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.context.reply_sizes import CHALLENGE
from ...core.models import Seat
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...errors import NoQuorum
from .verdict import ask_each

__all__ = ["ask_challenges", "challengers", "same_cache"]


async def ask_challenges(panel: Panel, proposer: Seat, drafts: Sequence[Draft]) -> list[Reply]:
    """Return one challenge for each draft. Raises `NoQuorum` if only the proposer's own seat answers."""
    ranked, count = challengers(panel.seats, proposer), len(drafts)
    substitutes = [seat for seat in ranked[count:] if seat != proposer]
    challenges = await ask_each(panel, [*ranked[:count], *substitutes], drafts, CHALLENGE.limit)
    if len(panel.seats) > 1 and all(challenge.seat == proposer for challenge in challenges):
        raise NoQuorum("consensus, challenge: nobody but the proposer's own seat answered")
    return challenges


def challengers(seats: Sequence[Seat], proposer: Seat) -> list[Seat]:
    """Return the seats in the order in which they challenge.

    One seat of each other provider comes first, then other models, then the proposer's own model.
    """
    rank: dict[Seat, tuple[int, bool]] = {}
    providers = {proposer.provider}
    for seat in seats:
        place = 0 if seat.provider not in providers else 1 if seat.model != proposer.model else 2
        providers.add(seat.provider)
        rank[seat] = (place, seat == proposer)
    return sorted(seats, key=rank.__getitem__)


def same_cache(panel: Panel, challengers: int) -> bool:
    """Return whether a model may both propose and challenge, and so has the debate in its cache.

    To a model that only challenges, it would be new: it reads the proposals alone.
    """
    return not len({seat.model for seat in panel.seats}) == len(panel.seats) > challengers
