"""Who challenges a proposal, and who does where they are silent."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.models import Seat
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...errors import NoQuorum
from .verdict import ask_each

__all__ = ["challenged", "challengers"]


async def challenged(panel: Panel, proposer: Seat, framed: Sequence[Draft]) -> list[Reply]:
    """Challenges from those angles. Raises `NoQuorum` where nobody but the proposer's own seat has any."""
    ranked, count = challengers(panel.seats, proposer), len(framed)
    instead = [seat for seat in ranked[count:] if seat != proposer]
    challenges = await ask_each(panel, [*ranked[:count], *instead], framed)
    if len(panel.seats) > 1 and all(challenge.seat == proposer for challenge in challenges):
        raise NoQuorum("consensus, challenge: nobody but the proposer's own seat answered")
    return challenges


def challengers(seats: Sequence[Seat], proposer: Seat) -> list[Seat]:
    """Who challenges: other providers first, one of each; then other models; then the proposer's own."""
    rank: dict[Seat, tuple[int, bool]] = {}
    met = {proposer.provider}
    for seat in seats:
        place = 0 if seat.provider not in met else 1 if seat.model != proposer.model else 2
        met.add(seat.provider)
        rank[seat] = (place, seat == proposer)
    return sorted(seats, key=rank.__getitem__)
