"""The answer to a conversation: the end of its run, cut where the request says so, with a line about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ....core.caching.regex import regex
from ....core.models import money
from ....protocols.shared.call_form import CALLS
from ....run.result import Result
from ...views.certainty import agreement_words, objections_words
from .conversation import Conversation
from .tools import Call, Tools

__all__ = ["Answer", "cut", "limited", "pieces"]

CHARS_OF_TOKEN = 4
_FENCED = regex(r"```\w*\n(.*)\n```", re.DOTALL)
PIECE = 80
"""About how many characters of an answer are sent at once."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a run. text: without the footer. finish: stop, length, stop_sequence or tool_calls.

    stopped_at: the sequence that ended it, or None. calls: of the client's tools, which the text then comes
    before.
    """

    result: Result
    text: str
    footer: str
    finish: str
    stopped_at: str | None
    calls: tuple[Call, ...] = ()

    @classmethod
    def of(cls, result: Result, conversation: Conversation, link: str) -> Answer:
        """The answer of a decided run. link: to the run, for people."""
        if calls := result.detail.get(CALLS):
            tools = conversation.tools or Tools()
            prose = str(result.detail.get("prose") or "")
            # Half a call is none.
            if (
                conversation.max_tokens is None
                or _cut(result.answer or "", conversation.max_tokens) == result.answer
            ):
                return cls(result, prose, "", "tool_calls", None, tools.calls(result.run_id, calls))
            return cls(result, _cut(prose, conversation.max_tokens), "", "length", None)
        text, finish, stopped_at = limited(result.answer or "", conversation)
        shown = conversation.footer and finish == "stop" and not _is_json(text)
        footer = _footer(result, link) if shown else ""
        return cls(result, text, footer, finish, stopped_at)

    @property
    def shown(self) -> str:
        """The text with its footer."""
        return self.text + self.footer

    @property
    def usage(self) -> dict[str, Any]:
        """Tokens and cost of all calls of the run."""
        return dict(self.result.usage)


def limited(text: str, conversation: Conversation) -> tuple[str, str, str | None]:
    """Return a text within the limits of the request, how it ends, and the sequence that it ends before."""
    finish, stopped_at = "stop", None
    if found := _first(text, conversation.stop):
        text, finish, stopped_at = text[: found[0]], "stop_sequence", found[1]
    if conversation.max_tokens is not None and (cut := _cut(text, conversation.max_tokens)) != text:
        text, finish, stopped_at = cut, "length", None
    return text, finish, stopped_at


def pieces(text: str) -> list[str]:
    """`text` in pieces of about `PIECE` characters that end after white space."""
    found: list[str] = []
    start = 0
    while start < len(text):
        end = start + PIECE
        while end < len(text) and not text[end - 1].isspace():
            end += 1
        found.append(text[start:end])
        start = end
    return found


def cut(text: str, size: int) -> Iterator[str]:
    """Yield `text` in pieces of `size` characters."""
    return (text[start : start + size] for start in range(0, len(text), size))


def _first(text: str, stop: Sequence[str]) -> tuple[int, str] | None:
    """Where the sequence begins that a reader of the text completes first, and which one it is."""
    found = [(at + len(one), at, one) for one in stop if one and (at := text.find(one)) >= 0]
    return min(found)[1:] if found else None


def _cut(text: str, tokens: int) -> str:
    """The start of `text` with about `tokens` tokens. Models differ; here four characters are one."""
    fits = tokens * CHARS_OF_TOKEN
    return text if len(text) <= fits else text[:fits].rstrip()


def _is_json(text: str) -> bool:
    """Whether a text is a JSON object or array, alone or in a fence: programs read it whole."""
    found = _FENCED.fullmatch(text.strip())
    try:
        return isinstance(json.loads(found[1] if found else text), dict | list)
    except (ValueError, RecursionError):
        return False


def _footer(result: Result, link: str) -> str:
    document = result.to_json()
    known = (agreement_words(document), objections_words(document))
    facts = [*filter(None, known), money(result.usage["cost_usd"]), f"[run {result.run_id}]({link})"]
    return "\n\n---\n" + " · ".join(facts)
