"""The messages of a request to a model."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from hashlib import sha256

from ...core.context.files import File
from ...core.steps import Ask
from ...providers.base import Image, Message

__all__ = ["cache_key", "messages"]


def cache_key(salt: str, model: str) -> str:
    """A name for the requests of the runs with this salt to one model, which says nothing about either."""
    return sha256(f"{salt} {model}".encode()).hexdigest()[:32]


def messages(ask: Ask, images: Iterable[File] = ()) -> tuple[Message, ...]:
    """The prompt and the tool turns of `ask`, as a provider gets them. images: those of the prompt."""
    shown = tuple(Image(file.media_type, b64decode(file.image)) for file in images)
    turns = [Message("system", ask.prompt.system)] if ask.prompt.system else []
    turns.append(Message("user", ask.prompt.text, breaks=ask.prompt.breaks, images=shown))
    for turn in ask.turns:
        turns.append(Message("assistant", turn.text, turn.calls, thoughts=turn.thoughts))
        turns += [
            Message("tool", result, tool_call_id=call.id, tool_name=call.name)
            for call, result in zip(turn.calls, turn.results, strict=True)
        ]
    return tuple(turns)
