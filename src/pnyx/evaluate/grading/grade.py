"""Grade answers: exactly, by choice, within a tolerance, or by a judge where code cannot decide."""

from __future__ import annotations

import re
import string
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import factorial

from ...core.answers.numbers.quantities import Quantity
from ...core.answers.replies.extract import final_answer, normalise, same
from ...core.answers.same.equivalence import read
from ...core.answers.same.statements import alters_value
from ...core.caching.regex import regex
from ...core.text import Material
from ...prompts import load
from ..items import Item
from .measures import repeats, with_unit
from .ordinals import is_ordinal, ordinal_number
from .sentences import stated_option, stated_value, without_rate

__all__ = ["Ask", "Grade", "grade", "is_right"]

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
# "A dog" is not option A.
_LETTERED = regex(r"(?!A\s+[^\W\d_])[*_(\[]*(?P<letter>[A-Z])[*_)\].:]*\s+(?P<text>\S.*)")
_QUOTED_LETTER = regex(r"([\"'`])(?P<letter>[A-Za-z])\1")
_BELOW_ZERO = regex(r"(?:minus|negative)\s+(?=[a-z])", re.IGNORECASE)
_FACTORIAL = regex(r"[*_$\s]*(\d{1,2})!+[*_$\s]*")
UNREAD = "no answer could be read"
PROSE = 200
"""Characters of an answer in prose that the log keeps."""

Ask = Callable[[str], Awaitable[str]]
"""Maps a prompt to the judge's reply."""


@dataclass(frozen=True, slots=True)
class Grade:
    """answer: the normalised answer; None if it could not be read. why: an explanation, if it needs one."""

    answer: str | None
    correct: bool
    why: str | None = None


async def grade(item: Item, text: str, short: str | None = None, ask: Ask | None = None) -> Grade:
    """Grade a reply. short: its short answer if known; None extracts it from `text`.

    ask: asks the judge; only the grader `judge` needs it. Raises `ValueError` if it is missing there.
    """
    short = short or final_answer(text, item.question, item.choices)
    if item.effective_grader == "judge":
        return await _grade_by_judge(item, text, short, ask)
    answer = None if short is None else _read(item, short)
    if answer is None:
        return Grade(None, False, UNREAD)
    return Grade(answer if item.choices else normalise(answer), _matches(item, answer))


def is_right(item: Item, short: str) -> bool:
    """Whether a short answer is right, without a judge: `judge` questions are compared like `exact` ones."""
    answer = _read(item, short)
    return answer is not None and _matches(item, answer)


def _matches(item: Item, answer: str) -> bool:
    if item.choices:
        return answer == item.target
    return not repeats(item.question, answer) and any(
        _equal(replace(item, target=with_unit(item.question, item.target, one)), one)
        for one in _readings(item, answer)
    )


def _read(item: Item, short: str) -> str | None:
    """The answer to compare with the target, or its letter; None if it is not of the target's kind.

    Votes of an evaluation count this reading, so it knows the kind of the target and nothing else of it. A
    text in place of a number may be a parser's fault as well as the model's, so it counts as unread.
    """
    if _IN_KELVIN.search(item.question):
        # In other questions `4K` is four thousand.
        short = _KELVIN.sub(" K", short)
    if item.choices:
        if _contradicts(item, short):
            return None
        letter = final_answer(f"Final answer: {short}", item.question, item.choices)
        if letter is not None and len(letter) == 1 and letter in _letters(item):
            return letter
        named = stated_option(item.question, item.choices, short)
        value = read(short)
        # A single word that is not one of the options is a wrong answer, not an unread one.
        word = any(_kind(one) in ("text", "weekday") for one in item.choices)
        unread = value.kind == "text" and not (word and " " not in value.text)
        return named or (None if unread else normalise(short))
    kind = _kind(item.target)
    if kind == "option" and (quoted := _QUOTED_LETTER.fullmatch(short)):
        short = quoted["letter"]
    if product := _FACTORIAL.fullmatch(short):
        return str(factorial(int(product[1])))
    if kind == "number" and ((place := ordinal_number(item.question, short)) or is_ordinal(short)):
        return place
    if kind == "text":
        return (
            short
            if same(short, item.target, item.question)
            else stated_value(item.question, kind, short) or short
        )
    if _kind(short) == kind or any(_kind(one) == kind for one in _readings(item, short)):
        return short
    return stated_value(item.question, kind, short) or (
        None if kind != "weekday" and read(short).kind == "text" else short
    )


def _contradicts(item: Item, short: str) -> bool:
    """Whether an answer names the letter of one option and the text of another."""
    if (found := _LETTERED.fullmatch(short.strip())) is None or short.strip() in item.choices:
        return False
    named = [
        letter
        for letter, one in zip(_letters(item), item.choices, strict=False)
        if same(found["text"], one, item.question)
    ]
    return found["letter"] in _letters(item) and bool(named) and found["letter"] not in named


def _letters(item: Item) -> str:
    return string.ascii_uppercase[: len(item.choices)]


def _kind(value: str) -> str:
    parsed = read(value)
    return "weekday" if parsed.text in _WEEKDAYS else parsed.kind


def _readings(item: Item, answer: str) -> Iterator[str]:
    """Readings of the answer: unchanged, then without additions that a target of its kind does not have."""
    yield answer
    match _kind(item.target):
        case "text" if (remark := _REMARK.search(answer)) and not alters_value(remark[1]):
            yield answer[: remark.start()]
        case "date":
            yield _HOUR.sub("", answer)
        case "number":
            yield without_rate(item.question, answer)
            below = _BELOW_ZERO.match(answer)
            number = below and read(answer[below.end() :]).quantity
            if number and number.value > 0:
                yield f"-{number}"


def _equal(item: Item, answer: str) -> bool:
    if item.effective_grader == "numeric":
        return _near(item, answer)
    one, two = read(answer), read(item.target)
    if one.kind == two.kind == "truth":
        return _TRUTHS[one.text] == _TRUTHS[two.text]
    if one.kind == two.kind == "time":
        return _seconds(one.text) == _seconds(two.text)
    if one.quantity and two.quantity and _scaled(item, answer) != one.quantity.value:
        return same(answer, item.target, item.question) or _scaled(item, answer) == two.quantity.value
    return same(answer, item.target, item.question)


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def _seconds(time: str) -> str:
    return time if time.count(":") == 2 else f"{time}:00"


def _scaled(item: Item, answer: str) -> Fraction | None:
    """The answer in the target's measure, if the question asks for percent and only one of the two has it."""
    quantity = read(answer).quantity
    if quantity is None:
        return None
    percent = [bool(_PERCENT.search(one)) for one in (answer, item.target)]
    if percent[0] == percent[1] or not _IN_PERCENT.search(item.question):
        return quantity.value
    return quantity.value * (100 if percent[0] else Fraction(1, 100))


def _near(item: Item, answer: str) -> bool:
    value, target = read(answer).quantity, read(item.target).quantity
    if value is None or target is None:
        return same(answer, item.target, item.question)
    scaled = replace(value, value=_scaled(item, answer) or Fraction(0))
    return any(
        _within(item.tolerance, replace(one, unit=mine), replace(target, unit=theirs))
        for one in dict.fromkeys((value, scaled))
        for mine in one.unit.meanings
        for theirs in target.unit.meanings
    )


def _within(tolerance: float, answer: Quantity, target: Quantity) -> bool:
    if answer.matches(target):
        return True
    expected = _base(target, answer)
    # Allow for binary rounding: 99 is within 1 % of 100.
    room = tolerance * abs(expected) * (1 + 1e-9)
    return _comparable(answer, target) and abs(_base(answer, target) - expected) <= room


def _comparable(one: Quantity, two: Quantity) -> bool:
    units = (one.unit.dimensions, two.unit.dimensions)
    return units[0] == units[1] or () in units


def _base(one: Quantity, other: Quantity) -> float:
    """The value in base units; unchanged if the other has no unit."""
    return float(one.value * one.unit.factor if other.unit.dimensions else one.value)


async def _grade_by_judge(item: Item, text: str, short: str | None, ask: Ask | None) -> Grade:
    """Right if the judge says so with both orders of the answers; wrong if its verdicts differ."""
    if ask is None:
        raise ValueError("the judge grader needs a judge")
    # A failed run has an empty text; its provisional short answer does not count.
    if not text.strip():
        return Grade(None, False, UNREAD)
    # Prose has no short answer, but the judge reads it.
    answer = normalise(short or text[:PROSE]) or None
    if short is not None and same(short, item.target, item.question):
        return Grade(answer, True)
    answers = (Material("Answer", item.target), Material("Answer", text))
    verdicts = [await _verdict(item, pair, ask) for pair in (answers, answers[::-1])]
    if len(set(verdicts)) > 1:
        return Grade(answer, False, "the judge's verdict depends on the order of the answers")
    why = "the judge's verdict could not be read" if verdicts[0] is None else None
    return Grade(answer, bool(verdicts[0]), why)


async def _verdict(item: Item, answers: tuple[Material, ...], ask: Ask) -> bool | None:
    draft = JUDGE(question=item.prompt, one=answers[0], two=answers[1])
    verdict = final_answer(await ask(draft.render(salt=item.id).text))
    return {"yes": True, "no": False}.get(normalise(verdict)) if verdict else None
