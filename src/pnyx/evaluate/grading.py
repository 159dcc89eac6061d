"""Whether an answer is right: one function a grader, and the judge where only a reader can tell."""

from __future__ import annotations

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
_CLOCK = regex(r"(?<![\w.,/:-])\d{1,2}:[0-5]\d(?::[0-5]\d)?(?:\s?[ap]\.?m\b)?(?![\w:])", re.IGNORECASE)
_WORD = r"[\"'\u201c\u2018]?[a-z][\w'\u2019-]*[\"'\u201d\u2019]?"
_STATED = regex(
    rf"(?:{_WORD},?\s+(?:{_WORD},?\s+){{1,30}})?[$€£¥]?\d[\d,.:/]*%?(?:\s+{_WORD},?){{0,15}}[.!]?",
    re.IGNORECASE,
)
"""Words around one number, two at least before it where there are any: it has no sign, and nothing is
reckoned with it."""
_OTHER = regex(
    r"n['\u2019]t\b|\b(?:not|cannot|no|never|neither|nor|or|if|unless|except|without|between|than|least|most"
    r"|under|over|above|below|up to|to (?=\w+\W*$)|nearly|almost|beyond|minus|negative|plus|times|squared"
    r"|cubed|factorial|modulo|mod|root|log|divided|multiplied|percent|half|third|quarter|twice|double|triple"
    r"|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million)\b",
    re.IGNORECASE,
)
"""What makes the number of a sentence another one, or none: `not 15`, `more than 15`, `15 or six`."""

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
    """The number of `Each friend gets 15 apples`, or the time, where one is wanted and just one is stated."""
    wanted = read(item.target).kind
    if item.choices or wanted not in ("number", "time") or read(short).kind == wanted:
        return short
    found = set((_CLOCK if wanted == "time" else _NUMBER).findall(short))
    stated = len(found) == 1 and _STATED.fullmatch(short) and not _OTHER.search(short)
    return found.pop() if stated else short


def _canonical(item: Item, short: str) -> str:
    """The answer as it is counted: the right one's text where it says the same, a letter among choices."""
    if item.choices:
        return final_answer(f"Final answer: {short}", item.choices) or normalise(short)
    return normalise(item.target if right(item, short) else short)


def _near(item: Item, short: str) -> bool:
    said, target = read(short).quantity, read(item.target).quantity
    if said is None or target is None:
        return same(short, item.target)
    if said.matches(target):
        return True
    wanted = _base(target, said)
    # A few last bits beside the tolerance: 99 is within 1 % of 100, whatever binary makes of it.
    room = item.tolerance * abs(wanted) * (1 + 1e-9)
    return _comparable(said, target) and abs(_base(said, target) - wanted) <= room


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
