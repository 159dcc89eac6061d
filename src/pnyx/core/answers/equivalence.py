"""Which short answers are the same: literals, numbers, dates, times, options, truth, mathematics, text."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Literal

from ..markup.notation import digits_in_ascii
from ..regex import regex
from .dates import read_date, read_time, read_weekday
from .folding import fold_words, strip_edges, without_accents
from .hints import NO_HINTS, Hints, hints_of
from .literals import Code, read_literal
from .maths import Value, read_maths, same_value
from .maths.nodes import Number
from .maths.text import text_of
from .options import letters_of
from .quantities import Quantity, read_quantity
from .relations import split_name
from .truths import read_truth
from .units import NONE, Unit, read_unit

__all__ = ["Answer", "normalise", "read", "same", "same_answer"]

MAX_CHARS = 200
"""Characters of a short answer; a longer one is compared as text, without case and repeated spaces."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed answer. text: its canonical text, which parses to itself. quantity: set for a number.

    kind: text is everything that is no date, time, number, truth or option: a literal has its `code`, and
    mathematics its `maths`, with its `unit`. label: the letter of an option that is followed by its text, as
    in `B. Paris`. name: what an equation gives the value to, as in `x = 5`. percent: a number with a percent
    sign. written: the text on one line, without the marks around it. exact: as it was given.
    """

    kind: Literal["date", "time", "number", "truth", "option", "text"]
    text: str
    quantity: Quantity | None = None
    label: str = ""
    name: str = ""
    code: Code | None = None
    maths: Value | None = field(default=None, compare=False)
    unit: Unit = NONE
    percent: bool = False
    written: str = field(default="", compare=False)
    exact: str = field(default="", compare=False)


def normalise(value: str, question: str | None = None) -> str:
    """The canonical text of an answer: equal for equal answers in different notations.

    Numbers become exact rationals (`1,000` equals `1e3`; `50%` equals `1/2`, but not `50`) with the symbol of
    their unit, which is not converted. Dates become ISO 8601, complete or not (`2024-03-05`, `2024-03`,
    `--03-05`); `03/05/2024` stays text. Times become 24-hour times (`9:05` and `9:05 am` are `09:05`, `9 pm`
    is `21:00`), and options capital letters. Literals and code stay as they are. Mathematics gets plain
    notation. Other text loses its case, its articles and the punctuation without meaning.
    """
    return read(value, hints_of(question)).text


def same_answer(a: str, b: str, question: str | None = None) -> bool:
    """Whether two short answers are the same.

    question: what they answer. It can tell that a percent sign may be left out, which mark is the decimal
    one, whether the order of a list counts, or what an option's letter stands for. docs/answers.md says what
    counts as the same. Votes, deliberation, grading and replay decide by this function.
    """
    return same(a, b, question)


def same(a: str, b: str, question: str | None = None) -> bool:
    """Whether two answers are equal: the same value, literal, expression or text.

    A part that only one of them has is no difference: a unit (`12`, `12 km`), the text of an option (`B`,
    `B. Paris`), the name of a value (`x = 5`, `5`). The relation is reflexive and symmetric but not
    transitive: `12` equals `12 km` and `12 kg`.
    """
    if a == b:
        return True
    hints = hints_of(question)
    return _same(read(a, hints), read(b, hints), hints)


def _same(one: Answer, two: Answer, hints: Hints) -> bool:
    if one.name and two.name and one.name != two.name:
        return _same_maths(one, two, hints)
    if one.code or two.code:
        return _same_code(one, two, hints)
    if one.quantity and two.quantity:
        lists = one.maths is not None and two.maths is not None
        return _same_quantity(one, two, hints) or (lists and _same_maths(one, two, hints))
    if one.kind == two.kind == "truth":
        return one.text == two.text or (hints.truth and _TRUTHS[one.text] == _TRUTHS[two.text])
    if (one.maths is not None or one.quantity) and (two.maths is not None or two.quantity):
        return _same_maths(one, two, hints)
    if _bare(one) == _bare(two) or _label_matches(one, two) or _label_matches(two, one):
        return True
    if one.kind == two.kind == "text":
        return _same_name(one, two)
    return _names_option(one, two, hints) or _names_option(two, one, hints)


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def _bare(answer: Answer) -> str:
    # Weekdays are not part of the canonical text, where "sun" would become a day.
    text = answer.text.removeprefix(f"{answer.name}=") if answer.name else answer.text
    if answer.kind == "text" and len(text) < 30 and (day := read_weekday(text)) is not None:
        return f"weekday {day}"
    return text


def _same_code(one: Answer, two: Answer, hints: Hints) -> bool:
    if one.code and two.code:
        return one.code.same(two.code)
    literal, other = (one, two) if one.code else (two, one)
    assert literal.code is not None, "one of them has it"
    if literal.code.kind == "value":
        if other.quantity or other.maths is not None:
            return literal.maths is not None and _same_maths(literal, other, hints)
        return literal.code.text == "none" and literal.text == other.text
    # The number 1 is not the string "1".
    if literal.code.kind == "string" and (other.quantity or other.text in ("true", "false", "none")):
        return False
    return literal.code.same_text(other.written) or literal.code.same_text(other.exact)


def _same_quantity(one: Answer, two: Answer, hints: Hints) -> bool:
    assert one.quantity, "called for two numbers"
    assert two.quantity, "called for two numbers"
    if one.quantity.matches(two.quantity):
        return True
    if hints.percent and one.percent != two.percent:
        percent, plain = (one.quantity, two.quantity) if one.percent else (two.quantity, one.quantity)
        return replace(percent, value=percent.value * 100).matches(plain)
    return False


def _same_maths(one: Answer, two: Answer, hints: Hints) -> bool:
    mine, theirs = _mathematical(one), _mathematical(two)
    if mine is None or theirs is None:
        return False
    units = one.unit, two.unit
    if NONE not in units and units[0] != units[1]:
        return False
    return same_value(mine, theirs, ordered=hints.ordered, bases=hints.bases)


def _mathematical(answer: Answer) -> Value | None:
    if answer.maths is not None:
        return answer.maths
    return Number(answer.quantity.value) if answer.quantity else None


def _same_name(one: Answer, two: Answer) -> bool:
    """Whether two names differ by accents only: `Sao Paulo`, `São Paulo`.

    Only where every word has a capital: `schon` and `schön`, `resume` and `résumé` are words of their own.
    """
    if one.text.isascii() and two.text.isascii():
        return False
    if not (_CAPITALS.fullmatch(one.written) and _CAPITALS.fullmatch(two.written)):
        return False
    return one.text.isascii() != two.text.isascii() and without_accents(one.text) == without_accents(two.text)


_CAPITALS = regex(
    r"(?:(?:[^\W\d_a-z]|(?:de|da|do|del|la|di|du|van|von|der|dos|das|the|of|and|y|e)(?=\s))[^\W\d_]*[\s'-]*)+"
)


def _label_matches(one: Answer, two: Answer) -> bool:
    return two.kind == "option" and one.label == two.text


def _names_option(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether `one` is the letter of the question's option that `two` writes out."""
    if one.kind != "option" or two.kind == "option":
        return False
    text = dict(hints.options).get(one.text)
    return text is not None and _same(read(text), two, NO_HINTS)


def read(value: str, hints: Hints = NO_HINTS) -> Answer:
    """Parse `value` as the first kind that fits all of it."""
    # Most hints do not matter for reading, so that answers to many questions share one cache.
    return _read(
        value, hints.decimal, hints.exact, hints.ordered, "".join(letter for letter, _ in hints.options)
    )


@functools.lru_cache(maxsize=4096)
def _read(value: str, decimal: str, exact: bool, ordered: bool, letters: str) -> Answer:
    written = " ".join(value.split())
    body = _unwrapped(written)
    # Spaces count inside quotation marks.
    code = _literal(body if body != written else value.strip(), exact)
    if len(written) > MAX_CHARS:
        return Answer("text", code.text if code else written.casefold(), code=code, written=body, exact=value)
    if code and (code.kind == "token" or code.quoted):
        return Answer("text", body, code=code, written=body, exact=value)
    if code:
        maths = read_maths(body)
        text = code.text if maths is None else text_of(maths)
        return Answer(
            "text",
            text if len(text) <= MAX_CHARS else body,
            code=code,
            maths=maths,
            written=body,
            exact=value,
        )
    if (found := split_name(body)) and (named := _named(*found, decimal, exact, ordered, letters)):
        return named
    return _plain_answer(value, body, decimal, ordered, letters)


def _literal(body: str, exact: bool) -> Code | None:
    code = read_literal(body)
    if code and code.kind == "token" and not code.quoted and read_date(body):
        return None
    if code is None and exact and _DIGITS.fullmatch(body):
        return Code("token", body, body)
    return code


_DIGITS = regex(r"[0-9][0-9A-Za-z.-]*")


def _named(
    name: str, sides: tuple[str, ...], decimal: str, exact: bool, ordered: bool, letters: str
) -> Answer | None:
    """The answer that a name has; None if its sides are not equal, as in `2 + 3 = 6`."""
    *others, last = (_read(side, decimal, exact, ordered, letters) for side in sides)
    if last.name or any(not _same_maths(other, last, NO_HINTS) for other in others):
        return None
    text = f"{name}={last.text}" if name else last.text
    return replace(last, text=text, name=name) if len(text) <= MAX_CHARS else None


def _plain_answer(value: str, body: str, decimal: str, ordered: bool, letters: str) -> Answer:
    text = strip_edges(value)
    label = match[1].upper() if (match := _LABELLED.match(text)) else ""
    maths, unit = _maths(body)
    while True:
        if found := _definite(text, decimal, ordered, letters):
            # 3,5 is a number, or a list of two.
            return replace(
                found,
                maths=maths if found.kind == "number" and "," in body else None,
                written=body,
                exact=value,
            )
        shorter = strip_edges(fold_words(text))
        if shorter == text:
            break
        if maths is not None:
            shown = text_of(maths) + (f" {unit.symbol}" if unit.symbol else "")
            return Answer(
                "text",
                shown if len(shown) <= MAX_CHARS else body,
                maths=maths,
                unit=unit,
                written=body,
                exact=value,
            )
        text = shorter
    return Answer("text", text, label=label, maths=maths, unit=unit, written=body, exact=value)


_LABELLED = regex(r"([A-Za-z])(?:[.:]| -(?!\s+[A-Za-z]$))\s+\S")


def _definite(text: str, decimal: str, ordered: bool, letters: str) -> Answer | None:
    if date := read_date(text):
        return Answer("date", date)
    if time := read_time(text):
        return Answer("time", time)
    if number := _number(text, decimal):
        return number
    if truth := read_truth(text):
        return Answer("truth", truth)
    if letter := letters_of(text, letters, ordered=ordered):
        return Answer("option", letter)
    return None


_MINUS = regex(r"^(?:minus|negative)\s+(?=[$€£¥₹]?\.?\d)", 2)
_ORDINAL = regex(r"^(?:option|choice|number|no\.|#)\s*(?=\d)", 2)
_PERCENT = regex(r"%|\bper\s?cent\b|\bpct\b", 2)


def _number(text: str, decimal: str) -> Answer | None:
    quantity = read_quantity(_MINUS.sub("-", _ORDINAL.sub("", text)), decimal)
    canonical = str(quantity)
    # A canonical text must parse to itself: "a dozen May" is a date, and a long text is compared as text.
    if quantity is None or len(canonical) > MAX_CHARS or read_date(canonical):
        return None
    return Answer("number", canonical, quantity, percent=bool(_PERCENT.search(text)))


_WRAPPINGS = tuple(
    regex(form)
    for form in (
        r"\*\*([^*]+)\*\*",
        r"__([^_]+)__(?<!\w__)",
        r"\$\$?((?:[^$\\]|\\.)+)\$\$?",
        r"\\\((.*)\\\)",
        r"\\\[(.*)\\\]",
        r"\\(?:boxed|fbox)\s*\{(.*)\}",
        r"\\text(?:bf|it|rm)?\s*\{([^{}]*)\}",
    )
)


def _unwrapped(text: str) -> str:
    """`text` without the marks of bold and mathematics around all of it, and without a full stop."""
    while True:
        before = text
        for form in _WRAPPINGS:
            if (match := form.fullmatch(text)) and _balanced(match[1]):
                text = match[1].strip()
        if text.endswith(".") and not text.endswith("..") and len(text) > 1:
            text = text[:-1].rstrip()
        if text == before:
            return digits_in_ascii(text)


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return not depth


_UNIT = regex(
    r"(?P<head>.*[\d)}π|])(?:\s|\\[,; ])*(?:\\(?:text|mathrm|mbox|operatorname)\s*\{\s*(?P<quoted>[^{}]*)\}"
    r"|(?P<bare>[A-Za-zμ°][A-Za-zμ°/ .]*))(?:\s*\^\s*\{?\s*(?P<power>[23])\s*\}?)?"
)


def _maths(body: str) -> tuple[Value | None, Unit]:
    """The mathematics in `body`, and the unit behind it."""
    if (found := read_maths(body)) is not None:
        return found, NONE
    match = _UNIT.fullmatch(body)
    if match is None:
        return None, NONE
    name = (match["quoted"] or match["bare"] or "").strip(" .")
    unit = read_unit(
        name + (f"^{match['power']}" if match["power"] else ""), counted=match["quoted"] is not None
    )
    head = read_maths(match["head"]) if unit is not None and name else None
    return (head, unit or NONE) if head is not None else (None, NONE)
