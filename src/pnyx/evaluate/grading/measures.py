"""The unit that a question asks for: `minutes` of `How many minutes does it take?`"""

from __future__ import annotations

from functools import lru_cache

from ...core.answers.equivalence import read
from ...core.answers.units import NONE, Unit, read_unit
from ...core.regex import regex

__all__ = ["question_unit", "repeats", "with_unit"]

_WORDS = r"(?P<words>[a-zμ°$€£/]+(?:\s+[a-z/]+){0,3})"
_HOW_MANY = regex(rf"\b(?i:how many)\s+{_WORDS}")
_IN = regex(rf"\b(?i:in|to|into)\s+(?!second\b){_WORDS}")
_NUMBER = regex(r"\d[\d.,]*")
_SYMBOLS = frozenset("mghsL")
"""The units of one letter that questions use. In others, `a` is an article and not the ampere."""


@lru_cache(256)
def question_unit(question: str) -> Unit | None:
    """The unit that the question asks for; None if it names none, or several."""
    # `How many` takes precedence over `in`: `How many cars in ten minutes?` does not ask for minutes.
    matches = list(_HOW_MANY.finditer(question)) or list(_IN.finditer(question))
    found = {unit for match in matches if (unit := _unit(match["words"].split()))}
    return found.pop() if len(found) == 1 else None


def with_unit(question: str, target: str, answer: str) -> str:
    """`target` with the question's unit, if it has none and the unit of `answer` converts to that one.

    So 2 hours are 120 if the question asks for minutes, and 15 hours are not 15.
    """
    value, expected, unit = read(answer).quantity, read(target).quantity, question_unit(question)
    if value is None or expected is None or unit is None or expected.unit is not NONE:
        return target
    converts = {m.dimensions for m in value.unit.meanings} & {m.dimensions for m in unit.meanings}
    return f"{target} {unit.symbol}" if converts and () not in converts else target


def repeats(question: str, answer: str) -> bool:
    """Whether `answer` only repeats a measure from the question, in another unit than the question asks for.

    So `90 minutes` does not answer `Convert 90 minutes to hours`, though the duration is equal.
    """
    value, unit = read(answer).quantity, question_unit(question)
    if value is None or unit is None or value.unit is NONE:
        return False
    in_unit = value.unit.symbol == unit.symbol and len(_NUMBER.findall(answer)) == 1
    return not in_unit and " ".join(answer.lower().split()) in " ".join(question.lower().split())


def _unit(words: list[str]) -> Unit | None:
    """The unit that the longest run of words from the start names; None if there is none."""
    if len(words[0]) == 1 and words[0] not in _SYMBOLS:
        return None
    named = (read_unit(" ".join(words[:count]), counted=False) for count in range(len(words), 0, -1))
    return next((unit for unit in named if unit), None)
