"""The short answer of a reply: its `Final answer:` line, else its concluding line."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from ..markup.quoting import Line, lines
from ..regex import regex
from .conclusions import conclusion, stated_value
from .equivalence import normalise, read, same
from .values import MAX_CHARS, SIGNS, is_credible, is_definite, is_missing, value_of

__all__ = ["final_answer", "final_line", "normalise", "same"]


def final_answer(text: str, question: str | None = None, choices: Sequence[str] = ()) -> str | None:
    """The final answer of `text`, without markup and caveats, or None.

    The last `Final answer:` line has precedence, then an answer stated in the concluding lines, then the last
    `Answer:` line. Quotations and thinking aloud are ignored. question: what `text` answers.
    choices: the texts of the options, in order; an answer that is an option's text or letter is returned as
    the letter (A for the first). An answer such as `N/A` is None.
    """

    def is_plausible(value: str) -> bool:
        return is_definite(value) or _letter(value, choices) is not None

    all_lines = lines(_MARKUP.sub(_inner, text))
    author_lines = [line for line, quoted in all_lines if not quoted and line.strip()]
    value = (
        _labelled_value(all_lines, _FINAL_ANSWER, is_plausible)
        or conclusion(author_lines, is_plausible)
        or _labelled_value(all_lines, _ANSWER, is_plausible)
    )
    return value and (_letter(value, choices) or _unless_missing(value))


def final_line(text: str) -> str | None:
    """The value of the last `Final answer:` line of `text` outside quotations, or None."""
    value = _labelled_value(lines(_MARKUP.sub(_inner, text)), _FINAL_ANSWER, is_definite)
    return value and _unless_missing(value)


def _unless_missing(value: str) -> str | None:
    return None if is_missing(value) else value


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
"""Label lines that are tried, from the end; most replies have one."""

_BULLET = regex(r"\s*(?:[-*+•]|\d+[.)])\s+")
_DELIMITER = regex(r"\s*(?:\$\$|\\\[|\\\]|[-=_*|: ]*)\s*")


def _inner(markup: re.Match[str]) -> str:
    return markup[1] or ""


def _labelled_value(
    all_lines: Sequence[Line], label: re.Pattern[str], is_plausible: Callable[[str], bool]
) -> str | None:
    """The value after the last `label` that has one; after a weak label it must be credible."""
    labels = (
        (at, match)
        for at in range(len(all_lines) - 1, -1, -1)
        if not all_lines[at].quoted
        and "answer" in all_lines[at].text.lower()
        and (match := label.match(all_lines[at].text[:MAX_CHARS]))
    )
    for at, match in islice(labels, _LABELS):
        written = all_lines[at].text[match.start("value") :]
        value = value_of(written) or value_of(_value_below(islice(all_lines, at + 1, None)))
        if is_plausible(value):
            return value
        if value and (is_credible(value) or not match["weak"]):
            return stated_value(value[:MAX_CHARS], is_plausible) or value
    return None


def _value_below(below: Iterator[Line]) -> str:
    """The text below a label: the next line, or the only line of a code fence."""
    match list(islice((line for line in below if not _DELIMITER.fullmatch(line.text)), 3)):
        case [Line(text, quoted=False), *_] if (
            not _FINAL_ANSWER.match(text[:MAX_CHARS]) and text.lstrip()[0] != "#"
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
"""Words before a letter that name another letter too, or deny this one."""


def _letter(value: str, choices: Sequence[str]) -> str | None:
    """The letter of the only option that `value` names: by its text, its letter, or an equivalent text.

    A lone letter counts as a letter first, since the texts of options may be variables.
    """
    letters = string.ascii_uppercase[: len(choices)]
    answer, behind = read(value), _LETTER_BEHIND.fullmatch(value)
    texts = {letter: _option_text(letter, choice) for letter, choice in zip(letters, choices, strict=False)}
    equal = [
        letter
        for letter, choice in zip(letters, choices, strict=False)
        if answer.text in (normalise(choice), normalise(texts[letter]))
    ]
    if answer.kind != "option" and len(equal) == 1:
        return equal[0]
    named = answer.text if answer.kind == "option" else answer.label
    if named and named in letters:
        return named
    if (before := _LETTER_BEFORE.fullmatch(value)) and same(texts.get(before[1], ""), before[2]):
        return before[1]
    if behind and behind[2] in letters and _leads_to(behind[1], texts[behind[2]]):
        return behind[2]
    alike = [letter for letter, text in texts.items() if same(text, value)]
    return next((found[0] for found in (equal, alike) if len(found) == 1), None)


def _leads_to(before: str, choice: str) -> bool:
    """Whether `before` is the text of the option whose letter follows, or has no hedge."""
    return same(before, choice) or not _HEDGED.search(before)


def _option_text(letter: str, choice: str) -> str:
    """The text of an option without its letter, if it begins with it."""
    label = _OWN_LETTER.match(choice)
    return choice[label.end() :] if label and label[1] == letter else choice
