"""Extract the short answer from a sentence: `586 minutes` of `There are 586 minutes in 9 h and 46 min`.

These functions know the kind of the right answer, but not the answer. They leave an ambiguous sentence
unread: an unread answer is counted separately, while a misread one would count as the model's.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence

from ...core.answers.same.equivalence import read
from ...core.answers.same.statements import ALTERATION, alters_value, is_measurement, only_value
from ...core.caching.regex import regex

__all__ = ["stated_option", "stated_value", "without_rate"]

_SAYS = regex(
    r"(?P<before>.+)\s(?:is|are|was|were|be|equals|(?P<place>at|on))\s+(?P<value>\S.{0,60})", re.IGNORECASE
)
_THERE = regex(r"there\s+(?:is|are|was|were)\s+(?P<value>\S.{0,40}?)\s+in\s+(?P<rest>.+)", re.IGNORECASE)
_THAN = regex(
    r"(?P<value>\S.{0,40}?)\s+(?:(?:is|are|was|were)\s+(?P<word>[a-z]+er)\s+than|(?P<sign>[<>]))\s+(?P<rest>.+)",
    re.IGNORECASE,
)
_UP = r"larg|great|bigg|high|long|old|tall|heavi|fast|lat|wid|warm|hott"
_DOWN = r"small|low|short|young|light|slow|earli|narrow|cold|cool"
_COMPARED = tuple(regex(rf"\b(?:{way})er\b", re.IGNORECASE) for way in (_UP, _DOWN))
_FIGURE = regex(r"\d+(?:[.,:/-]\d+)*")
_WEEKDAY = regex(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)
_WORDS = regex(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_PLAIN = regex(
    "an?|the|it|this|that|he|she|they|so|thus|therefore|hence|then|my|our|final|correct|right|answer|result"
    "|option|choice|day|date|time|week|weekday|of|in|on|at|to|for|is|was|are|were|will|would|be|been|have"
    "|has|word|name|person|number|value|called"
)
"""Words that do not identify a value. All other words must come from the question."""
_TODAY = regex(
    r"(?:^|[,;]\s*)(?:(?:so|thus|therefore|hence|then|and|if),?\s+)*(?P<day>today|now)$", re.IGNORECASE
)


def stated_value(question: str, kind: str, short: str) -> str | None:
    """The one value of `kind` that the sentence `short` states as the answer to `question`, or None.

    kind: number | time | date | weekday | text.
    """
    text = " ".join(short.split()).rstrip(".!")
    if _contrary(question, text):
        return None
    return (
        _alone(question, kind, text)
        or _there(question, kind, text)
        or _larger(question, kind, text)
        or _after_verb(question, kind, text)
    )


def stated_option(question: str, choices: Sequence[str], short: str) -> str | None:
    """The letter of the one option that the sentence `short` states as the answer to `question`, or None."""
    text = " ".join(short.split()).rstrip(".!")
    matches = [
        (letter, found)
        for letter, choice in zip(string.ascii_uppercase, choices, strict=False)
        if (found := _find_choice(choice, text))
    ]
    if len(matches) != 1 or _contrary(question, text):
        return None
    ((letter, found),) = matches
    return letter if _is_chosen(question, text, found) else None


def _alone(question: str, kind: str, text: str) -> str | None:
    """The only number or time of the sentence, if its rate is that of the question."""
    if kind not in ("number", "time") or (kind == "number" and _other_rate(question, text)):
        return None
    value = only_value(kind, text)
    return value and without_rate(question, value)


def without_rate(question: str, text: str) -> str:
    """`text` without a rate at its end, such as `a week`, if the question has the same one."""
    found = _RATE.search(text)
    same = found and found["period"].lower() in (m["period"].lower() for m in _RATE.finditer(question))
    return text[: found.start()].rstrip() if found and same and found.end() == len(text) else text


def _other_rate(question: str, text: str) -> bool:
    """Whether the sentence has a rate that differs from the question's."""
    expected, stated = ({m["period"].lower() for m in _RATE.finditer(one)} for one in (question, text))
    return bool(expected and stated - expected)


_RATE = regex(r"\b(?:an?|per|each|every)\s+(?P<period>day|week|month|year)\b", re.IGNORECASE)


def _there(question: str, kind: str, text: str) -> str | None:
    """The value in `There are VALUE in …`."""
    match = _THERE.fullmatch(text)
    if match is None or not _is(kind, match["value"]) or _altered(question, match["rest"]):
        return None
    return match["value"] if _figures(match["rest"]) <= _figures(question) else None


def _larger(question: str, kind: str, text: str) -> str | None:
    """The first value in `X is larger than Y`, if the question asks for that comparison."""
    match = _THAN.fullmatch(text)
    if match is None or kind not in ("number", "text"):
        return None
    word = match["word"] or {">": "larger", "<": "smaller"}[match["sign"]]
    ways = [way for way in _COMPARED if way.search(question)]
    both = (match["value"], match["rest"])
    if len(ways) != 1 or not ways[0].fullmatch(word) or not all(_is(kind, one) for one in both):
        return None
    known = all(_figures(one) <= _figures(question) for one in both)
    return (
        match["value"]
        if known and (kind == "number" or all(_echoes(question, one) for one in both))
        else None
    )


def _after_verb(question: str, kind: str, text: str) -> str | None:
    """The value after the last `is`, if the question has all words before it."""
    match = _SAYS.fullmatch(text)
    if match is None or (kind == "text" and match["place"]) or not _is(kind, match["value"]):
        return None
    before = match["before"]
    if _altered(question, before) or _repeats_day(question, before):
        return None
    if kind in ("number", "time"):
        return match["value"] if _figures(before) <= _figures(question) else None
    return match["value"] if _echoes(question, before) else None


def _is(kind: str, value: str) -> bool:
    if kind == "weekday":
        return bool(_WEEKDAY.fullmatch(value))
    return read(value).kind == kind and (kind != "text" or not alters_value(value))


def _altered(question: str, text: str) -> bool:
    """Whether a word negates or changes the statement, unless the question has the same words."""
    for found in ALTERATION.finditer(text):
        following = _WORDS.match(text[found.end() :].lstrip())
        phrase = f"{found[0].strip()} {following[0]}" if following else ""
        if found["negation"] or not phrase or phrase.casefold() not in question.casefold():
            return True
    return False


def _contrary(question: str, text: str) -> bool:
    """Whether the sentence names the opposite extreme: the shortest if the question asks for the longest."""
    expected, stated = _ways(question), _ways(text)
    return len(expected) == 1 and bool(stated - expected)


def _ways(text: str) -> set[str]:
    """The directions, up or down or both, of the superlatives in `text`, or else of its comparatives."""
    for form in ("est", "er"):
        if ways := {
            way for way in (_UP, _DOWN) if regex(rf"\b(?:{way}){form}\b", re.IGNORECASE).search(text)
        }:
            return ways
    return set()


def _repeats_day(question: str, before: str) -> bool:
    """Whether the sentence only repeats a day from the question: `Today is Monday`."""
    found = _TODAY.search(before)
    return bool(found and f"{found['day']} is ".casefold() in question.casefold())


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(text))


def _echoes(question: str, text: str) -> bool:
    """Whether each word is in the question, in any form, or is in `_PLAIN`."""
    known = _folded(question)
    return all(
        _PLAIN.fullmatch(word) or any(word == one or _form(word, one) for one in known)
        for word in _folded(text)
    )


def _form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and short.isalpha() and long.startswith(short[: max(4, len(short) - 2)])


def _folded(text: str) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(text)]


_ENDS = r"(?![\w:/%^*+<>=\u00d7\u2019'-]|[.,]\d|\s+(?:[ap]\.?m\b|per\s?cent\b)|\s*[-%^*+/<>=\u00d7])"
_CALCULATES = regex(r"[+*^<>=√±≈~≠≤≥\u00d7\u00f7]|-\s*\d")


def _find_choice(choice: str, text: str) -> re.Match[str] | None:
    """The match of `choice` in `text`, unless it is part of a longer value."""
    return regex(rf"(?<![\w.,:/$€£¥%'\u2019-]){re.escape(choice.strip())}{_ENDS}", re.IGNORECASE).search(text)


def _is_chosen(question: str, text: str, found: re.Match[str]) -> bool:
    """Whether the sentence states this option as the answer."""
    before, behind = text[: found.start()].strip(), text[found.end() :].strip()
    around = f"{before} {behind}"
    # A number replaces the option: `before 18:00` is another time, `before` alone may be anything.
    if (
        alters_value(f"{before} 0 {behind}")
        or _CALCULATES.search(around)
        or _repeats_day(question, before.rpartition(" ")[0])
    ):
        return False
    if read(found[0]).kind in ("number", "time", "date"):
        foreign = next(_units(found[0], behind), None)
        return _figures(around) <= _figures(question) and (foreign is None or _echoes(question, foreign))
    edge = not before or not behind
    linked = regex(r"(?:is|was|are|were|be|at|on)(?:\s+(?:an?|the))?", re.IGNORECASE)
    ends = before.split() and linked.search(before) and not behind and linked.fullmatch(_link(before))
    begins = not before and linked.match(behind)
    return edge and bool(ends or begins) and _echoes(question, around)


def _link(before: str) -> str:
    words = before.split()
    return " ".join(words[-2:] if words[-1].lower() in ("a", "an", "the") else words[-1:])


def _units(value: str, behind: str) -> Iterator[str]:
    """The units of measure after a value that has none itself."""
    words = behind.split()[:2]
    if not is_measurement(value) and read(value).kind == "number":
        for count in range(len(words), 0, -1):
            if words[0].lower() not in ("in", "a") and is_measurement(" ".join([value, *words[:count]])):
                yield " ".join(words[:count])
