"""The short answer of a reply: in an envelope or behind a label, else its concluding line."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from ...caching.regex import regex
from ...caching.remembering import remembered
from ...markup.quoting import Line, lines
from ...markup.reasoning import split
from ...prose.language import is_english, language_of
from ..code.calls import short_calls
from ..reading.envelopes import boxed_value, hashed, object_answer, tagged, whole_object_answer
from ..reading.hints import ends_of, hints_of
from ..reading.labels import Label, find_label, flatten, is_denied
from ..same.equivalence import normalise, read, same
from ..words import table
from .asked import answer_to, block_answer
from .conclusions import BULLET, closing_value, correction, stated_value, statement, tail
from .missing import is_missing, is_offered, is_vague
from .values import ENGLISH, MAX_CHARS, as_literal, emphasised, is_credible, is_definite, value_of

__all__ = ["final_answer", "final_line", "normalise", "same"]

MAX_TEXT = 30_000
"""Characters of a reply that are read for its answer: the last ones, where it stands."""


def final_answer(text: str, question: str | None = None, choices: Sequence[str] = ()) -> str | None:
    """The final answer of `text`, without markup and caveats, or None.

    In this order: the answer of a reply that is one JSON object; the last label of a final answer (`Final
    answer:` in the languages of `words/answers.json`) and what corrects it, tag (`<answer>7</answer>`) or
    line `#### 7`; the last JSON object with an answer; an answer stated in the concluding lines; the last
    \\boxed{}; a concluding line that is only a value; the last other label (`Answer:`, `Result:`); what the
    last sentence says of what `question` asks; the content of a reply that is one code block, or ends on one
    behind "it prints:". Quotations and thinking
    aloud are ignored. question: what `text` answers; its language decides for a text that shows
    none. choices: the texts of the options, in order; an answer that is an option's text or letter is
    returned as the letter (A for the first). An answer such as `N/A` is None. The answer of a reply that
    ends on calls of tools is these, see `calls`.
    """
    return _final_answer(text, question and ends_of(question), tuple(choices))


@remembered
def _final_answer(text: str, question: str | None, choices: tuple[str, ...]) -> str | None:
    if (calls := short_calls(text)) is not None:
        return calls

    def is_plausible(value: str) -> bool:
        return is_definite(value) or _letter(value, choices) is not None or is_offered(value, question)

    whole = whole_object_answer(text)
    reply = "" if whole is not None else split(_end(text)).answer
    if whole is not None or (whole := whole_object_answer(reply)) is not None:
        value = _short(whole, question, is_plausible)
    else:
        value = _Reading.of(reply, question).answer(is_plausible)
    return (_letter(value, choices) or _unless_missing(value, question)) if value else None


def final_line(text: str) -> str | None:
    """The value of the last line of `text` with a label of a final answer, outside quotations, or None."""
    reading = _Reading.of(split(_end(text)).answer, None)
    found = reading.labelled(is_definite, final=True)
    return _unless_missing(found[1], None) if found else None


def _unless_missing(value: str, question: str | None) -> str | None:
    return None if is_missing(value, question) else value


def _end(text: str) -> str:
    """The last `MAX_TEXT` characters of `text`, from the start of a line."""
    if len(text) <= MAX_TEXT:
        return text
    start = text.find("\n", len(text) - MAX_TEXT)
    return text[start + 1 :] if start >= 0 else text[-MAX_TEXT:]


def _short(written: str, question: str | None, is_plausible: Callable[[str], bool]) -> str:
    """The value of what an envelope holds: a short answer, or the answer of a text that is one."""
    languages = ENGLISH if is_english(written, question) else ()
    value = value_of(written, languages) if "\n" not in written.strip() else ""
    if value and (is_plausible(value) or is_credible(value, languages) or not languages):
        return value
    return _Reading.of(_end(written), question).answer(is_plausible, inside=True) or value


_MARKUP = regex(
    r"</?(?:b|strong|em|i|u|p|span|div|h[1-6]|br)\s*/?>"
    r"|\\(?:textbf|textit|mathbf|emph|underline)\{([^{}\n]*)\}",
    re.IGNORECASE,
)
_PROSE_QUOTED = regex(
    r"(?<=[:\uff1a=])([ \t*_]*)[“„«「『]([^“”„«»「」『』\n]{1,200})[”“»」』](?=[\s*_.\u3002]*$)", re.MULTILINE
)
"""A value in typographic quotation marks, which belong to the sentence, not to the value."""
_SPACED_QUOTE = regex(r"(?:(?<=«)[ \u00a0\u202f]+|[ \u00a0\u202f]+(?=»))()")
_LABELS = 20
"""Label lines that are tried, from the end; most replies have one."""

_OPENING = 80
"""Characters of a first line that may be nothing but the answer."""
_LINES = 300
"""Lines that are searched for a label, from the end."""

_DELIMITER = regex(r"\s*(?:\$\$|\\\[|\\\]|[-=_*|: ]*)\s*")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reply as it is read: its lines in ASCII punctuation, those of its author, its language.

    labels: the place and the label of the lines that begin with one, the last first.
    """

    text: str
    lines: Sequence[Line]
    author_lines: Sequence[str]
    labels: Sequence[tuple[int, Label]]
    english: bool
    question: str | None

    @property
    def languages(self) -> tuple[str, ...]:
        """The code of the language of the reply or its question; empty if neither tells it."""
        code = "en" if self.english else language_of(self.text) or language_of(self.question or "")
        return (code,) if code and code in table("answers") else ()

    @classmethod
    def of(cls, text: str, question: str | None) -> _Reading:
        text = flatten(text)
        if not text.isascii():
            text = _PROSE_QUOTED.sub(r"\1\2", _SPACED_QUOTE.sub(_inner, text) if "«" in text else text)
        text = _MARKUP.sub(_inner, text)
        found = lines(text)
        author_lines = [line for line, quoted in found if not quoted and line.strip()]
        own = [at for at, line in enumerate(found) if not line.quoted][-_LINES:]
        labels = [(at, label) for at in reversed(own) if (label := _label_of(found[at].text))]
        return cls(text, found, author_lines, labels, is_english(text, question), question)

    def answer(self, is_plausible: Callable[[str], bool], inside: bool = False) -> str:
        """The short answer; empty without one. inside: the text is in an envelope, and no other is read."""
        concluding = tail(self.author_lines)
        alone = sum(bool(line.text.strip()) for line in islice(self.lines, 3)) == 1
        steps: tuple[Callable[[], str], ...] = (
            partial(self._marked, is_plausible, inside),
            partial(self._in_object, is_plausible, inside),
            partial(statement, concluding, is_plausible, self.english),
            partial(self._boxed),
            partial(closing_value, concluding, is_plausible, self.languages, alone),
            partial(self._weakly_marked, is_plausible),
            partial(self._opening, is_plausible),
            partial(self._of_question, concluding),
            partial(self._block),
        )
        return next(filter(None, (step() for step in steps)), "")

    def _marked(self, is_plausible: Callable[[str], bool], inside: bool) -> str:
        """The value of the last label of a final answer, tag, or line `#### 7`."""
        label = self.labelled(is_plausible, final=True)
        body = "\n".join(self.author_lines)
        tag = None if inside else tagged(body)
        if tag and not (label and body.rfind(self.lines[label[0]].text) > tag[0]):
            return _short(tag[1], self.question, is_plausible)
        if label:
            return self._corrected(label, is_plausible)
        value = value_of(hashed(self.author_lines[-1]), ()) if self.author_lines else ""
        return value if is_definite(value) else ""

    def _weakly_marked(self, is_plausible: Callable[[str], bool]) -> str:
        """The value of the last other label."""
        label = self.labelled(is_plausible, final=False)
        return self._corrected(label, is_plausible) if label else ""

    def _corrected(self, label: tuple[int, str], is_plausible: Callable[[str], bool]) -> str:
        """The value of a label, or what a sentence behind it corrects it to."""
        later = [line.text for line in self.lines[label[0] :] if not line.quoted] if self.english else []
        return correction(later, is_plausible) or label[1]

    def _in_object(self, is_plausible: Callable[[str], bool], inside: bool) -> str:
        found = None if inside else object_answer(self.text)
        return _short(found, self.question, is_plausible) if found else ""

    def _opening(self, is_plausible: Callable[[str], bool]) -> str:
        """The value that a first line of its own consists of, before the reasons for it."""
        line = self.author_lines[0].strip() if len(self.author_lines) > 1 else ""
        value = value_of(line, ()) if len(line) <= _OPENING and not BULLET.match(line) else ""
        return value if value and is_definite(value) and is_plausible(value) else ""

    def _of_question(self, concluding: Sequence[str]) -> str:
        """What the last sentence states of what the question asks."""
        if not self.question:
            return ""
        languages = ENGLISH if self.english else self.languages
        return answer_to(self.question, concluding, lambda value: is_credible(value, languages), self.english)

    def _block(self) -> str:
        """The content of a reply that is nothing but a code block, if it is short or asked for as printed."""
        content = block_answer(self.text)
        if "\n" in content or content.startswith("{"):
            return content if hints_of(self.question).verbatim else ""
        return as_literal(content)

    def _boxed(self) -> str:
        return value_of(boxed_value("\n".join(self.author_lines)), ())

    def labelled(self, is_plausible: Callable[[str], bool], final: bool) -> tuple[int, str] | None:
        """The place and the value of the last line with a label; a weak one needs a credible value.

        final: only labels that name the final answer; else only the others.
        """
        found = (
            (at, label) for at, label in self.labels if label.final is final and (final or not label.verb)
        )
        for at, label in islice(found, _LABELS):
            if value := self._value(at, label, is_plausible):
                return at, value
        return None

    def _value(self, at: int, label: Label, is_plausible: Callable[[str], bool]) -> str:
        """The value of a label in line `at`; empty if it has none, or a sentence that cannot be read."""
        english = self.english and "en" in label.languages
        languages = ENGLISH if english else label.languages if "en" not in label.languages else ()
        below = islice(self.lines, at + 1, None) if label.final or not label.rest.strip() else iter(())
        text = self.lines[at].text
        rest = text[len(text) - len(label.rest) :] if text.endswith(label.rest) else label.rest
        value = _written(rest, languages) or self._value_below(below, label.final, languages)
        if is_plausible(value):
            return value
        if label.verb and is_vague(value, label.languages):
            return ""
        if value and (is_credible(value, languages) or not label.weak):
            stated = stated_value(value[:MAX_CHARS], is_plausible) if self.english else ""
            return stated or value
        return ""

    def _value_below(self, below: Iterator[Line], final: bool, languages: Sequence[str]) -> str:
        """The value below a label: the next line, or the only line of a code fence.

        final: for other labels only if nothing else follows.
        """
        found = list(islice((line for line in below if not _DELIMITER.fullmatch(line.text)), 4))
        match found:
            case [Line(text, quoted=False), *more] if (
                not find_label(text[:MAX_CHARS]) and text.lstrip()[0] != "#"
            ):
                return _written(BULLET.sub("", text, count=1), languages) if final or not more else ""
            case [Line(opens, True), Line(text, True), Line(closes, True), *_] if _fences(opens) and _fences(
                closes
            ):
                return as_literal(text)
        return ""


def _label_of(line: str) -> Label | None:
    """The label that the line begins with, or the one of a final answer that a later sentence begins with."""
    if len(line) <= MAX_CHARS:
        end = len(line)
        for stop in reversed(list(_STOP.finditer(line))):
            label = find_label(line[stop.end() : end])
            if label and label.final and not (label.weak or label.verb) and label.rest.strip():
                return label
            end = stop.start() + 1
    return find_label(line)


_STOP = regex(r"[.!?।](?:\s+|(?=[^\x00-\x7f]))")


def _written(text: str, languages: Sequence[str]) -> str:
    """The value in the text of a label: of a sentence, the part in bold type if that is a value."""
    value = value_of(text, languages)
    return value if is_definite(value) or is_denied(value, ("en", *languages)) else emphasised(text) or value


def _inner(markup: re.Match[str]) -> str:
    return markup[1] or ""


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
