"""Whether an answer is right: one function a grader, and the judge where only a reader can tell."""

from __future__ import annotations

import re
import string
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import factorial

from ...core.answers.equivalence import read
from ...core.answers.extract import final_answer, normalise, same
from ...core.answers.quantities import Quantity
from ...core.answers.statements import alters_value
from ...core.regex import regex
from ...core.text import Material
from ...prompts import load
from ..items import Item
from .measures import measured, repeats
from .ordinals import is_ordinal, numbered
from .sentences import asked_rate, option, stated

__all__ = ["Ask", "Graded", "grade", "right"]

JUDGE = load("evaluate/judge")
_WEEKDAYS = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
_IN_PERCENT = regex(r"\b(?:what|which|how many|in|as an?|the)\s+(?:%|per\s?cent)", re.IGNORECASE)
_PERCENT = regex(r"%|\bper\s?cent\b|\bpct\b", re.IGNORECASE)
_IN_KELVIN = regex(r"\b(?:in|as|to|into|how many)\s+kelvins?\b", re.IGNORECASE)
_KELVIN = regex(r"(?<=\d)\s*(?:°|degrees?\s)?\s*(?:K|kelvins?)\b", re.IGNORECASE)
_REMARK = regex(r"\s+\(([^()]*)\)$")
_HOUR = regex(
    r"(?:T|,?\s+(?:at\s+)?)\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\s*(?:[ap]\.?m\.?)?\s*"
    r"(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?$|\s+(?:UTC|GMT)$",
    re.IGNORECASE,
)
# "A dog" is no option A.
_LETTERED = regex(r"(?!A\s+[^\W\d_])[*_(\[]*(?P<letter>[A-Z])[*_)\].:]*\s+(?P<text>\S.*)")
_BELOW_ZERO = regex(r"(?:minus|negative)\s+(?=[a-z])", re.IGNORECASE)
_FACTORIAL = regex(r"[*_$\s]*(\d{1,2})!+[*_$\s]*")
UNREAD = "no answer could be read"
PROSE = 200
"""Characters of an answer in prose that tell it from others."""

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
    said = None if short is None else _read(item, short)
    if said is None:
        return Graded(None, False, UNREAD)
    return Graded(said if item.choices else normalise(said), _right(item, said))


def right(item: Item, short: str) -> bool:
    """Whether a short answer is right, as code can tell; a judge's question is compared like an exact one."""
    said = _read(item, short)
    return said is not None and _right(item, said)


def _right(item: Item, said: str) -> bool:
    if item.choices:
        return said == item.target
    return not repeats(item.question, said) and any(
        _equal(replace(item, target=measured(item.question, item.target, one)), one)
        for one in _readings(item, said)
    )


def _read(item: Item, short: str) -> str | None:
    """What is compared with the target: the answer, or its letter; None where it is not of such a kind.

    Where a number was asked for, what is no number is a reader's fault as likely as the model's.
    """
    if _IN_KELVIN.search(item.question):
        # Elsewhere `4K` is four thousand.
        short = _KELVIN.sub(" K", short)
    if item.choices:
        if _contradicts(item, short):
            return None
        letter = final_answer(f"Final answer: {short}", item.choices)
        if letter is not None and len(letter) == 1 and letter in _letters(item):
            return letter
        named = option(item.question, item.choices, short)
        told = read(short)
        # One word that is none of the words to choose from is a wrong answer, and not an unread one.
        word = _kind(item.choices[_letters(item).index(item.target)]) in ("text", "weekday")
        unread = told.kind == "text" and not (word and " " not in told.text)
        return named or (None if unread else normalise(short))
    kind = _kind(item.target)
    if product := _FACTORIAL.fullmatch(short):
        # `5!` may be 120, or 5 with a cheer: nobody can tell, but 120 is not said by chance.
        value = str(factorial(int(product[1])))
        return value if same(value, item.target) else None
    if kind == "number" and ((place := numbered(item.question, short)) or is_ordinal(short)):
        return place
    if kind == "text":
        return short if same(short, item.target) else stated(item.question, kind, short) or short
    if _kind(short) == kind or any(_kind(one) == kind for one in _readings(item, short)):
        return short
    return stated(item.question, kind, short) or (
        None if kind != "weekday" and read(short).kind == "text" else short
    )


def _contradicts(item: Item, short: str) -> bool:
    """Whether an answer names the letter of one option and the text of another, so that nobody can tell."""
    if (found := _LETTERED.fullmatch(short.strip())) is None or short.strip() in item.choices:
        return False
    named = [
        letter for letter, one in zip(_letters(item), item.choices, strict=False) if same(found["text"], one)
    ]
    return found["letter"] in _letters(item) and bool(named) and found["letter"] not in named


def _letters(item: Item) -> str:
    return string.ascii_uppercase[: len(item.choices)]


def _kind(value: str) -> str:
    told = read(value)
    return "weekday" if told.text in _WEEKDAYS else told.kind


def _readings(item: Item, said: str) -> Iterator[str]:
    """The answer as it stands, and without what the target of such a kind has no room for."""
    yield said
    match _kind(item.target):
        case "text" if (remark := _REMARK.search(said)) and not alters_value(remark[1]):
            yield said[: remark.start()]
        case "date":
            yield _HOUR.sub("", said)
        case "number":
            yield asked_rate(item.question, said)
            below = _BELOW_ZERO.match(said)
            number = below and read(said[below.end() :]).quantity
            if number and number.value > 0:
                yield f"-{number}"


def _equal(item: Item, said: str) -> bool:
    if item.graded_by == "numeric":
        return _near(item, said)
    one, two = read(said), read(item.target)
    if one.kind == two.kind == "truth":
        return _TRUTHS[one.text] == _TRUTHS[two.text]
    if one.kind == two.kind == "time":
        return _seconds(one.text) == _seconds(two.text)
    if one.quantity and two.quantity and _scaled(item, said) != one.quantity.value:
        return same(said, item.target) or _scaled(item, said) == two.quantity.value
    return same(said, item.target)


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def _seconds(time: str) -> str:
    return time if time.count(":") == 2 else f"{time}:00"


def _scaled(item: Item, said: str) -> Fraction | None:
    """The answer in the target's measure where percent were asked for and only one of the two has them."""
    quantity = read(said).quantity
    if quantity is None:
        return None
    percent = [bool(_PERCENT.search(one)) for one in (said, item.target)]
    if percent[0] == percent[1] or not _IN_PERCENT.search(item.question):
        return quantity.value
    return quantity.value * (100 if percent[0] else Fraction(1, 100))


def _near(item: Item, said: str) -> bool:
    answer, target = read(said).quantity, read(item.target).quantity
    if answer is None or target is None:
        return same(said, item.target)
    scaled = replace(answer, value=_scaled(item, said) or Fraction(0))
    return any(
        _within(item.tolerance, replace(one, unit=mine), replace(target, unit=theirs))
        for one in dict.fromkeys((answer, scaled))
        for mine in one.unit.meanings
        for theirs in target.unit.meanings
    )


def _within(tolerance: float, said: Quantity, target: Quantity) -> bool:
    if said.matches(target):
        return True
    wanted = _base(target, said)
    # A few last bits beside the tolerance: 99 is within 1 % of 100, whatever binary makes of it.
    room = tolerance * abs(wanted) * (1 + 1e-9)
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
    # What a failed run left standing is not its answer either.
    if not text.strip():
        return Graded(None, False, UNREAD)
    # Prose has no short answer, and was read all the same.
    answer = normalise(short or text[:PROSE]) or None
    if short is not None and same(short, item.target):
        return Graded(answer, True)
    answers = (Material("Answer", item.target), Material("Answer", text))
    verdicts = [await _verdict(item, pair, ask) for pair in (answers, answers[::-1])]
    if len(set(verdicts)) > 1:
        return Graded(answer, False, "the judge's verdict turned with the order of the answers")
    return Graded(answer, bool(verdicts[0]), None if verdicts[0] is not None else "the judge was unclear")


async def _verdict(item: Item, answers: tuple[Material, ...], ask: Ask) -> bool | None:
    draft = JUDGE(question=item.asked, one=answers[0], two=answers[1])
    said = final_answer(await ask(draft.render(salt=item.id).text))
    return {"yes": True, "no": False}.get(normalise(said)) if said else None
