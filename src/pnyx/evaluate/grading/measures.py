"""The unit that a question asks for: `minutes` of `How many minutes does it take?`"""

from __future__ import annotations

from functools import lru_cache

from ...core.answers.equivalence import read
from ...core.answers.units import NONE, Unit, read_unit
from ...core.regex import regex

__all__ = ["asked_unit", "measured", "repeats"]

_WORDS = r"(?P<words>[a-zμ°$€£/]+(?:\s+[a-z/]+){0,3})"
_HOW_MANY = regex(rf"\b(?i:how many)\s+{_WORDS}")
_IN = regex(rf"\b(?i:in|to|into)\s+(?!second\b){_WORDS}")
_NUMBER = regex(r"\d[\d.,]*")
_SYMBOLS = frozenset("mghsL")
"""Of units of one letter, those that a question calls so: elsewhere `a` is no ampere."""


@lru_cache(256)
def asked_unit(question: str) -> Unit | None:
    """The one unit of measure in which the question wants its answer; None where it names none, or two."""
    # What is counted is what was asked for, whatever else comes in minutes: `How many cars in ten minutes?`
    asked = list(_HOW_MANY.finditer(question)) or list(_IN.finditer(question))
    found = {unit for match in asked if (unit := _unit(match["words"].split()))}
    return found.pop() if len(found) == 1 else None


def measured(question: str, target: str, said: str) -> str:
    """`target` with the unit that the question asks for, where it has none and that of `said` converts to it.

    So 2 hours are 120 where minutes were asked for, and 15 hours are not 15.
    """
    one, two, unit = read(said).quantity, read(target).quantity, asked_unit(question)
    if one is None or two is None or unit is None or two.unit is not NONE:
        return target
    converts = {m.dimensions for m in one.unit.meanings} & {m.dimensions for m in unit.meanings}
    return f"{target} {unit.symbol}" if converts and () not in converts else target


def repeats(question: str, said: str) -> bool:
    """Whether `said` is a measure that stands in the question, and not in the unit that it is wanted in.

    So `90 minutes` are no answer to `Convert 90 minutes to hours`, though they are as long.
    """
    one, unit = read(said).quantity, asked_unit(question)
    if one is None or unit is None or one.unit is NONE:
        return False
    as_asked = one.unit.symbol == unit.symbol and len(_NUMBER.findall(said)) == 1
    return not as_asked and " ".join(said.lower().split()) in " ".join(question.lower().split())


def _unit(words: list[str]) -> Unit | None:
    """That of as many words as are the name of one."""
    if len(words[0]) == 1 and words[0] not in _SYMBOLS:
        return None
    named = (read_unit(" ".join(words[:count]), counted=False) for count in range(len(words), 0, -1))
    return next((unit for unit in named if unit), None)
