"""Fit a request into a model's context window. Material is shortened, never the question.

Contributions that the task does not need are left out first, oldest first. Then the longest pieces of
material, tool results and tool arguments lose their middle, until everything fits. If that is not enough,
the pieces in the middle of the prompt are left out, since the first and the last matter most; then the oldest
tool turns are dropped. The same request and room always produce the same result, so a replay sends the same
text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..steps import Ask
from ..text import JOINT, Prompt, Spans, shorten
from ..tool_calls import ToolSpec, Turn

__all__ = ["fit", "texts", "tokens"]

BYTES_PER_TOKEN = 3
"""Fewer than the four or more of prose, about as many as in code and CJK."""
MIN_CHARS = 400
"""The least characters to which a piece is shortened: a shorter rest could mislead."""


def tokens(text: str) -> int:
    """The approximate number of tokens of `text`; `text.estimate_tokens` is an upper bound."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1


def texts(ask: Ask, tools: Sequence[ToolSpec] = (), *, thoughts: bool = True) -> list[str]:
    """Every text that a host reads of a request: the prompt, the turns with tool calls and results, the
    definitions of `tools`, and the schema of the reply. thoughts: with those of the turns, which only some
    hosts read."""
    parts = [ask.prompt.system] if ask.prompt.system else []
    turns = ask.turns if thoughts else [replace(turn, thoughts="") for turn in ask.turns]
    parts += [ask.prompt.text, *(text for turn in turns for text in _turn_texts(turn))]
    parts += [_json([tool.name, tool.description, tool.parameters]) for tool in tools]
    return parts if ask.schema is None else [*parts, ask.schema.json]


def fit(ask: Ask, room: int, tools: Sequence[ToolSpec] = ()) -> tuple[Ask, int] | None:
    """`ask` in at most `room` tokens, and how many characters were left out; None if it cannot fit.

    tools: the tools that are sent with it; their definitions count too.
    """
    # The newest turn stays: without it the model would repeat its tool calls.
    for dropped in range(max(len(ask.turns), 1)):
        kept = replace(ask, turns=ask.turns[dropped:]) if dropped else ask
        best = _shortened(kept, room, tools)
        if best is not None:
            return best, _length(ask) - _length(best)
    return None


def _shortened(ask: Ask, room: int, tools: Sequence[ToolSpec]) -> Ask | None:
    if _size(ask, tools) <= room:
        return ask
    fewer = ask
    for _ in ask.prompt.spare:
        fewer = replace(fewer, prompt=_without_spare(fewer.prompt))
        if _size(fewer, tools) <= room:
            return fewer
    ask = fewer
    longest = max((end - start for start, end in ask.prompt.material), default=0)
    # No text in arguments is longer than all of their JSON.
    high = max([longest, *(len(text) for turn in ask.turns for text in _turn_texts(turn))])
    low = MIN_CHARS
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
    cuts = (_cut(ask, MIN_CHARS, pieces - gone) for gone in range(1, pieces))
    return next((cut for cut in cuts if _size(cut, tools) <= room), None)


def _cut(ask: Ask, most: int, pieces: int | None = None) -> Ask:
    prompt = _cut_prompt(ask.prompt, most, len(ask.prompt.material) if pieces is None else pieces)
    return replace(ask, prompt=prompt, turns=tuple(_cut_turn(turn, most) for turn in ask.turns))


def _cut_turn(turn: Turn, most: int) -> Turn:
    return replace(
        turn,
        calls=tuple(replace(call, arguments=_cut_argument(call.arguments, most)) for call in turn.calls),
        results=tuple(shorten(result, most) for result in turn.results),
        thoughts=shorten(turn.thoughts, most),
    )


def _cut_argument(value: Any, most: int) -> Any:
    """An argument of a tool call, with every string in it shortened."""
    match value:
        case str():
            return shorten(value, most)
        case Mapping():
            return {name: _cut_argument(one, most) for name, one in value.items()}
        case list():
            return [_cut_argument(one, most) for one in value]
    return value


def _without_spare(prompt: Prompt) -> Prompt:
    """`prompt` without the first of its spare pieces."""
    start, end = prompt.spare[0]
    end += len(JOINT)  # another piece or the task follows

    def moved(spans: Spans) -> Spans:
        outside = [span for span in spans if span[1] <= start or span[0] >= end]
        return tuple((a, b) if b <= start else (a - end + start, b - end + start) for a, b in outside)

    return replace(
        prompt,
        text=prompt.text[:start] + prompt.text[end:],
        material=moved(prompt.material),
        spare=moved(prompt.spare),
        breaks=tuple(at for at in prompt.breaks if at <= start),
    )


def _cut_prompt(prompt: Prompt, most: int, pieces: int) -> Prompt:
    """`prompt` with `pieces` pieces of its material, half from the start and half from the end, each cut to
    `most` characters; of the others only their lengths remain."""
    out, done = [], 0
    first, last = (pieces + 1) // 2, len(prompt.material) - pieces // 2
    for n, (start, end) in enumerate(prompt.material):
        out += [
            prompt.text[done:start],
            shorten(prompt.text[start:end], most if n < first or n >= last else 0),
        ]
        done = end
    # Of a shortened prompt, later ones share at most what is before its first piece of material.
    first_piece = min((start for start, _ in prompt.material), default=0)
    breaks = tuple(at for at in prompt.breaks if at <= first_piece)
    return replace(prompt, text="".join(out) + prompt.text[done:], material=(), breaks=breaks, spare=())


def _turn_texts(turn: Turn) -> list[str]:
    calls = (text for call in turn.calls for text in (call.name, _json(call.arguments)))
    return [turn.text, *calls, *turn.results, *filter(None, [turn.thoughts])]


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, default=dict)


def _size(ask: Ask, tools: Sequence[ToolSpec]) -> int:
    return sum(map(tokens, texts(ask, tools)))


def _length(ask: Ask) -> int:
    return sum(map(len, texts(ask)))
