"""Pairs that are a matter of numbers, drawn with a fixed seed, into kinds that the written corpus has too.

The functions yield (kind, first answer, others that are the same, near-misses). Nothing here calls pnyx:
Python's own integers and fractions say what is equal.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from random import Random

from tests.answers.material import HERE, Pair, read_pairs

Drawing = tuple[str, str, list[str], list[str]]
EACH = 14
MONTHS = tuple(calendar.month_name)[1:]
LARGER = (("km", "m", 1000), ("m", "cm", 100), ("kg", "g", 1000), ("L", "mL", 1000), ("hours", "minutes", 60))


def drawn(seed: int = 26) -> list[Pair]:
    """The drawn pairs, the same at every call."""
    random = Random(seed)
    makers = (fractions, integers, polynomials, bases, units, sets, radicals, days, intervals, literals)
    drawings = [drawing for make in makers for _ in range(EACH) for drawing in make(random)]
    pairs = [
        Pair(kind, first, other, same)
        for kind, first, equal, unequal in drawings
        for same, others in ((True, equal), (False, unequal))
        for other in dict.fromkeys(others)
        if other != first
    ]
    return [*fenced(), *dict.fromkeys(pairs)]


def fenced() -> list[Pair]:
    """Answers about programs as models give them: in a fenced block."""
    found = {
        Pair(pair.kind, pair.a, f"```\n{pair.a}\n```", True, pair.question): None
        for pair in read_pairs(HERE / "corpus" / "code.txt")
        if pair.kind != "named values" and "`" not in pair.a and "\\" not in pair.a
    }
    return list(found)


def fractions(random: Random) -> Iterator[Drawing]:
    top, bottom = random.randint(1, 40), random.choice((2, 4, 5, 8, 10, 16, 20, 25))
    value = Fraction(top, bottom) * random.choice((1, -1))
    sign, top, bottom = "-" if value < 0 else "", abs(value.numerator), value.denominator
    if bottom == 1:
        return
    same = [f"{float(value)}", rf"{sign}\frac{{{top}}}{{{bottom}}}", f"{sign}{top * 3}/{bottom * 3}"]
    near = [f"{sign}{bottom}/{top}", str(-value), f"{sign}{top + 1}/{bottom}", f"{sign}{top}.{bottom}"]
    wrong = [miss for miss in near if Fraction(miss) != value]
    yield "fractions mixed and decimal", f"{sign}{top}/{bottom}", same, wrong


def integers(random: Random) -> Iterator[Drawing]:
    value = random.randint(10_000, 99_999_999)
    digits = str(value)
    swapped = digits[:-2] + digits[-1] + digits[-2]
    near = [swapped, f"{value * 10:,}", f"-{digits}", digits[:-1], f"{value + 1:,}"]
    yield (
        "decimal marks and grouping",
        digits,
        [f"{value:,}", f"{value:,}".replace(",", " ")],
        [m for m in near if m != digits],
    )


def polynomials(random: Random) -> Iterator[Drawing]:
    a, b = random.sample([n for n in range(-9, 10) if n], 2)
    factors = [f"(x {'-' if root > 0 else '+'} {abs(root)})" for root in (a, b)]
    total, product = -(a + b), a * b

    def expanded(middle: int, last: int) -> str:
        linear = f" {'-' if middle < 0 else '+'} {abs(middle)}x" if middle else ""
        return f"x^2{linear} {'-' if last < 0 else '+'} {abs(last)}"

    near = [expanded(-total or 1, product), expanded(total, -product), expanded(total + 1, product)]
    same = [
        "".join(factors),
        "".join(reversed(factors)),
        expanded(total, product).replace(" ", "").replace("^2", "^{2}"),
    ]
    yield "polynomials", expanded(total, product), same, near


def bases(random: Random) -> Iterator[Drawing]:
    base, value = random.randint(3, 9), random.randint(20, 900)
    digits = in_base(value, base)
    near = [f"{digits}_{base + 1}", f"{in_base(value + 1, base)}_{base}", f"{digits}0_{base}", digits]
    yield "number bases", f"{digits}_{base}", [f"{digits}_{{{base}}}", f"${digits}_{{{base}}}$"], near


def in_base(value: int, base: int) -> str:
    return (in_base(value // base, base) if value >= base else "") + str(value % base)


def units(random: Random) -> Iterator[Drawing]:
    large, small, factor = random.choice(LARGER)
    value = random.randint(2, 90)
    kind = "time and compound units" if large == "hours" else "length weight and volume"
    near = [
        f"{value} {small}",
        f"{value * factor} {large}",
        f"{value * factor * 10} {small}",
        f"{value + 1} {large}",
    ]
    yield kind, f"{value} {large}", [f"{value * factor} {small}", f"{value * factor:,} {small}"], near


def sets(random: Random) -> Iterator[Drawing]:
    members = random.sample(range(-20, 40), random.randint(3, 5))
    written, turned = (
        ", ".join(map(str, order)) for order in (members, random.sample(members, len(members)))
    )
    other = ", ".join(map(str, [*members[:-1], members[-1] + 60]))
    near = [f"{{{', '.join(map(str, members[1:]))}}}", f"{{{other}}}", f"{{{written}, 99}}"]
    yield "sets tuples and points", f"{{{written}}}", [f"{{{turned}}}", rf"\{{{turned}\}}"], near


def radicals(random: Random) -> Iterator[Drawing]:
    factor, radicand = random.randint(2, 9), random.choice((2, 3, 5, 6, 7, 10, 11))
    first = rf"{factor}\sqrt{{{radicand}}}"
    same = [
        f"{factor}√{radicand}",
        rf"\sqrt{{{factor**2 * radicand}}}",
        rf"\sqrt{{{radicand}}} \cdot {factor}",
    ]
    near = [f"{factor}", f"-{first}", rf"{factor}\sqrt{{{radicand + 1}}}", rf"\sqrt{{{factor * radicand}}}"]
    yield "sums and radicals", first, same, near


def days(random: Random) -> Iterator[Drawing]:
    day = date(random.randint(1500, 2030), 1, 1) + timedelta(days=random.randint(0, 364))
    month = MONTHS[day.month - 1]
    same = [
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day} {month[:3]} {day.year}",
    ]
    next_month = f"{day.day} {MONTHS[day.month % 12]} {day.year}"
    near = [(day + timedelta(days=1)).isoformat(), f"{month} {day.day}, {day.year + 1}", next_month]
    yield "dates", day.isoformat(), same, near


def intervals(random: Random) -> Iterator[Drawing]:
    low = random.randint(-30, 20)
    high = low + random.randint(1, 30)
    left, right = random.choice("[("), random.choice("])")
    below, above = ("<=" if left == "[" else "<"), ("<=" if right == "]" else "<")
    flipped = f"{'(' if left == '[' else '['}{low}, {high}{right}"
    near = [flipped, f"{left}{low}, {high + 1}{right}", f"{left}{-low - 1}, {high + 40}{right}"]
    same = [f"{low} {below} x {above} {high}", rf"x \in {left}{low},{high}{right}"]
    yield "intervals and bounds", f"x ∈ {left}{low}, {high}{right}", same, near


def literals(random: Random) -> Iterator[Drawing]:
    words = random.sample(("ab", "xy", "Key", "0", "07", "a b", "None", "q_1"), 3)
    numbers = random.sample(range(-9, 30), 3)
    value: dict[str, object] = {words[0]: numbers[:2], words[1]: (numbers[2], words[2])}
    as_text = {**value, words[0]: [str(number) for number in numbers[:2]]}
    as_list = {**value, words[1]: [numbers[2], words[2]]}
    same = [repr(value).replace("'", '"'), repr(value).replace(", ", ","), f"`{value!r}`"]
    yield (
        "containers",
        repr(value),
        same,
        [repr(as_text), repr(as_list), repr({**value, words[0]: numbers[1::-1]})],
    )
