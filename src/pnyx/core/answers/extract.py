"""The short answer of a reply: its `Final answer:` line, else its concluding line."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from ..markup.quoting import Line, lines
from ..regex import regex
from .conclusions import concluded, stated
from .equivalence import normalise, read, same
from .values import LONGEST, SIGNS, credible, definite, missing, value_of

__all__ = ["final_answer", "final_line", "normalise", "same"]


def final_answer(text: str, choices: Sequence[str] = ()) -> str | None:
    """The short answer that `text` ends on, without markup and caveats, or None.

    The last `Final answer:` line counts, then what the concluding lines state as the answer, then the last
    line `Answer:`; what the reply quotes or thinks aloud does not. choices: the texts of the options, in
    order; an answer that is one of them, or its letter, is given as the letter (A for the first). Any other
    that says there is none, as `N/A` does, is None.
    """

    def plausible(value: str) -> bool:
        return definite(value) or _letter(value, choices) is not None

    said = lines(_MARKUP.sub(_inner, text))
    own = [line for line, quoted in said if not quoted and line.strip()]
    value = (
        _labelled(said, _FINAL_ANSWER, plausible)
        or concluded(own, plausible)
        or _labelled(said, _ANSWER, plausible)
    )
    return value and (_letter(value, choices) or _present(value))


def final_line(text: str) -> str | None:
    """The value of the last `Final answer:` line that `text` itself says, or None: no conclusion is read."""
    value = _labelled(lines(_MARKUP.sub(_inner, text)), _FINAL_ANSWER, definite)
    return value and _present(value)


def _present(value: str) -> str | None:
    return None if missing(value) else value


_MARKUP = regex(
    r"</?(?:b|strong|em|i|u|p|span|div|h[1-6]|br)\s*/?>"
    r"|\\(?:textbf|textit|mathbf|emph|underline)\{([^{}\n]*)\}",
    re.IGNORECASE,
)
_MARKS = rf"[\s#*_`|•+{SIGNS}-]*(?:\d{{1,2}}[.)]\s+)?[*_`]*"
_FINAL_ANSWER = regex(
    _MARKS + r"(?:(?:so|thus|therefore|hence|and|my|the|our|here is my),?\s+){0,3}"
    r"final\s+answers?\s*(?:\([^()]{0,80}\))?"
    r"(?:[*_`\s]*(?:is|are)?\s*(?:[:=|]|->|→|⇒|-+\s)[\s*_`|]*|[*_`\s]*\s(?P<weak>is|are)\s+"
    r"|[*_`]+\s+|[*_`\s]*$)"
    r"(?P<value>.*)",
    re.IGNORECASE,
)
_ANSWER = regex(_MARKS + r"answer[*_`\s]*(?P<weak>:)[\s*_`]*(?P<value>.*)", re.IGNORECASE)
_LABELS = 20
"""Label lines, from the end, that are looked at before giving up; most replies have one."""

_BULLET = regex(r"\s*(?:[-*+•]|\d+[.)])\s+")
_DELIMITER = regex(r"\s*(?:\$\$|\\\[|\\\]|[-=_*|: ]*)\s*")


def _inner(markup: re.Match[str]) -> str:
    return markup[1] or ""


def _labelled(said: Sequence[Line], label: re.Pattern[str], plausible: Callable[[str], bool]) -> str | None:
    """The value behind the last `label` that has one; a weak label wants a short one."""
    labels = (
        (at, match)
        for at in range(len(said) - 1, -1, -1)
        if not said[at].quoted
        and "answer" in said[at].text.lower()
        and (match := label.match(said[at].text[:LONGEST]))
    )
    for at, match in islice(labels, _LABELS):
        written = said[at].text[match.start("value") :]
        value = value_of(written) or value_of(_following(islice(said, at + 1, None)))
        if plausible(value):
            return value
        if value and (credible(value) or not match["weak"]):
            return stated(value[:LONGEST], plausible) or value
    return None


def _following(below: Iterator[Line]) -> str:
    """What stands below a label: the next line, or the one line of a code fence."""
    match list(islice((line for line in below if not _DELIMITER.fullmatch(line.text)), 3)):
        case [Line(text, quoted=False), *_] if (
            not _FINAL_ANSWER.match(text[:LONGEST]) and text.lstrip()[0] != "#"
        ):
            return _BULLET.sub("", text, count=1)
        case [Line(opens, True), Line(text, True), Line(closes, True)] if _fences(opens) and _fences(closes):
            return text
    return ""


def _fences(text: str) -> bool:
    return text.lstrip().startswith(("```", "~~~"))


_OWN_LETTER = regex(r"\s*[(\[]?([A-Z])(?:[)\]][.:]?|[.:])\s+")
_LETTER_BEFORE = regex(r"([A-Z])[(\[](.*)[)\]]")
_LETTER_BEHIND = regex(r"(.*)[(\[]([A-Z])[)\]]")
_HEDGED = regex(
    r"n['\u2019]t\b|\b(?:or|and|not|no|never|nor|neither|either|both|but|except|excluding|without|unlike|all|any"
    r"|anything|everything|none|wrong|incorrect|false|instead|rather|than|besides)\b|[(\[][A-Z][)\]]|[/&]",
    re.IGNORECASE,
)
"""What before a letter names another one too, or makes this one what the answer is not."""


def _letter(value: str, choices: Sequence[str]) -> str | None:
    """The letter of the one option that `value` names: by its text, by its letter, or by a like text.

    A lone letter is a letter first: options may be variables.
    """
    letters = string.ascii_uppercase[: len(choices)]
    answer, behind = read(value), _LETTER_BEHIND.fullmatch(value)
    texts = {letter: _text(letter, choice) for letter, choice in zip(letters, choices, strict=False)}
    equal = [
        letter
        for letter, choice in zip(letters, choices, strict=False)
        if answer.text in (normalise(choice), normalise(texts[letter]))
    ]
    if answer.kind != "option" and len(equal) == 1:
        return equal[0]
    said = answer.text if answer.kind == "option" else answer.label
    if said and said in letters:
        return said
    if (before := _LETTER_BEFORE.fullmatch(value)) and same(texts.get(before[1], ""), before[2]):
        return before[1]
    if behind and behind[2] in letters and _leads_to(behind[1], texts[behind[2]]):
        return behind[2]
    alike = [letter for letter, text in texts.items() if same(text, value)]
    return next((found[0] for found in (equal, alike) if len(found) == 1), None)


def _leads_to(before: str, choice: str) -> bool:
    """Whether `before` is the text of the option whose letter follows, or hedges nothing."""
    return same(before, choice) or not _HEDGED.search(before)


def _text(letter: str, choice: str) -> str:
    """An option's text without the letter that it may carry already."""
    label = _OWN_LETTER.match(choice)
    return choice[label.end() :] if label and label[1] == letter else choice
