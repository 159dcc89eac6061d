"""Thoughts at the start of a stream, held back until the tag that ends them.

The chat templates of many models end the prompt with the opening tag, and a server that does not know the
tags passes on thoughts, closing tag and answer as one text. Its start does not say that it is a thought, so
it is held for models that are known to reply so, by an earlier reply or by their name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ....core.caching.regex import regex
from ....core.markup.reasoning import ReasoningSplitter, split

__all__ = ["HeldThoughts", "begins_in_thoughts", "is_all_thoughts", "may_begin_in_thoughts"]

_NAMES = regex(
    r"(?<![a-z0-9])(?:qwq|r1|z1|or1|think|thinking|exaone-deep|minimax-m[12](?:\.\d)?)(?![a-z0-9])",
    re.IGNORECASE,
)
"""Names of models whose prompt ends with an opening tag: QwQ, DeepSeek-R1 and what is distilled from it,
Qwen's and OLMo's "thinking" models, GLM-Z1, Skywork-OR1, EXAONE Deep, MiniMax."""


def may_begin_in_thoughts(model: str) -> bool:
    """Whether the name of a model says that its replies may begin in the middle of its thoughts."""
    return _NAMES.search(model) is not None


def begins_in_thoughts(text: str, reasoning: str) -> bool:
    """Whether a reply begins in the middle of thoughts. reasoning: what the host returned apart from it."""
    return not reasoning and any(mark in text for mark in _CLOSING) and split(text).start > 0


def is_all_thoughts(text: str, reasoning: str) -> bool:
    """Whether a reply has thoughts and no answer. reasoning: what the host returned apart from its text."""
    found = split(text)
    if found.answer.strip() or not (found.reasoning or reasoning.strip()):
        return False
    apart = split(reasoning)
    return not (apart.reasoning and apart.answer.strip())  # some hosts return the answer behind them


_CLOSING = ("</", "[/", "◁/", "|>")
"""What closing tags have, and few texts."""


class HeldThoughts:
    """Passes pieces of a reply on to `show`, but not the thoughts that it begins with.

    has_reasoning: whether the host has returned thoughts apart from the text, which then holds none.
    """

    def __init__(self, show: Callable[[str], None], has_reasoning: Callable[[], bool]) -> None:
        self._show, self._has_reasoning = show, has_reasoning
        self._splitter = ReasoningSplitter()
        self._text = ""
        self._holds = True
        self._has_cut = False

    def add(self, piece: str) -> None:
        if not self._holds:
            self._show(piece)
            return
        self._text += piece
        self._splitter.add(piece)
        if self._splitter.start or self._splitter.is_reasoning or self._has_reasoning():
            self._release()

    def end(self) -> None:
        """Pass on a reply that ended without such a tag."""
        if self._holds:
            self._splitter.end()
            self._release()

    def of(self, text: str) -> str:
        """What `text`, the whole reply, has beside the thoughts that were not passed on."""
        return split(text).answer if self._has_cut else text

    def _release(self) -> None:
        self._holds, start = False, self._splitter.start
        self._has_cut = start > 0
        if rest := self._text[start:]:
            self._show(rest)
