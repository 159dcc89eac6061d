"""A closer bound of the tokens of a request, by what a host counted of it, or of one that begins alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from math import ceil
from typing import NamedTuple, TypeAlias

from ...core.steps import Ask
from ...core.text import most_tokens

__all__ = ["Bound", "CountedPrompts", "Prefix", "prefixes", "whole_text"]

MARGIN = 1.02
"""Times a count that was asked for: Anthropic calls its own an estimate, and OpenAI counts the request in the
form of another API, which may have other tokens around each message."""
LEAST_SHARE = 0.2
"""Of the bound by its letters that a text has at least. That is up to four times the tokens of a language
if the encoding is not known, so a count below that is wrong, and would reserve next to nothing."""

Prefix: TypeAlias = "tuple[int, bytes]"
"""Where a prefix of the text of a request ends, which others may share, and a name for it."""


def prefixes(ask: Ask) -> Iterator[Prefix]:
    """Yield those of a request, the last of which ends with its prompt. For its text, see `texts`."""
    prompt, start = ask.prompt, 0
    before = len(prompt.system) + 1 if prompt.system else 0
    digest = sha256(f"{ask.seat.model}\0{prompt.system}\0".encode("utf-8", "surrogatepass"))
    for end in (*sorted(prompt.breaks), len(prompt.text)):
        digest.update(prompt.text[start:end].encode("utf-8", "surrogatepass"))
        start = end
        yield before + end, digest.digest()


def whole_text(ask: Ask, text: str) -> Prefix:
    """That of all the text of a request, with its turns and its tools."""
    return len(text), sha256(f"{ask.seat.model}\0{text}".encode("utf-8", "surrogatepass")).digest()


class Bound(NamedTuple):
    """The most tokens of a request: those that its host has counted, and those that its letters may need."""

    counted: int
    by_letters: int

    @property
    def most(self) -> int:
        return self.counted + self.by_letters


class CountedPrompts:
    """The tokens that hosts counted of the requests of a run, by model and shared prefix.

    may_ask: whether hosts may be asked; not if one has charged for more than it had counted.
    """

    def __init__(self) -> None:
        self.may_ask = True
        self._charged: dict[bytes, int] = {}
        self._asked: dict[bytes, int] = {}
        self._more: dict[str, int] = {}

    def note_more(self, model: str, tokens: int) -> None:
        """Remember by how many tokens a host has charged for more than the most that a request may have."""
        self._more[model] = max(tokens, self._more.get(model, 0))

    def note(self, prefixes: Sequence[Prefix], tokens: int) -> None:
        """Remember the tokens of a request with these prefixes, which have at most as many."""
        _note(self._charged, prefixes, tokens)

    def note_asked(self, prefixes: Sequence[Prefix], tokens: int, by_letters: int) -> None:
        """The same for one that is not sent yet. by_letters: the most tokens that its letters may need."""
        if tokens >= LEAST_SHARE * by_letters:
            _note(self._asked, prefixes, ceil(MARGIN * tokens))

    def compare(self, prefixes: Sequence[Prefix], tokens: int) -> None:
        """Forget all that was asked for if a host has charged for more tokens of a text than it counted."""
        if any(self._asked.get(name, tokens) < tokens for _, name in prefixes[-1:]):
            self.may_ask = False
            self._asked.clear()

    def bound(self, prefixes: Sequence[Prefix], text: Callable[[], str], model: str, whole: int) -> Bound:
        """Return the most tokens of a request. text: returns its text, which not all need. model, whole: as
        for and by `most_tokens`. A host that has charged for more than that is expected to do so again."""
        loosest = Bound(self._more.get(model, 0), whole)
        for end, name in reversed(prefixes):
            if counts := [known[name] for known in (self._charged, self._asked) if name in known]:
                found = Bound(min(counts), most_tokens(text(), model, end))
                return found if found.most < loosest.most else loosest
        return loosest


def _note(counts: dict[bytes, int], prefixes: Sequence[Prefix], tokens: int) -> None:
    for _, name in prefixes:
        counts[name] = min(tokens, counts.get(name, tokens))
