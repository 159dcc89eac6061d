"""What fits a seat's window: a request, and the reply to it."""

from __future__ import annotations

import math

from ..core.compaction import tokens
from ..core.models import Seat

__all__ = ["room", "window"]

REPLY_TOKENS = 1024
"""What is kept free for a reply, at most."""


def window(seat: Seat) -> float:
    """Tokens that a request to the seat may have, with some of its window left for the reply."""
    return math.inf if seat.context is None else seat.context - min(seat.context // 4, REPLY_TOKENS)


def room(seat: Seat, prompt: str, limit: int) -> int:
    """Output tokens to ask for: the limit, the model's own, and what its window leaves, at least 16."""
    room = limit if seat.max_output is None else min(limit, seat.max_output)
    if seat.context is not None:
        room = min(room, seat.context - tokens(prompt))
    return max(room, 16)
