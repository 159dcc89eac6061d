"""A closer bound of the tokens of a request, by what a host counted of one that begins alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import TypeAlias

from ...core.steps import Ask
from ...core.text import most_tokens

__all__ = ["CountedPrompts", "Prefix", "prefixes"]

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


class CountedPrompts:
    """The tokens that hosts counted of the requests of a run, by model and shared prefix."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}

    def note(self, prefixes: Sequence[Prefix], tokens: int) -> None:
        """Remember the tokens of a request with these prefixes, which have at most as many."""
        for _, name in prefixes:
            self._counts[name] = min(tokens, self._counts.get(name, tokens))

    def most(self, prefixes: Sequence[Prefix], text: str, model: str, whole: int) -> int:
        """Return the most tokens of a request with this text. model, whole: as for and by `most_tokens`."""
        known = [(end, self._counts[name]) for end, name in prefixes if name in self._counts]
        if not known:
            return whole
        end, counted = known[-1]
        return min(whole, counted + most_tokens(text, model, end))
