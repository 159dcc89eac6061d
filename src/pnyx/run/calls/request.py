"""What one call asks of its host: shortened until it fits, measured, and as its provider gets it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

from ...core.context.compaction import fit, texts, tokens
from ...core.steps import Ask
from ...core.text import most_tokens
from ...core.thinking import Thinking
from ...core.tool_calls import ToolSpec
from ...providers.base import Call, Provider, counted_tokens
from ..context import RunContext
from .context_window import image_tokens, thinking_limit
from .counted_prompts import Bound, Prefix, prefixes, whole_text
from .host_search import TOOL
from .messages import cache_key, messages

__all__ = ["CallRequest"]

WORTH_TOKENS = 1_000
"""Of a text that a host is asked to count: a shorter one costs little beside its reply."""
LOOSE = 0.5
"""Tokens that each of its characters may need. Prose in English or German and code may need 0.4 at most,
which a count lowers little."""


class CallRequest:
    """The request for one step. key: of the call.

    ask: as it is sent. cut_chars: characters left out of it. searches: how many the host may make. size:
    about how many tokens its text has. input_tokens: the most. prefixes: of its text. image_tokens: the most
    of its images, which are no part of its text. is_counted: whether its host was asked for the tokens of its
    text. is_loose: whether it may have far fewer than the most.
    """

    def __init__(self, context: RunContext, key: str, ask: Ask, thinking: Thinking) -> None:
        self._context, self._key, self._full, self._thinking = context, key, ask, thinking
        self.ask, self.cut_chars, self.searches = ask, 0, 0
        self.size = self.input_tokens = 0
        self.prefixes: Sequence[Prefix] = ()
        self.is_counted = self.is_loose = False
        self._images = [file for file in context.spec.files if file.content in ask.prompt.images]
        self.image_tokens = image_tokens(ask.seat, self._images)

    def fit(self, token_limit: float) -> bool:
        """Shorten replies of others and the tools' arguments and results until the request has at most
        `token_limit` tokens. Return whether that succeeded."""
        # Always from the full request: a shortened one no longer marks which parts are replies of others.
        room = min(token_limit - self.image_tokens, sys.maxsize)
        if (shortened := fit(self._full, int(room), self.tools())) is None:
            return False
        self.ask, self.cut_chars = shortened
        text = self.text()  # not kept, as it is a copy of the prompt
        self.size, self.input_tokens = tokens(text), most_tokens(text, self.ask.seat.name)
        self.is_loose = self.input_tokens > LOOSE * len(text)
        self.prefixes = tuple(prefixes(self.ask))
        return True

    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools of the request, without search if the host searches or none is open."""
        toolbox = self._context.toolbox
        return toolbox.specs(
            name for name in self.ask.tools if name != TOOL or (not self.searches and name in toolbox.tools)
        )

    def text(self, thoughts: bool = True) -> str:
        """Return all text that counts as tokens, see `texts`."""
        return "\n".join(texts(self.ask, self.tools(), thoughts=thoughts))

    def bound(self) -> Bound:
        """Return the most tokens of its text, by what hosts have counted too."""
        counted, name = self._context.counted_prompts, self.ask.seat.name
        return counted.bound(self.prefixes, self.text, name, self.input_tokens)

    def may_count(self, bound: Bound) -> bool:
        """Whether its host may be asked for the tokens of its text: once, if they may be far fewer."""
        may_ask = self._context.counted_prompts.may_ask and not self.is_counted
        return may_ask and self.is_loose and bound.by_letters >= WORTH_TOKENS

    async def count(self, provider: Provider, max_tokens: int, seconds: float) -> None:
        """Ask the host for the tokens of its text, which makes `bound` closer if it knows them in time.

        Without the images, whose tokens are known, and which some hosts do not count.
        """
        self.is_counted = True
        call = replace(self.call(max_tokens, seconds), messages=messages(self.ask))
        if (counted := await counted_tokens(provider, call)) is not None:
            self.prefixes = (*self.prefixes, whole_text(self.ask, self.text()))
            self._context.counted_prompts.note_asked(self.prefixes, counted, self.input_tokens)

    def note_charged(self, tokens: int) -> None:
        """Remember for how many tokens of input its host has charged."""
        counted = self._context.counted_prompts
        counted.note(self.prefixes, tokens)
        if not self.searches:
            of_text = tokens - self.image_tokens
            counted.compare(self.prefixes, of_text)
            counted.note_more(self.ask.seat.name, max(of_text - self.input_tokens, 0))

    def call(self, max_tokens: int, timeout: float | None) -> Call:
        """Return the call with a limit of its output. timeout: seconds until its deadline."""
        context, seat, limits = self._context, self.ask.seat, self._context.spec.limits
        return Call(
            model=seat.name,
            messages=messages(self.ask, self._images),
            tools=self.tools(),
            max_tokens=max_tokens,
            temperature=seat.temperature if seat.temperature is not None else limits.temperature,
            # With one seed for all calls, seats of one model would return the same reply.
            seed=None if limits.seed is None else crc32(f"{limits.seed}{self._key}".encode()),
            schema=self.ask.schema,
            timeout_s=timeout,
            searches=self.searches,
            cache_key=cache_key(context.spec.salt, seat.model),
            effort=self._thinking.effort,
            thinking_tokens=thinking_limit(self._thinking, max_tokens),
            traceparent=context.traceparent(self._key),
        )
