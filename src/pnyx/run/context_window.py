"""How many tokens of a request and of its reply fit the window of a seat."""

from __future__ import annotations

import math

from ..core.compaction import tokens
from ..core.models import Seat
from ..core.thinking import Thinking

__all__ = ["output_limit", "request_limit", "thinking_limit"]

REPLY_TOKENS = 1024
"""The most tokens that are reserved for the reply."""


def request_limit(seat: Seat) -> float:
    """Return the most tokens of a request to the seat, which leaves some of its window for the reply."""
    return math.inf if seat.context is None else seat.context - min(seat.context // 4, REPLY_TOKENS)


def output_limit(seat: Seat, prompt: str, limit: int) -> int:
    """Return the most output tokens: the least of `limit`, the model's own and the rest of its window; at
    least 16."""
    tokens_left = limit if seat.max_output is None else min(limit, seat.max_output)
    if seat.context is not None:
        tokens_left = min(tokens_left, seat.context - tokens(prompt))
    return max(tokens_left, 16)


def thinking_limit(thinking: Thinking, max_tokens: int) -> int | None:
    """Return the most tokens of thinking in a call of `max_tokens`: at least a quarter is for the answer."""
    return None if thinking.tokens is None else min(thinking.tokens, max_tokens - max_tokens // 4)
