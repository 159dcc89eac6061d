"""How many tokens of a request and of its reply fit the window of a seat."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.compaction import tokens
from ..core.files import File
from ..core.models import Seat
from ..core.thinking import Thinking
from ..errors import UsageError

__all__ = ["check_files_fit", "output_limit", "request_limit", "room_left", "thinking_limit"]

REPLY_TOKENS = 1024
"""The most tokens that are reserved for the reply."""
PROMPT_TOKENS = 800
"""About as many as our longest prompts have beside the question and its material."""


def request_limit(seat: Seat) -> float:
    """Return the most tokens of a request to the seat, which leaves some of its window for the reply."""
    return math.inf if seat.context is None else seat.context - min(seat.context // 4, REPLY_TOKENS)


def room_left(seat: Seat, question: str, files: Sequence[File]) -> float:
    """Return how many tokens of a request to the seat are left for what seats write, below 0 if none.

    The question and the files are never shortened.
    """
    images = sum(one.tokens for one in files if one.is_image) if seat.images else 0
    texts = sum(tokens(one.text) for one in files)
    return request_limit(seat) - PROMPT_TOKENS - tokens(question) - texts - images


def check_files_fit(seats: Sequence[Seat], question: str, files: Sequence[File]) -> None:
    """Raise `UsageError` if the files leave the seat with the smallest window no room."""
    if not files:
        return
    smallest = min(seats, key=lambda seat: room_left(seat, question, files))
    if room_left(smallest, question, files) >= 0:
        return
    largest = max(files, key=lambda one: one.tokens)
    size = sum(tokens(one.text) for one in files)
    raise UsageError(
        f"the files do not fit: they take about {size:,} tokens, and the window of {smallest.model} has "
        f"{smallest.context or 0:,}, with the question and the reply in it. Give fewer or shorter files (the "
        f"largest is {largest.name}), or a panel of models with larger windows: `pnyx models` lists them"
    )


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
