"""Short answers, parsed as the first kind that fits: literals, values, options, mathematics, text."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ...caching.regex import regex
from ...markup.notation import digits_in_ascii
from ..code.calls import short_calls
from ..code.literals import Code, read_literal, unfenced
from ..language.folding import fold_words, is_formula, strip_edges
from ..language.truths import read_truth
from ..maths import Value, estimate, names_in, read_maths, same_value
from ..maths.nodes import Bindings, Number
from ..maths.notation import fractions_of_repeating
from ..maths.text import text_of
from ..numbers.bounds import split_bound
from ..numbers.dates import read_date
from ..numbers.quantities import Quantity
from ..numbers.spoken import read_amount
from ..numbers.times import read_time
from ..numbers.units import NONE, Unit, read_unit
from .hints import NO_HINTS, Hints, hints_of
from .options import letters_of
from .relations import split_name

__all__ = ["MAX_CHARS", "Answer", "mathematical", "normalise", "read"]

MAX_CHARS = 200
"""Characters of a short answer; a longer one is compared as text, without case and repeated spaces."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed answer. text: its canonical text, which parses to itself. quantity: set for a number.

    kind: text is everything that is no date, time, number, truth or option: a literal has its `code`, and
    mathematics its `maths`, with its `unit`. label: the letter of an option that is followed by its text, as
    in `B. Paris`. name: what an equation gives the value to, as in `x = 5`. percent: a number with a percent
    sign. bound: the sign of a number that is only bounded, as in `at least 3`, with the number. written: the
    text on one line, without the marks around it. exact: as it was given.
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
    bound: tuple[str, Quantity] | None = None
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


def mathematical(answer: Answer) -> Value | None:
    """The mathematics of an answer, or its number."""
    if answer.maths is not None:
        return answer.maths
    return Number(answer.quantity.value) if answer.quantity else None


def _equal(one: Answer, two: Answer) -> bool:
    """Whether both sides of an equation have one value."""
    mine, theirs = mathematical(one), mathematical(two)
    return mine is not None and theirs is not None and same_value(mine, theirs)


def _is_formula_for(formula: Answer, last: Answer) -> bool:
    """Whether one side of an equation has variables, and the last one their value: `A = πr² = 25π`."""
    mine, theirs = mathematical(formula), mathematical(last)
    return mine is not None and theirs is not None and bool(names_in(mine)) and not names_in(theirs)


def read(value: str, hints: Hints = NO_HINTS) -> Answer:
    """Parse `value` as the first kind that fits all of it."""
    # Most hints do not matter for reading, so that answers to many questions share one cache.
    return _read(value, _PLAIN if hints is NO_HINTS else _notation(hints))


@functools.lru_cache(maxsize=64)
def _notation(hints: Hints) -> _Notation:
    return _Notation(
        hints.decimal,
        hints.exact,
        hints.ordered,
        "".join(letter for letter, _ in hints.options),
        hints.day_first,
    )


_THIN = regex(r"(?<=\d),\\!\s?(?=\d{3})")
"""LaTeX's narrow comma between thousands, with a space that it takes no notice of."""
_ITEM = regex(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+(\S.*?)\s*")


def _without_bullets(value: str) -> str:
    """The items of a list, each on a line with a mark, on one line: `red, green`."""
    items = [_ITEM.fullmatch(line) for line in value.splitlines() if line.strip()]
    return ", ".join(item[1] for item in items if item) if len(items) > 1 and all(items) else value


class _Notation(NamedTuple):
    """The hints that matter for reading."""

    decimal: str
    exact: bool
    ordered: bool
    letters: str
    day_first: bool


@functools.lru_cache(maxsize=4096)
def _read(value: str, notation: _Notation) -> Answer:
    if (calls := short_calls(value)) is not None:
        return Answer("text", calls, code=Code("calls", calls, calls), written=calls, exact=value)
    value = _without_bullets(value) if "\n" in value else value
    written = _THIN.sub(",", " ".join(value.split()))
    body = _unwrapped(written)
    # Spaces and scripts of digits count inside quotation marks.
    code = _literal(body if body != written else value.strip(), notation)
    if len(written) > MAX_CHARS:
        return Answer("text", code.text if code else written.casefold(), code=code, written=body, exact=value)
    if code and code.kind == "string":
        return Answer("text", value.strip(), code=code, written=body, exact=value)
    if code and (code.kind == "token" or code.quoted):
        text = value.strip() if "\n" in code.text else body
        return Answer("text", text, code=code, written=body, exact=value)
    if code:
        maths = None if _QUOTED.search(code.text) or not _BRACKET.match(code.text) else read_maths(code.text)
        shown = _shown(maths, NONE) if maths is not None else ""
        return Answer("text", shown or code.text, code=code, maths=maths, written=body, exact=value)
    if inner := unfenced(body):
        value = body = _unwrapped(inner)
    if inches := _INCHES.fullmatch(body):
        value = body = f"{inches[1]} in"
    body = digits_in_ascii(body)
    if (fraction := fractions_of_repeating(body)) != body:
        value = body = fraction
    if parameter := _PARAMETER.search(body):
        value = body = _with_parameter(body, parameter)
    if _REALS.fullmatch(body):
        value = body = "(-∞, ∞)"
    if (exact := _approximated(body, notation)) is not None:
        return exact
    if (found := split_name(body)) and (named := _named(body, *found, notation)):
        return named
    if (bound := split_bound(body)) and (bounded := _bounded(body, *bound, notation)):
        return bounded
    return _plain_answer(value, body, notation)


_PARAMETER = regex(
    r"(?:,\s*|\\quad\s*|\s+)(?:\(?(?:where|for|with|\\text\{\s*(?:,?\s*where|,?\s*for|,?\s*with)\s*\})\s*)?"
    r"\$?([a-z])\$?\s*(?:\\in|∈)\s*\$?(?:\\mathbb\s*\{?Z\}?|ℤ|Z)\$?\)?$"
)
"""The parameter of a general solution: `x = kπ, k ∈ ℤ`."""


def _with_parameter(body: str, found: re.Match[str]) -> str:
    """A general solution with its integer named k, however it is called."""
    head = body[: found.start()]
    other = re.compile(rf"(?<![A-Za-z\\]){found[1]}(?![A-Za-z])|(?<=\d){found[1]}(?=\\|π)")
    free = found[1] == "k" or not re.search(r"(?<![A-Za-z\\])k(?![A-Za-z])", head)
    return f"{other.sub('k', head)}, k ∈ Z" if free and other.search(head) else body


_INCHES = regex(r"(\d+(?:\.\d+)?(?: \d/\d{1,2})?)\s?(?:\"|″|''|”)")
_REALS = regex(r"\\mathbb\s*\{?R\}?|ℝ")


def _approximated(body: str, notation: _Notation) -> Answer | None:
    """The exact value of `1/3 ≈ 0.333`, if the decimal is that value rounded."""
    exact, sign, rounded = _ABOUT.sub("≈", body).partition("≈")
    if not sign or "≈" in rounded:
        return None
    number, decimal = estimate(exact), _read(rounded.strip(), notation).quantity
    places = _PLACES.search(rounded)
    if number is None or decimal is None or places is None or decimal.unit is not NONE:
        return None
    if abs(number - float(decimal.value)) > 0.51 * 10.0 ** -len(places[1]):
        return None
    return replace(_read(exact.strip(), notation), written=body, exact=body)


_ABOUT = regex(r"\\approx(?![A-Za-z])")
_PLACES = regex(r"[.,](\d{1,15})\s*$")


def _bounded(body: str, sign: str, rest: str, notation: _Notation) -> Answer | None:
    number = _read(rest, notation)
    if number.quantity is None or number.name:
        return None
    maths = read_maths(f"x{sign}{number.quantity.value}") if number.quantity.unit is NONE else None
    text = fold_words(strip_edges(body))
    return Answer("text", text, bound=(sign, number.quantity), maths=maths, written=body, exact=body)


_QUOTED = regex("[\"':]")
_BRACKET = regex(r"[\[({]")


def _literal(body: str, notation: _Notation) -> Code | None:
    code = read_literal(body)
    body = unfenced(body) or body
    if (
        code
        and code.kind == "token"
        and not code.quoted
        and (read_date(body, day_first=notation.day_first) or is_formula(body))
    ):
        return None
    if code is None and notation.exact and (match := _DIGITS.fullmatch(body)):
        token = re.sub(r"(?<=\d) (?=\d)", "", match[1])
        return Code("token", token, token)
    return code


_DIGITS = regex(r"(?:version |release |v)?(\+?[0-9][0-9A-Za-z. -]*)", re.IGNORECASE)


def _named(body: str, name: str, sides: tuple[str, ...], notation: _Notation) -> Answer | None:
    """The answer that a name has; None if its sides are not equal, as in `2 + 3 = 6`."""
    whole = read_maths(body) if len(name) == 1 else None
    *others, last = (_read(side, notation) for side in sides)
    if last.name or any(
        not (_equal(other, last) or (name and _is_formula_for(other, last))) for other in others
    ):
        return None
    if (
        isinstance(whole, Bindings)
        and len(sides) == 1
        and last.kind == "text"
        and last.maths is None
        and not last.code
    ):
        # F = ma: beside a name, letters are a product.
        last = replace(last, maths=whole.values[0][1], text=text_of(whole.values[0][1]))
    text = f"{name}={last.text}" if name else last.text
    return replace(last, text=text, name=name, written=body, exact=body) if len(text) <= MAX_CHARS else None


def _plain_answer(value: str, body: str, notation: _Notation) -> Answer:
    text = strip_edges(value)
    label = match[1].upper() if (match := _LABELLED.match(text)) else ""
    maths, unit = _maths(body)
    while True:
        if found := _definite(text, notation):
            # 3,5 is a number, or a list of two.
            return replace(
                found,
                maths=maths if found.kind == "number" and "," in body else None,
                written=body,
                exact=value,
            )
        if maths is not None:
            shown = body if " or " in body else _shown(maths, unit) or body
            return Answer("text", shown, maths=maths, unit=unit, written=body, exact=value)
        shorter = strip_edges(fold_words(text))
        if shorter == text:
            # Without its punctuation, words could read as mathematics or as code.
            other = text != body and (read_maths(text) is not None or read_literal(text) is not None)
            text = body if other else text
            return Answer("text", text, label=label, written=body, exact=value)
        text = shorter


def _shown(maths: Value, unit: Unit) -> str:
    """The canonical text of mathematics; empty if that does not read as the same, or is too long."""
    shown = text_of(maths) + (f" {unit.symbol}" if unit.symbol else "")
    if len(shown) > MAX_CHARS or _maths(shown) != (maths, unit):
        return ""
    # 5n with brackets is a product, and 5n without is a quantity.
    other = unit is NONE and _definite(strip_edges(shown), _PLAIN)
    return "" if other else shown


_LABELLED = regex(r"([A-Za-zА-Яа-я])(?:[.:]| -(?!\s+[A-Za-z]$))\s+\S")


_PLAIN = _Notation("", exact=False, ordered=False, letters="", day_first=False)


def _definite(text: str, notation: _Notation) -> Answer | None:
    if date := read_date(text, day_first=notation.day_first):
        return Answer("date", date)
    if time := read_time(text):
        return Answer("time", time)
    if number := _number(text, notation.decimal):
        return number
    if truth := read_truth(text):
        return Answer("truth", truth)
    if letter := letters_of(text, notation.letters, ordered=notation.ordered):
        return Answer("option", letter)
    return None


_PERCENT = regex(
    r"%|\bper\s?cent\b|\bpct\b|prozent|pour\s?cent|por\s?cien?to|per\s?cento|procent|процент|відсот|パーセント|퍼센트|प्रतिशत"
    r"|درصد|فیصد|بالم[ئا]|في الم[ئا]|শতাংশ|phần trăm|persen|เปอร์เซ็นต์|yüzde|百分之|ร้อยละ",
    2,
)


def _number(text: str, decimal: str) -> Answer | None:
    quantity = read_amount(text, decimal)
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
        r"\(?([ivx]{1,5}|\d{1,2})\)",
        r"<(https?://[^<>]+)>",
        r"<(?:b|strong|i|em|u|code|p|span|mark)>([^<>]*)</[a-z]+>",
    )
)


def _unwrapped(text: str) -> str:
    """`text` without the marks of bold and mathematics around all of it, and without a full stop."""
    for _ in range(MAX_WRAPPINGS):
        before = text
        for form in _WRAPPINGS:
            if (match := form.fullmatch(text)) and _balanced(match[1]):
                text = match[1].strip()
        if text.endswith(".") and not text.endswith("..") and len(text) > 1:
            text = text[:-1].rstrip()
        if text == before:
            break
    return text


MAX_WRAPPINGS = 20
"""Marks around each other that are taken off."""


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return not depth


_UNIT = regex(
    r"(?P<head>.*(?:[\d)}π|]|\\pi(?=[\s\\~])))(?:\s|\\[,; ]|~)*"
    r"(?:\\(?:text|mathrm|mbox|operatorname)\s*\{[\s~]*(?P<quoted>[^{}]*)\}"
    r"|(?P<bare>[A-Za-zμ°][A-Za-zμ°/ .]*))(?:\s*\^\s*\{?\s*(?P<power>[23])\s*\}?)?"
)


_UNITS = regex(r"(?:square |sq\.? |cubic )?units?", 2)


def _maths(body: str) -> tuple[Value | None, Unit]:
    """The mathematics in `body`, and the unit behind it."""
    if (found := read_maths(body)) is not None:
        return found, NONE
    match = _UNIT.fullmatch(body)
    if match is None:
        return None, NONE
    name = (match["quoted"] or match["bare"] or "").strip(" .")
    counted = match["quoted"] is not None or bool(_UNITS.fullmatch(name))
    unit = read_unit(name + (f"^{match['power']}" if match["power"] else ""), counted=counted)
    head = read_maths(match["head"]) if unit is not None and name else None
    return (head, unit or NONE) if head is not None else (None, NONE)
