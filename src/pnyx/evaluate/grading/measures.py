"""The unit that a question asks for: `minutes` of `How many minutes does it take?`"""

from __future__ import annotations

from ...core.answers.numbers.units import NONE
from ...core.answers.reading.hints import question_unit
from ...core.answers.same.equivalence import read
from ...core.caching.regex import regex

__all__ = ["question_unit", "repeats", "with_unit"]

_NUMBER = regex(r"\d[\d.,]*")


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
