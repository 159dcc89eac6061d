"""How many tokens of a request and of its reply fit the window of a seat."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import ceil

from ...core.context.compaction import tokens
from ...core.context.files import File
from ...core.models import Seat
from ...core.thinking import Thinking
from ...errors import FileProblem, UsageError
from ...providers.images import image_factor

__all__ = [
    "check_files_fit",
    "check_question_fits",
    "image_tokens",
    "output_limit",
    "request_limit",
    "room_left",
    "shorter",
    "thinking_limit",
]

REPLY_TOKENS = 1024
"""The most tokens that are reserved for the reply."""
PROMPT_TOKENS = 800
"""About as many as our longest prompts have beside the question and its material."""
SHORTER = (0.6, 0.8)
"""Shares to which a too long request is shortened; the second if the question is too long for the first."""
MARGINS = (0.8, 0.95)
"""Of what fits by a host's numbers: its window is for the reply too, and its tokens are not our estimate."""


def request_limit(seat: Seat) -> float:
    """Return the most tokens of a request to the seat, which leaves some of its window for the reply."""
    return math.inf if seat.context is None else seat.context - min(seat.context // 4, REPLY_TOKENS)


def shorter(fits: float | None) -> tuple[float, ...]:
    """Return the shares to which a request that its host finds too long is shortened, the best one first.

    fits: the share that fits by the numbers of the host, or None.
    """
    known = (fits * margin for margin in MARGINS if fits is not None)
    return (*(share for share in known if share < SHORTER[0]), *SHORTER)


def room_left(seat: Seat, question: str, files: Sequence[File]) -> float:
    """Return how many tokens of a request to the seat are left for what seats write, below 0 if none.

    The question and the files are never shortened.
    """
    texts = sum(tokens(one.text) for one in files)
    return request_limit(seat) - PROMPT_TOKENS - tokens(question) - texts - image_tokens(seat, files)


def image_tokens(seat: Seat, files: Iterable[File]) -> int:
    """Return the most tokens that the seat's host counts for the images among the files."""
    if not seat.images:
        return 0
    return ceil(sum(one.tokens for one in files if one.is_image) * image_factor(seat.name))


def check_question_fits(seats: Sequence[Seat], question: str, quorum: int) -> None:
    """Raise `UsageError` if the windows of fewer than `quorum` seats hold the question, which is not cut."""
    size = tokens(question)
    if sum(size <= request_limit(seat) for seat in seats) >= min(quorum, len(seats)):
        return
    smallest = min(seats, key=request_limit)
    raise UsageError(
        f"the question is too long: it takes about {size:,} tokens, and the window of {smallest.model} has "
        f"{smallest.context or 0:,}, with the reply in it. Shorten it, or name a panel of models with larger "
        "windows: `pnyx models` lists them"
    )


def check_files_fit(seats: Sequence[Seat], question: str, files: Sequence[File]) -> None:
    """Raise `FileProblem` if the files leave the seat with the smallest window no room, or if no seat reads
    the images among them.
    """
    if not files:
        return
    images = [one.name for one in files if one.is_image]
    if images and not any(seat.images for seat in seats):
        models = ", ".join(dict.fromkeys(seat.model for seat in seats))
        raise FileProblem(
            f"no model of the panel reads images ({', '.join(images)}): {models}. Add one that does, as with "
            f'"models", or set images = true in [models."{seats[0].model}"] if it does'
        )
    smallest = min(seats, key=lambda seat: room_left(seat, question, files))
    if room_left(smallest, question, files) >= 0:
        return
    largest = max(files, key=lambda one: one.tokens)
    size = sum(tokens(one.text) for one in files)
    raise FileProblem(
        f"the files do not fit: they take about {size:,} tokens, and the window of {smallest.model} has "
        f"{smallest.context or 0:,}, with the question and the reply in it. Give fewer or shorter files (the "
        f"largest is {largest.name}), or a panel of models with larger windows: `pnyx models` lists them"
    )


def output_limit(seat: Seat, prompt: int, limit: int) -> int:
    """Return the most output tokens: the least of `limit`, the model's own and the rest of its window; at
    least 16. prompt: the tokens of the request."""
    tokens_left = limit if seat.max_output is None else min(limit, seat.max_output)
    if seat.context is not None:
        tokens_left = min(tokens_left, seat.context - prompt)
    return max(tokens_left, 16)


def thinking_limit(thinking: Thinking, max_tokens: int) -> int | None:
    """Return the most tokens of thinking in a call of `max_tokens`: at least a quarter is for the answer."""
    return None if thinking.tokens is None else min(thinking.tokens, max_tokens - max_tokens // 4)
