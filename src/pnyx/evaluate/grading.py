"""Whether an answer is right: one function a grader, and the judge where only a reader can tell."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..core.answers import final_answer, normalise, same
from ..core.normalise import read
from ..core.quantities import Quantity
from ..core.regex import regex
from ..core.text import Material
from ..prompts import load
from .items import Item

__all__ = ["Ask", "Graded", "grade", "right"]

JUDGE = load("evaluate/judge")
_NUMBER = regex(r"(?<![\w.,/:-])[-+\u2212]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?![\w/:-])")
_OTHER_THAN = regex(r"n['\u2019]t\b|\b(?:not|than|at (?:least|most))\b", re.IGNORECASE)
"""Before a number these make it no answer: `not 15`, `more than 15`."""

Ask = Callable[[str], Awaitable[str]]
"""A prompt to the judge's reply."""


@dataclass(frozen=True, slots=True)
class Graded:
    """answer: canonical, None where none could be read. why: what a person should know of the grade."""

    answer: str | None
    correct: bool
    why: str | None = None


async def grade(item: Item, text: str, short: str | None = None, ask: Ask | None = None) -> Graded:
    """Grade a reply. short: its short answer, where who gave it told; else the reply's own is looked for.

    ask: the judge's, whom only `judge` needs.
    """
    short = short or final_answer(text, item.choices)
    if item.graded_by == "judge":
        return await _judged(item, text, short, ask)
    if short is None:
        return Graded(None, False, "no answer could be read")
    short = _number_in(item, short)
    return Graded(_canonical(item, short), right(item, short))


def right(item: Item, short: str) -> bool:
    """Whether a short answer is right, as code can tell; a judge's question is compared like an exact one."""
    if item.choices:
        return _canonical(item, short) == item.target
    short = _number_in(item, short)
    if item.graded_by == "numeric":
        return _near(item, short)
    return same(short, item.target)


def _number_in(item: Item, short: str) -> str:
    """The number of `Each friend gets 15 apples`: where one is wanted, and the sentence affirms just one."""
    if item.choices or read(item.target).quantity is None or read(short).quantity is not None:
        return short
    if _OTHER_THAN.search(short):
        return short
    numbers = set(_NUMBER.findall(short))
    return numbers.pop() if len(numbers) == 1 else short


def _canonical(item: Item, short: str) -> str:
    """The answer as it is counted: the right one's text where it says the same, a letter among choices."""
    if item.choices:
        return final_answer(f"Final answer: {short}", item.choices) or normalise(short)
    return normalise(item.target if right(item, short) else short)


def _near(item: Item, short: str) -> bool:
    said, target = read(short).quantity, read(item.target).quantity
    if said is None or target is None:
        return same(short, item.target)
    return said.matches(target) or (
        _comparable(said, target)
        and math.isclose(_base(said, target), _base(target, said), rel_tol=item.tolerance)
    )


def _comparable(one: Quantity, two: Quantity) -> bool:
    units = (one.unit.dimensions, two.unit.dimensions)
    return units[0] == units[1] or () in units


def _base(one: Quantity, other: Quantity) -> float:
    """In base units; as it stands where the other has no unit."""
    return float(one.value * one.unit.factor if other.unit.dimensions else one.value)


async def _judged(item: Item, text: str, short: str | None, ask: Ask | None) -> Graded:
    """Right where the judge says so in both orders; a verdict that flips with the order is none."""
    if ask is None:
        raise ValueError("these questions want a judge")
    if short is not None and same(short, item.target):
        return Graded(normalise(item.target), True)
    answers = (Material("Answer", item.target), Material("Answer", text))
    verdicts = [await _verdict(item, pair, ask) for pair in (answers, answers[::-1])]
    answer = normalise(item.target) if all(verdicts) else short and normalise(short)
    if len(set(verdicts)) > 1:
        return Graded(answer, False, "the judge's verdict turned with the order of the answers")
    return Graded(answer, bool(verdicts[0]), None if verdicts[0] is not None else "the judge was unclear")


async def _verdict(item: Item, answers: tuple[Material, ...], ask: Ask) -> bool | None:
    draft = JUDGE(question=item.asked, one=answers[0], two=answers[1])
    said = final_answer(await ask(draft.render(salt=item.id).text))
    return {"yes": True, "no": False}.get(normalise(said)) if said else None
