"""Which short answers are the same: each pair is compared by the rule of its kinds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from ...caching.regex import regex
from ...markup.notation import plain
from ..code.identifiers import read_identifier
from ..code.literal_values import CONSTANTS
from ..language.chemistry import read_species
from ..language.entities import same_thing
from ..language.folding import items_of, same_name
from ..language.names import read_roman, same_spelling
from ..language.sentences import stated
from ..maths import differ_clearly, factors, has_products_of_sums, read_maths, same_value, symbolic
from ..maths.nodes import Apply, Based, Bindings, Comparison, Number
from ..numbers.dates import differ_in_weekday, read_weekday
from ..numbers.ordinals import read_ordinal
from ..numbers.ranges import read_range, read_ratio
from ..numbers.units import NONE, read_unit
from ..reading.choices import chosen, contradicts, place_of
from ..reading.counts import in_digits
from ..reading.hints import NO_HINTS, Hints, ends_of, hints_of
from ..reading.parse import Answer, mathematical, normalise, read
from ..words import months
from .amounts import stated_amount
from .bare import without_hedge, without_label
from .choices import is_mislabelled, label_matches, names_options, option_of
from .letter_case import are_symbols, differ_in_case, names_files
from .lists import same_items
from .phrases import has_message, literal_in
from .prints import same_constants, same_print
from .repeated import without_repeated
from .status_codes import asks_for_status, same_status

__all__ = ["Answer", "normalise", "read", "same", "same_answer"]


def same_answer(a: str, b: str, question: str | None = None) -> bool:
    """Whether two short answers are the same.

    question: what they answer. It can tell that a percent sign may be left out, which mark is the decimal
    one, whether the order of a list counts, or what an option's letter means. docs/answers.md says what
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
    question = question and ends_of(question)
    hints = hints_of(question)
    one, two = without_label(a), without_label(b)
    if asks_for_status(question) and same_status(one, two):
        return True
    if hints.counted or hints.true_or_false:
        one, two = in_digits(one, hints), in_digits(two, hints)
    if hints.numbered and any(contradicts(text, hints.numbered) for text in (one, two)):
        return False
    if hints.options and any(is_mislabelled(text, hints) for text in (one, two)):
        return False
    bare = without_hedge(one), without_hedge(two)
    if _same(read(bare[0], hints), read(bare[1], hints), hints):
        return True
    if bare != (one, two) and _same(read(one, hints), read(two, hints), hints):
        return True
    if max(len(a), len(b)) > MAX_COMPARED:
        return False
    if hints.verbatim and not (_PRINTS.search(one) or _PRINTS.search(two)):
        return one.strip(" .") == two.strip(" .")  # all that stands there is printed
    if question and not (hints.counted or hints.verbatim):
        new = without_repeated(one, two, question), without_repeated(two, one, question)
        if new != (one, two) and _same(read(new[0], hints), read(new[1], hints), hints):
            return True
    mine, theirs = (_stated(one, question), _stated(two, question)) if question else (None, None)
    if (mine or theirs) and _same(read(mine or one, hints), read(theirs or two, hints), hints):
        return True
    return bool(question) and _same_literal(one, two, question or "", hints)


def _same_literal(one: str, two: str, question: str, hints: Hints) -> bool:
    """Whether two answers are one literal without the words around it; two that have a message keep it."""
    mine, theirs = literal_in(one, question), literal_in(two, question)
    if (mine, theirs) == (one, two) or (
        mine != one and theirs != two and has_message(one) and has_message(two)
    ):
        return False
    return _same(read(mine, hints), read(theirs, hints), hints)


_PRINTS = regex(
    r"\b(?:print|output|return|display|show|result|answer)(?:s|ed)?\b|\b(?:gibt|ausgabe|affiche|imprime|stampa|muestra)\b",
    2,
)
"""A word of a sentence that says what is printed."""


def _stated(text: str, question: str) -> str | None:
    """What a sentence states; None for a text that has no other words, whose line breaks may count."""
    found = stated(text, question)
    if found is None or found == text.strip(" .。"):
        found = stated_amount(text, question) or found
    return None if found == " ".join(text.split()) else found


MAX_COMPARED = 2000
"""Characters of a text that is compared by the rules of its kind; a longer one has to be written alike."""


def _same(one: Answer, two: Answer, hints: Hints) -> bool:
    return (
        _same_kind(one, two, hints)
        or (bool(hints.numbered) and _same_choice(one, two, hints))
        or (bool(hints.options) and _same_place(one, two, hints))
        or (hints.ratio and _same_ratio(one, two))
        or (
            not hints.verbatim
            and (hints.ordered or _is_spaced(one) or _is_spaced(two))
            and _same_sequence(one, two)
        )
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


def _same_choice(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether two answers name the same numbered options of the question."""
    mine = chosen(one.written, hints.numbered)
    return mine is not None and mine == chosen(two.written, hints.numbered)


def _same_place(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether one of them names an option by its place, and the other names it too: `the second option`."""
    places = [place_of(answer.written, hints.options) for answer in (one, two)]
    if places == [None, None]:
        return False
    mine, theirs = (
        option_of(answer.written, hints, _same) if at is None else hints.options[at][0]
        for answer, at in zip((one, two), places, strict=True)
    )
    return mine == theirs


def _same_ratio(one: Answer, two: Answer) -> bool:
    mine, theirs = read_ratio(plain(one.written)), read_ratio(plain(two.written))
    return mine is not None and mine == theirs


def _same_range(one: Answer, two: Answer) -> bool:
    mine, theirs = read_range(one.written), read_range(two.written)
    return bool(mine and theirs) and all(a.matches(b) for a, b in zip(mine or (), theirs or (), strict=True))


def _same_kind(one: Answer, two: Answer, hints: Hints) -> bool:
    if one.name and two.name and one.name != two.name:
        return _same_equation(one, two)
    if one.kind == two.kind == "date" and differ_in_weekday(one.written, two.written):
        return False
    if hints.verbatim and not (one.code and two.code and same_constants(one.written, two.written)):
        return same_print(one, two)
    mine, theirs = read_species(one.written), read_species(two.written)
    if mine and theirs and (mine == theirs or _SPECIES.fullmatch(mine + theirs)):
        return mine == theirs
    if (identifier := read_identifier(one.written)) and identifier == read_identifier(two.written):
        return True
    if are_symbols(one, two, hints):
        return one.written == two.written
    if one.written[:1].isalpha() and same_thing(one.written, two.written, hints.topics):
        return True
    if one.bound and two.bound:
        return one.bound[0] == two.bound[0] and one.bound[1].matches(two.bound[1])
    if one.code or two.code:
        none = hints.options and "none" in (one.text, two.text)
        return _same_code(one, two, hints) or bool(
            none and (names_options(one, two, hints, _same) or names_options(two, one, hints, _same))
        )
    if max(len(one.written), len(two.written)) > MAX_COMPARED:
        return one.text == two.text and (not hints.printed or one.written == two.written)
    if one.quantity and two.quantity:
        return _same_quantity(one, two, hints)
    if {one.kind, two.kind} == {"time", "number"}:
        return _same_hour(one, two, hints)
    if one.kind == two.kind == "truth":
        return one.text == two.text or (hints.truth and _TRUTHS[one.text] == _TRUTHS[two.text])
    if (one.maths is not None or one.quantity) and (two.maths is not None or two.quantity):
        return _same_maths(one, two, hints)
    if (one.maths is None) != (two.maths is None) and _same_after_all(one, two, hints):
        return True
    if (form := symbolic(one.written)) and form == symbolic(two.written):
        return True
    if _is_roman(one, two, hints) or _is_roman(two, one, hints):
        return True
    if (hints.printed or names_files(one, two)) and differ_in_case(one, two):
        return False
    if _bare(one) == _bare(two) or label_matches(one, two) or label_matches(two, one):
        return True
    if (place := _place(one)) and (other := _place(two)):
        # `19th` is `the 19th century`, and not `the 19th floor`.
        return place[0] == other[0] and (place[1] == other[1] or not (place[1] and other[1]))
    if names_options(one, two, hints, _same) or names_options(two, one, hints, _same):
        return True
    return one.kind == two.kind == "text" and (
        same_name(one.written, two.written)
        or same_items(one.written, two.written, hints)
        or _same_range(one, two)
        or same_spelling(one.written, two.written, person="person" in hints.topics)
    )


_SPECIES = regex(r"[^→⇌]*\d[^→⇌]*")
"""Formulas with a number, of which case and charge count: `CO2` is no `Co2`."""


def _is_roman(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether `one` is the Roman numeral of the number `two`."""
    if two.quantity is None or two.quantity.unit is not NONE or one.kind != "text" or hints.printed:
        return False
    return read_roman(one.written) == two.quantity.value


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
            # {3} is a set of solutions, but no number that a program gives.
            asks_program = not hints.truth and hints is not NO_HINTS
            return not asks_program and literal.maths is not None and _same_maths(literal, other, hints)
        return literal.code.text == "none" and literal.text == other.text
    # The number 1 is not the string "1", but where no program is asked about, quotation marks say nothing.
    if literal.code.kind == "string" and hints.truth and other.quantity and not other.code:
        return _same(read(literal.code.text), other, NO_HINTS)
    if literal.code.kind == "string" and (other.quantity or other.text in CONSTANTS):
        return False
    written = other.written.replace(" = ", "=") if "=" in literal.code.text else other.written
    return literal.code.same_text(written) or literal.code.same_text(other.exact)


def _in_base(answer: Answer, hints: Hints) -> int | Fraction | None:
    """The number that `answer` is, in the base that the question names: `FF` is 255 in base 16."""
    if isinstance(answer.maths, Based):
        return int(answer.maths.digits, answer.maths.base) if "." not in answer.maths.digits else None
    for base in (2, 8, 16):
        if base in hints.bases:
            with suppress(ValueError):
                return int(answer.written, base)
    return answer.quantity.value if answer.quantity and answer.quantity.unit is NONE else None


def _same_after_all(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether text that may be mathematics is what the other one is: `FF` in a base, `b-a`."""
    value, text = (one, two) if one.maths is not None else (two, one)
    if isinstance(value.maths, Based):
        return value.maths.base in hints.bases and text.written.upper() == value.maths.digits
    if not _DIFFERENCE.fullmatch(text.written) or value.maths is None:
        return False
    other = read_maths(f"0+{text.written}")
    return other is not None and same_value(value.maths, other)


_DIFFERENCE = regex(r"[a-j]\s*-\s*[a-j]")
"""A difference of two letters, which is a range of options for some."""


def _same_hour(one: Answer, two: Answer, hints: Hints) -> bool:
    """Whether a time of day and a duration are the same: `17:00` and `17 h`, `1:15 h` and `75 min`."""
    time, number = (one, two) if one.kind == "time" else (two, one)
    found = number.quantity
    if found is None or time.text.count(":") != 1:
        return False
    unit = hints.unit if found.unit is NONE else found.unit
    in_hours = "h" in time.written.casefold() or time.text.endswith(":00")
    if unit.dimensions != _HOUR.dimensions or not (in_hours and ("h" in time.written or unit == _HOUR)):
        return False
    hours, minutes = map(int, time.text.split(":"))
    return found.value * unit.factor == (hours * 60 + minutes) * 60 * _SECOND.factor


_HOUR, _SECOND = read_unit("h") or NONE, read_unit("s") or NONE


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


_NAMED_POINT = regex(r"[CP]\(\d+, ?\d+\)")


def _is_angle(one: Answer, two: Answer) -> bool:
    """Whether `one` is an angle in degrees, and `two` may be one in radians."""
    return bool(one.quantity and one.quantity.unit.symbol == "°") and two.unit.symbol in ("", "rad")


def _same_equation(one: Answer, two: Answer) -> bool:
    """Whether equations that are solved for different names are the same: `y = 2x` and `x = y/2`."""
    mine, theirs = mathematical(one), mathematical(two)
    if mine is None or theirs is None:
        return False
    return same_value(Bindings(((one.name, mine),)), Bindings(((two.name, theirs),)))
