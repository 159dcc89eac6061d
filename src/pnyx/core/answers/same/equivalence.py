"""Which short answers are the same: each pair is compared by the rule of its kinds."""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from ...caching.regex import regex
from ..code.identifiers import read_identifier
from ..code.literals import unfenced
from ..language.entities import is_symbol, same_thing
from ..language.folding import fold_words, is_formula, items_of, same_name, strip_edges
from ..language.names import read_roman, same_spelling
from ..language.sentences import stated
from ..language.truths import read_truth
from ..maths import differ_clearly, factors, has_products_of_sums, same_value
from ..maths.nodes import Apply, Based, Bindings, Comparison, Number
from ..numbers.dates import read_weekday
from ..numbers.ordinals import read_ordinal
from ..numbers.ranges import read_range, read_ratio
from ..numbers.units import NONE
from ..reading.counts import in_digits
from ..reading.envelopes import whole_object_answer
from ..reading.hints import NO_HINTS, Hints, hints_of
from ..reading.labels import find_label, labels_in, without_ending
from ..reading.parse import MAX_CHARS, Answer, mathematical, normalise, read
from ..words import months

__all__ = ["Answer", "normalise", "read", "same", "same_answer"]


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
    one, two = _without_label(a), _without_label(b)
    if hints.counted or hints.true_or_false:
        one, two = in_digits(one, hints), in_digits(two, hints)
    if _same(read(_without_hedge(one), hints), read(_without_hedge(two), hints), hints):
        return True
    if max(len(a), len(b)) > MAX_COMPARED:
        return False
    mine, theirs = (stated(one, question), stated(two, question)) if question else (None, None)
    return bool(mine or theirs) and _same(read(mine or one, hints), read(theirs or two, hints), hints)


@functools.lru_cache(maxsize=4096)
def _without_label(value: str) -> str:
    """The value behind a label such as `Answer:` or `The answer is`, or a hedge, or in a JSON object."""
    if len(value) > MAX_CHARS:
        return value
    if value[:1] == "{":
        return whole_object_answer(value) or value
    if not value[:1].isalpha():
        return value
    if (label := find_label(value)) and label.rest.strip():
        return without_ending(label.rest.strip(), label.languages)
    if label := next(labels_in(value), None):
        rest = without_ending(label.rest.strip(), label.languages)
        lead = value.removesuffix(label.rest)
        if len(lead.split()) <= 4 and read(rest).kind not in ("text", "truth"):
            return rest
    return value


@functools.lru_cache(maxsize=4096)
def _without_hedge(value: str) -> str:
    """`value` without words that say only how sure it is, and without a remark in brackets."""
    if not value[:1].isalnum() or len(value) > MAX_CHARS:
        return value
    if denied := _NOT_OTHER.fullmatch(value):
        value = denied[1]
    return _ASIDE.sub("", _HEDGE.sub("", value, count=1)) or value


MAX_COMPARED = 2000
"""Characters of a text that is compared by the rules of its kind; a longer one has to be written alike."""
_NOT_OTHER = regex(r"((?!(?:not|neither|no)\b)[^\s,][^,]{0,60}), (?:and )?not (?:[^\s,]+ ?){1,4}")
_ASIDE = regex(
    r"\s+\((?:approx(?:imately|\.)?|about|rounded[^()]*|exact(?:ly)?"
    r"|(?:the|which|i\.e\.|since|because|as) [^()]{2,80})\)$",
    2,
)
_HEDGE = regex(
    r"(?:i (?:think|believe|guess|would say)(?: that)? |(?:it|that)(?: is|['’]s| was) (?!not\b|no\b|n['’]t\b)"
    r"|(?:most )?(?:probably|likely) )+(?=\S)",
    2,
)
"""Words before an answer that say only how sure it is."""


def _same(one: Answer, two: Answer, hints: Hints) -> bool:
    return (
        _same_kind(one, two, hints)
        or (hints.ratio and _same_ratio(one, two))
        or ((hints.ordered or _is_spaced(one) or _is_spaced(two)) and _same_sequence(one, two))
    )


def _same_sequence(one: Answer, two: Answer) -> bool:
    """Whether two lists have the same items in the same order: `1, 2, 3`, `1 < 2 < 3`, `1 2 3`."""
    if not any(_IN_ORDER.search(answer.written) for answer in (one, two)):
        return False  # their kinds have compared them
    items, others = (items_of(_NUMBERS.sub(", ", answer.written), ordered=True) for answer in (one, two))
    return len(items) == len(others) > 1 and all(
        _same(read(a), read(b), NO_HINTS) for a, b in zip(items, others, strict=True)
    )


def _is_spaced(answer: Answer) -> bool:
    """Whether the answer is numbers with spaces between them: `2 3 5`."""
    return bool(_SPACED.fullmatch(answer.written))


_SPACED = regex(r"-?\d{1,2}(?: -?\d{1,2}){2,40}")
_NUMBERS = regex(r"(?<=\d) (?=[+-]?\d{1,2}(?!\d))")
"""The space between two numbers, where it does not stand between the thousands of one."""
_IN_ORDER = regex(r"[<>→]|->|\bthen\b|\d[.)] |\d \d")


def _same_ratio(one: Answer, two: Answer) -> bool:
    mine, theirs = read_ratio(one.written), read_ratio(two.written)
    return mine is not None and mine == theirs


def _same_range(one: Answer, two: Answer) -> bool:
    mine, theirs = read_range(one.written), read_range(two.written)
    return bool(mine and theirs) and all(a.matches(b) for a, b in zip(mine or (), theirs or (), strict=True))


def _same_kind(one: Answer, two: Answer, hints: Hints) -> bool:
    if one.name and two.name and one.name != two.name:
        return _same_equation(one, two)
    if hints.verbatim and not (one.code and two.code):
        return _same_print(one, two)
    if (identifier := read_identifier(one.written)) and identifier == read_identifier(two.written):
        return True
    if _are_symbols(one, two, hints):
        return one.written == two.written
    if one.written[:1].isalpha() and same_thing(one.written, two.written, hints.topics):
        return True
    if one.bound and two.bound:
        return one.bound[0] == two.bound[0] and one.bound[1].matches(two.bound[1])
    if one.code or two.code:
        return _same_code(one, two, hints)
    if max(len(one.written), len(two.written)) > MAX_COMPARED:
        return one.text == two.text and (not hints.printed or one.written == two.written)
    if one.quantity and two.quantity:
        return _same_quantity(one, two, hints)
    if {one.kind, two.kind} == {"time", "number"}:
        return _same_hour(one, two)
    if one.kind == two.kind == "truth":
        return one.text == two.text or (hints.truth and _TRUTHS[one.text] == _TRUTHS[two.text])
    if (one.maths is not None or one.quantity) and (two.maths is not None or two.quantity):
        return _same_maths(one, two, hints)
    if _is_roman(one, two, hints) or _is_roman(two, one, hints):
        return True
    if hints.printed and _differ_in_case(one, two):
        return False
    if _bare(one) == _bare(two) or _label_matches(one, two) or _label_matches(two, one):
        return True
    if (place := _place(one)) and (other := _place(two)):
        # `19th` is `the 19th century`, and not `the 19th floor`.
        return place[0] == other[0] and (place[1] == other[1] or not (place[1] and other[1]))
    if _names_options(one, two, hints) or _names_options(two, one, hints):
        return True
    return one.kind == two.kind == "text" and (
        same_name(one.written, two.written)
        or _same_items(one, two, hints)
        or _same_range(one, two)
        or same_spelling(one.written, two.written, person="person" in hints.topics)
    )


def _same_print(one: Answer, two: Answer) -> bool:
    """Whether two texts are the same output: but for marks around them, spaces at the ends of lines count.

    A string literal is its content, and a number in quotes is another output than the number.
    """
    literal, other = (one, two) if one.code else (two, one)
    if literal.code and literal.code.kind == "string":
        if other.quantity or other.text in ("true", "false", "none"):
            return False
        return literal.code.same_text(_printed(other))
    return _printed(one) == _printed(two)


@functools.lru_cache(maxsize=1024)
def _print_lines(text: str) -> str:
    text = unfenced(text.strip()) or text
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _printed(answer: Answer) -> str:
    return _print_lines(answer.exact)


def _is_roman(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether `one` is the Roman numeral of the number `two`."""
    if two.quantity is None or two.quantity.unit is not NONE or one.kind != "text" or hints.printed:
        return False
    return read_roman(one.written) == two.quantity.value


def _are_symbols(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether one is the symbol of an element and the other too, or a formula, so that case counts."""
    if "element" not in hints.topics:
        return False
    symbols = [is_symbol(answer.written) for answer in (one, two)]
    return any(symbols) and all(is_symbol(a.written) or is_formula(a.written) for a in (one, two))


def _differ_in_case(one: Answer, two: Answer) -> bool:
    mine, theirs = strip_edges(one.written), strip_edges(two.written)
    return mine != theirs and mine.casefold() == theirs.casefold()


def _place(answer: Answer) -> tuple[int, str] | None:
    """The number and the noun of an ordinal. `a third` is a share and no place."""
    is_share = answer.quantity and answer.quantity.value.denominator > 1
    return None if is_share else read_ordinal(answer.written)


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def _bare(answer: Answer) -> str:
    # Weekdays are not part of the canonical text, where "sun" would become a day.
    text = answer.text.removeprefix(f"{answer.name}=") if answer.name else answer.text
    if answer.kind == "text" and len(text) < 30:
        if (day := read_weekday(text)) is not None:
            return f"weekday {day}"
        if month := months().get(text):
            return f"month {month}"
    return text


def _same_code(one: Answer, two: Answer, hints: Hints) -> bool:
    if one.code and two.code:
        return one.code.same(two.code)
    literal, other = (one, two) if one.code else (two, one)
    assert literal.code is not None, "one of them has it"
    if literal.code.key.lstrip("-")[:1] == "n" and literal.code.kind == "value":
        # 0x1f is 31, unless the question is about the notation.
        return literal.code.key == f"n{_in_base(other, hints)}"
    if literal.code.kind == "value":
        if other.quantity or other.maths is not None:
            return literal.maths is not None and _same_maths(literal, other, hints)
        return literal.code.text == "none" and literal.text == other.text
    # The number 1 is not the string "1", but where no program is asked about, quotation marks say nothing.
    if literal.code.kind == "string" and hints.truth and other.quantity and not other.code:
        return _same(read(literal.code.text), other, NO_HINTS)
    if literal.code.kind == "string" and (other.quantity or other.text in ("true", "false", "none")):
        return False
    return literal.code.same_text(other.written) or literal.code.same_text(other.exact)


def _in_base(answer: Answer, hints: Hints) -> int | Fraction | None:
    """The number that `answer` is, in the base that the question names: `FF` is 255 in base 16."""
    if isinstance(answer.maths, Based):
        return int(answer.maths.digits, answer.maths.base) if "." not in answer.maths.digits else None
    for base in (2, 8, 16):
        if base in hints.bases:
            with suppress(ValueError):
                return int(answer.written, base)
    return answer.quantity.value if answer.quantity and answer.quantity.unit is NONE else None


def _same_hour(one: Answer, two: Answer) -> bool:
    """Whether a time of day and hours are the same: `17:00`, `17 h`."""
    time, number = (one, two) if one.kind == "time" else (two, one)
    hours = number.quantity
    return bool(hours and hours.unit.symbol == "h" and time.text == f"{int(hours.value):02}:00")


def _same_quantity(one: Answer, two: Answer, hints: Hints) -> bool:
    assert one.quantity, "called for two numbers"
    assert two.quantity, "called for two numbers"
    mine, theirs = one.quantity, two.quantity
    if hints.percent and one.percent != two.percent:
        # The question asks for percent, so a number without the sign has it.
        percent, plain = (mine, theirs) if one.percent else (theirs, mine)
        return replace(percent, value=percent.value * 100).matches(plain)
    if hints.unit is not NONE and (mine.unit is NONE) != (theirs.unit is NONE):
        named = theirs if mine.unit is NONE else mine
        if named.is_measured:
            # The question tells the unit that one of them leaves out.
            mine, theirs = (q if q.unit is not NONE else replace(q, unit=hints.unit) for q in (mine, theirs))
    return mine.matches(theirs)


def _same_maths(one: Answer, two: Answer, hints: Hints) -> bool:
    mine, theirs = mathematical(one), mathematical(two)
    if mine is None or theirs is None:
        return False
    if _NAMED_POINT.fullmatch(one.written) and _NAMED_POINT.fullmatch(two.written):
        # C(3, 1) may be a point as well as a number of choices.
        return one.written.replace(" ", "") == two.written.replace(" ", "")
    plain = one.maths is not None and two.maths is not None and not (one.name or two.name)
    if plain and differ_clearly(one.written, two.written):
        return False
    if _is_angle(one, two) or _is_angle(two, one):
        degrees, angle = (one, two) if _is_angle(one, two) else (two, one)
        value = degrees.quantity.value if degrees.quantity else 0
        if angle.maths is not None and same_value(Apply("deg", (Number(Fraction(value)),)), angle.maths):
            return True
    units = one.unit, two.unit
    if NONE not in units and units[0] != units[1]:
        return False
    if hints.factored and factors(mine) != factors(theirs):
        return False
    if hints.expanded and has_products_of_sums(mine) != has_products_of_sums(theirs):
        return False
    if isinstance(mine, Comparison) != isinstance(theirs, Comparison):
        # y = 3x + 4 beside 3x - y + 4 = 0
        mine, theirs = (
            Bindings(((answer.name, value),)) if answer.name else value
            for answer, value in ((one, mine), (two, theirs))
        )
    return same_value(mine, theirs, ordered=hints.ordered, bases=hints.bases)


_NAMED_POINT = regex(r"C\(\d+, ?\d+\)")


def _is_angle(one: Answer, two: Answer) -> bool:
    """Whether `one` is an angle in degrees, and `two` may be one in radians."""
    return bool(one.quantity and one.quantity.unit.symbol == "°") and two.unit.symbol in ("", "rad")


def _same_equation(one: Answer, two: Answer) -> bool:
    """Whether equations that are solved for different names are the same: `y = 2x` and `x = y/2`."""
    mine, theirs = mathematical(one), mathematical(two)
    if mine is None or theirs is None:
        return False
    return same_value(Bindings(((one.name, mine),)), Bindings(((two.name, theirs),)))


def _same_items(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether two lists of words have the same items, in any order unless the question asks for one."""
    mine, theirs = (items_of(answer.written, ordered=hints.ordered) for answer in (one, two))
    if len(mine) < 2 or len(mine) != len(theirs):
        return False
    folded = [[fold_words(strip_edges(item)) for item in items] for items in (mine, theirs)]
    if hints.ordered or any(read_truth(item) or item.isdigit() for item in folded[0]):
        return folded[0] == folded[1]
    return sorted(folded[0]) == sorted(folded[1])


def _label_matches(one: Answer, two: Answer) -> bool:
    return two.kind == "option" and one.label == two.text


def _names_options(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether `one` is the letter of the question's option that `two` writes out, or several."""
    if one.kind != "option" or two.kind == "option" or not hints.options:
        return False
    letters = one.text.split(", ")
    items = [two.written] if len(letters) == 1 else list(items_of(two.written))
    return sorted(letters) == sorted(_option_of(item, hints) for item in items)


def _option_of(text: str, hints: Hints) -> str:
    """The letter of the option that `text` names; empty if it names none, or several."""
    answer = read(text)
    if labelled := _OPTION_LABEL.match(text):
        text = labelled[1]
    found = [
        letter
        for letter, option in hints.options
        if answer.label == letter or answer.text == letter or _same(read(option), answer, NO_HINTS)
    ]
    return found[0] if len(found) == 1 else ""


_OPTION_LABEL = regex(r"[(\[]?([A-ZА-Я])[)\].:]+\s")
