"""The short answer that a sentence states: `586 minutes` of `There are 586 minutes in 9 h and 46 min`.

Nothing here knows the right answer, only of which kind it is. A sentence that may say something else is
left alone: an answer that is not read is counted as such, one that is read wrongly as the model's.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence

from ...core.answers.equivalence import read
from ...core.answers.statements import ALTERATION, alters_value, is_measurement, only_value
from ...core.regex import regex

__all__ = ["asked_rate", "option", "stated"]

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
"""Words that say nothing of which value is meant; all others have to be the question's."""
_GIVEN = regex(
    r"(?:^|[,;]\s*)(?:(?:so|thus|therefore|hence|then|and|if),?\s+)*(?P<day>today|now)$", re.IGNORECASE
)


def stated(question: str, kind: str, short: str) -> str | None:
    """The one value of `kind` that the sentence `short` states in answer to `question`; None without one.

    kind: number | time | date | weekday | text.
    """
    text = " ".join(short.split()).rstrip(".!")
    if _contrary(question, text):
        return None
    return (
        _alone(question, kind, text)
        or _there(question, kind, text)
        or _larger(question, kind, text)
        or _said(question, kind, text)
    )


def option(question: str, choices: Sequence[str], short: str) -> str | None:
    """The letter of the one option whose text the sentence `short` states in answer to `question`."""
    text = " ".join(short.split()).rstrip(".!")
    standing = [
        (letter, found)
        for letter, choice in zip(string.ascii_uppercase, choices, strict=False)
        if (found := _standing(choice, text))
    ]
    if len(standing) != 1 or _contrary(question, text):
        return None
    ((letter, found),) = standing
    return letter if _chosen(question, text, found) else None


def _alone(question: str, kind: str, text: str) -> str | None:
    """The one number or time of the sentence, in the question's rate."""
    if kind not in ("number", "time") or (kind == "number" and _other_rate(question, text)):
        return None
    value = only_value(kind, text)
    return value and asked_rate(question, value)


def asked_rate(question: str, text: str) -> str:
    """`text` without the `a week` at its end, where the question has asked for what is in a week."""
    found = _RATE.search(text)
    asked = found and found["period"].lower() in (m["period"].lower() for m in _RATE.finditer(question))
    return text[: found.start()].rstrip() if found and asked and found.end() == len(text) else text


def _other_rate(question: str, text: str) -> bool:
    asked, said = ({m["period"].lower() for m in _RATE.finditer(one)} for one in (question, text))
    return bool(asked and said - asked)


_RATE = regex(r"\b(?:an?|per|each|every)\s+(?P<period>day|week|month|year)\b", re.IGNORECASE)


def _there(question: str, kind: str, text: str) -> str | None:
    match = _THERE.fullmatch(text)
    if match is None or not _is(kind, match["value"]) or _altered(question, match["rest"]):
        return None
    return match["value"] if _figures(match["rest"]) <= _figures(question) else None


def _larger(question: str, kind: str, text: str) -> str | None:
    """The larger of two, where that is what was asked."""
    match = _THAN.fullmatch(text)
    if match is None or kind not in ("number", "text"):
        return None
    word = match["word"] or {">": "larger", "<": "smaller"}[match["sign"]]
    ways = [way for way in _COMPARED if way.search(question)]
    both = (match["value"], match["rest"])
    if len(ways) != 1 or not ways[0].fullmatch(word) or not all(_is(kind, one) for one in both):
        return None
    asked = all(_figures(one) <= _figures(question) for one in both)
    return (
        match["value"]
        if asked and (kind == "number" or all(_echoes(question, one) for one in both))
        else None
    )


def _said(question: str, kind: str, text: str) -> str | None:
    """The value behind the last `is`, where all before it is the question's."""
    match = _SAYS.fullmatch(text)
    if match is None or (kind == "text" and match["place"]) or not _is(kind, match["value"]):
        return None
    before = match["before"]
    if _altered(question, before) or _day_given(question, before):
        return None
    if kind in ("number", "time"):
        return match["value"] if _figures(before) <= _figures(question) else None
    return match["value"] if _echoes(question, before) else None


def _is(kind: str, value: str) -> bool:
    if kind == "weekday":
        return bool(_WEEKDAY.fullmatch(value))
    return read(value).kind == kind and (kind != "text" or not alters_value(value))


def _altered(question: str, text: str) -> bool:
    """Whether a word denies or changes what is said, other than in words that the question has itself."""
    for found in ALTERATION.finditer(text):
        following = _WORDS.match(text[found.end() :].lstrip())
        phrase = f"{found[0].strip()} {following[0]}" if following else ""
        if found["negation"] or not phrase or phrase.casefold() not in question.casefold():
            return True
    return False


def _contrary(question: str, text: str) -> bool:
    """Whether it tells of the shortest where the longest was asked for."""
    asked, said = _ways(question), _ways(text)
    return len(asked) == 1 and bool(said - asked)


def _ways(text: str) -> set[str]:
    """Up, down or both: what the superlatives tell or, without one, the comparatives."""
    for form in ("est", "er"):
        if ways := {
            way for way in (_UP, _DOWN) if regex(rf"\b(?:{way}){form}\b", re.IGNORECASE).search(text)
        }:
            return ways
    return set()


def _day_given(question: str, before: str) -> bool:
    """Whether it says what the question has told: `Today is Monday`."""
    given = _GIVEN.search(before)
    return bool(given and f"{given['day']} is ".casefold() in question.casefold())


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(text))


def _echoes(question: str, text: str) -> bool:
    """Whether each word is one of the question's, in whatever form, or says nothing."""
    asked = _folded(question)
    return all(
        _PLAIN.fullmatch(word) or any(word == one or _form(word, one) for one in asked)
        for word in _folded(text)
    )


def _form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and short.isalpha() and long.startswith(short[: max(4, len(short) - 2)])


def _folded(text: str) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(text)]


_ENDS = r"(?![\w:/%^*+<>=\u00d7\u2019'-]|[.,]\d|\s+(?:[ap]\.?m\b|per\s?cent\b)|\s*[-%^*+/<>=\u00d7])"
_RECKONS = regex(r"[+*^<>=√±≈~≠≤≥\u00d7\u00f7]|-\s*\d")


def _standing(choice: str, text: str) -> re.Match[str] | None:
    """Where `choice` stands in `text` as a whole, and not as part of a longer value."""
    return regex(rf"(?<![\w.,:/$€£¥%'\u2019-]){re.escape(choice.strip())}{_ENDS}", re.IGNORECASE).search(text)


def _chosen(question: str, text: str, found: re.Match[str]) -> bool:
    """Whether the sentence says that this option is the answer."""
    before, behind = text[: found.start()].strip(), text[found.end() :].strip()
    around = f"{before} {behind}"
    # A figure in its place: `before 18:00` is another time, `before` alone may be anything.
    if (
        alters_value(f"{before} 0 {behind}")
        or _RECKONS.search(around)
        or _day_given(question, before.rpartition(" ")[0])
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
    """A unit of measure behind a value that has none of its own."""
    words = behind.split()[:2]
    if not is_measurement(value) and read(value).kind == "number":
        for count in range(len(words), 0, -1):
            if words[0].lower() not in ("in", "a") and is_measurement(" ".join([value, *words[:count]])):
                yield " ".join(words[:count])
