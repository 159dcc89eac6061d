"""A provider for tests: it answers from a script and contacts no host."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from ..core.models import Usage
from ..errors import ProviderError
from .base import Call, Completion

__all__ = ["FakeProvider", "ScriptedReply"]

ScriptedReply: TypeAlias = "str | Completion | Exception"


class FakeProvider:
    """Answers every call from `script`: replies in order, or a function of the call, plain or async.

    A reply is a text, a whole `Completion`, or an exception to raise. Texts are reported as using one
    token for four characters, which cost nothing unless `[models]` sets a price. `calls` lists every call.
    When the replies run out, a call raises `ProviderError` of kind "unavailable".

    >>> import asyncio
    >>> from pnyx.errors import ProviderError
    >>> from pnyx.providers.base import Call, Message
    >>> call = Call("any", (Message("user", "Is 7 prime?"),), max_tokens=100)
    >>> fake = FakeProvider(["Yes, it is.", ProviderError("rate_limited", "slow down", retry_after=2.0)])
    >>> words = []
    >>> asyncio.run(fake.complete(call, words.append)).text
    'Yes, it is.'
    >>> words
    ['Yes, ', 'it ', 'is.']
    >>> asyncio.run(fake.complete(call))
    Traceback (most recent call last):
    pnyx.errors.ProviderError: slow down
    >>> [c.messages[0].text for c in fake.calls]
    ['Is 7 prime?', 'Is 7 prime?']

    With a function:

    >>> shout = FakeProvider(lambda call: call.messages[-1].text.upper())
    >>> asyncio.run(shout.complete(call)).text
    'IS 7 PRIME?'
    """

    free = True

    def __init__(
        self, script: Iterable[ScriptedReply] | Callable[[Call], ScriptedReply | Awaitable[ScriptedReply]]
    ) -> None:
        self.calls: list[Call] = []
        self._script = script if callable(script) else _in_order(script)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.calls.append(call)
        reply = self._script(call)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            sent = sum(len(message.text) for message in call.messages)
            reply = Completion(reply, Usage(sent // 4, 0, len(reply) // 4), model=call.model)
        if on_text is not None:
            for word in re.findall(r"\S*\s+|\S+", reply.text):
                on_text(word)
        return reply

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def _in_order(replies: Iterable[ScriptedReply]) -> Callable[[Call], ScriptedReply]:
    remaining = iter(replies)
    end = ProviderError("unavailable", "the fake provider has no replies left")
    return lambda call: next(remaining, end)
