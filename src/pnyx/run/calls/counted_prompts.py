"""A closer bound of the tokens of a prompt, by what a host counted of one that begins alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from ...core.context.compaction import texts
from ...core.steps import Ask
from ...core.text import most_tokens
from ...core.tool_calls import ToolSpec

__all__ = ["CountedPrompts"]


class CountedPrompts:
    """The tokens that hosts counted of the prompts of a run, by model and shared prefix."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}

    def note(self, ask: Ask, tokens: int) -> None:
        """Remember the tokens of a request with this prompt, which are at least those of its prefixes."""
        for _, prefix in _prefixes(ask):
            self._counts[prefix] = min(tokens, self._counts.get(prefix, tokens))

    def most(self, ask: Ask, tools: Sequence[ToolSpec], whole: int) -> int:
        """Return the most tokens of a request with these tools. whole: by `most_tokens` of all its text."""
        known = [(at, self._counts[prefix]) for at, prefix in _prefixes(ask) if prefix in self._counts]
        if not known:
            return whole
        at, counted = known[-1]
        rest = [ask.prompt.text[at:], *texts(ask, tools)[1 + bool(ask.prompt.system) :]]
        return min(whole, counted + most_tokens("\n".join(rest), ask.seat.name))


def _prefixes(ask: Ask) -> Iterator[tuple[int, bytes]]:
    """Yield where each shared prefix of the prompt ends, and last its own end, with a name of the prefix."""
    prompt, start = ask.prompt, 0
    digest = sha256(f"{ask.seat.model}\0{prompt.system}\0".encode("utf-8", "surrogatepass"))
    for end in (*sorted(prompt.breaks), len(prompt.text)):
        digest.update(prompt.text[start:end].encode("utf-8", "surrogatepass"))
        start = end
        yield end, digest.digest()
