"""Making a request fit a model's window: what others said is shortened, never what is asked.

The longest pieces of material, of what tools gave and of what they were asked lose their middle first, until
all of it fits; where that is not enough, the pieces in the middle of the prompt are left out, since what came
first and what was said last matter most, and then the oldest turns with tools go. The same request and room
give the same result, so a replay sends what was sent before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .steps import Ask
from .text import Prompt, shorten
from .tool_calls import ToolSpec, Turn

__all__ = ["fit", "texts", "tokens"]

BYTES_PER_TOKEN = 3
"""Fewer than tokenizers make of prose (four and more), about what they make of code and of CJK."""
SHORTEST = 400
"""Characters that are left of any piece that is not left out whole: less of it would mislead."""


def tokens(text: str) -> int:
    """About how many tokens `text` has. `estimate_tokens` is an upper bound; this is nearer the truth."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1


def texts(ask: Ask, tools: Sequence[ToolSpec] = ()) -> list[str]:
    """All that a host reads of a request: what is said, asked of tools and given by them, the definitions of
    `tools`, and the schema of the reply."""
    told = [ask.prompt.text, *(text for turn in ask.turns for text in _turn_texts(turn))]
    told += [_json([tool.name, tool.description, tool.parameters]) for tool in tools]
    return told if ask.schema is None else [*told, ask.schema.json]


def fit(ask: Ask, room: int, tools: Sequence[ToolSpec] = ()) -> tuple[Ask, int] | None:
    """`ask` in at most `room` tokens, and the characters left out of it; None where it cannot be done.

    tools: those it is sent with, whose definitions take room too.
    """
    # The newest turn stays: without it the model would ask the same of its tools again.
    for dropped in range(max(len(ask.turns), 1)):
        best = _shortened(replace(ask, turns=ask.turns[dropped:]), room, tools)
        if best is not None:
            return best, _length(ask) - _length(best)
    return None


def _shortened(ask: Ask, room: int, tools: Sequence[ToolSpec]) -> Ask | None:
    if _size(ask, tools) <= room:
        return ask
    longest = max((end - start for start, end in ask.prompt.material), default=0)
    # No text in arguments is longer than all of their JSON.
    high = max([longest, *(len(text) for turn in ask.turns for text in _turn_texts(turn))])
    low = SHORTEST
    best: Ask | None = None
    while low <= high:
        middle = (low + high) // 2
        cut = _cut(ask, middle)
        if _size(cut, tools) <= room:
            best, low = cut, middle + 1
        else:
            high = middle - 1
    if best is not None:
        return best
    pieces = len(ask.prompt.material)
    fewer = (_cut(ask, SHORTEST, pieces - gone) for gone in range(1, pieces))
    return next((cut for cut in fewer if _size(cut, tools) <= room), None)


def _cut(ask: Ask, most: int, pieces: int | None = None) -> Ask:
    prompt = _cut_prompt(ask.prompt, most, len(ask.prompt.material) if pieces is None else pieces)
    return replace(ask, prompt=prompt, turns=tuple(_cut_turn(turn, most) for turn in ask.turns))


def _cut_turn(turn: Turn, most: int) -> Turn:
    return replace(
        turn,
        calls=tuple(replace(call, arguments=_cut_argument(call.arguments, most)) for call in turn.calls),
        results=tuple(shorten(result, most) for result in turn.results),
    )


def _cut_argument(value: Any, most: int) -> Any:
    """What a model wrote as arguments, with every text in it shortened."""
    match value:
        case str():
            return shorten(value, most)
        case Mapping():
            return {name: _cut_argument(one, most) for name, one in value.items()}
        case list():
            return [_cut_argument(one, most) for one in value]
    return value


def _cut_prompt(prompt: Prompt, most: int, pieces: int) -> Prompt:
    """The first half of so many `pieces` of its material, and the second half from the end, each with at most
    `most` characters; of the others no more than how long they were."""
    out, done = [], 0
    first, last = (pieces + 1) // 2, len(prompt.material) - pieces // 2
    for n, (start, end) in enumerate(prompt.material):
        out += [
            prompt.text[done:start],
            shorten(prompt.text[start:end], most if n < first or n >= last else 0),
        ]
        done = end
    return replace(prompt, text="".join(out) + prompt.text[done:], material=())


def _turn_texts(turn: Turn) -> list[str]:
    asked = (text for call in turn.calls for text in (call.name, _json(call.arguments)))
    return [turn.text, *asked, *turn.results]


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, default=dict)


def _size(ask: Ask, tools: Sequence[ToolSpec]) -> int:
    return sum(map(tokens, texts(ask, tools)))


def _length(ask: Ask) -> int:
    return sum(map(len, texts(ask)))
