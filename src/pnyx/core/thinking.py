"""How much a model thinks before it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["EFFORTS", "Effort", "Thinking"]

Effort: TypeAlias = Literal["none", "low", "medium", "high"]
EFFORTS: tuple[Effort, ...] = ("none", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Thinking:
    """effort: the level. tokens: the most tokens of thinking. None: not set, so the host's default holds."""

    effort: Effort | None = None
    tokens: int | None = None

    @classmethod
    def of(cls, effort: Effort | None = None, tokens: int | None = None) -> Thinking:
        """The same without a new object where neither is set, as in most settings that a call looks at."""
        return _NOT_SET if effort is None and tokens is None else cls(effort, tokens)

    @classmethod
    def first(cls, levels: Iterable[Thinking]) -> Thinking:
        """Of settings that take precedence in this order: the first effort, and the first limit.

        A limit of 0 is no thinking. No thinking ends the search: it holds, with that limit, if nothing before
        it is set, and what comes after it never does.
        """
        effort: Effort | None = None
        tokens: int | None = None
        for level in levels:
            if level.effort == "none" or level.tokens == 0:
                return cls(effort, tokens) if effort or tokens else cls("none", 0)
            effort = effort or level.effort
            tokens = tokens or level.tokens
        return cls.of(effort, tokens)


_NOT_SET = Thinking()
