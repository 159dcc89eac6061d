"""Making a request fit a model's window: what others said is shortened, never what is asked.

The longest pieces of material lose their middle first, until all of it fits. The same request and room
give the same result, so a replay sends what was sent before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .steps import Ask
from .text import Prompt, shorten

__all__ = ["fit", "tokens"]

BYTES_PER_TOKEN = 3
"""Fewer than tokenizers make of prose (four and more), about what they make of code and of CJK."""
SHORTEST = 400
"""Characters that are left of any piece: less of it would mislead."""


def tokens(text: str) -> int:
    """About how many tokens `text` has. `estimate_tokens` is an upper bound; this is nearer the truth."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1


def fit(ask: Ask, room: int) -> tuple[Ask, int] | None:
    """`ask` in at most `room` tokens, and the characters left out of it; None where it cannot be done."""
    if _size(ask) <= room:
        return ask, 0
    longest = max((end - start for start, end in ask.prompt.material), default=0)
    longest = max([longest, *(len(result) for turn in ask.turns for result in turn.results)])
    low, high = SHORTEST, longest
    best: Ask | None = None
    while low <= high:
        middle = (low + high) // 2
        cut = _cut(ask, middle)
        if _size(cut) <= room:
            best, low = cut, middle + 1
        else:
            high = middle - 1
    return None if best is None else (best, _length(ask) - _length(best))


def _cut(ask: Ask, most: int) -> Ask:
    turns = tuple(replace(t, results=tuple(shorten(r, most) for r in t.results)) for t in ask.turns)
    return replace(ask, prompt=_cut_prompt(ask.prompt, most), turns=turns)


def _cut_prompt(prompt: Prompt, most: int) -> Prompt:
    out, done = [], 0
    for start, end in prompt.material:
        out += [prompt.text[done:start], shorten(prompt.text[start:end], most)]
        done = end
    return replace(prompt, text="".join(out) + prompt.text[done:], material=())


def _texts(ask: Ask) -> Sequence[str]:
    return [ask.prompt.text, *(text for turn in ask.turns for text in (turn.text, *turn.results))]


def _size(ask: Ask) -> int:
    return sum(map(tokens, _texts(ask)))


def _length(ask: Ask) -> int:
    return sum(map(len, _texts(ask)))
