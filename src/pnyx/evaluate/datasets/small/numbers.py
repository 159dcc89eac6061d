"""Calculations of two steps, percentages, comparisons. The last kind of each category is a choice."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random

from ..drawing import TIMES, Draft, Kind, near

__all__ = ["COMPARISONS", "PERCENT", "SUMS"]


def _product_less(rng: Random) -> Draft:
    a, b, c = rng.randint(5, 15), rng.randint(3, 6), rng.randint(2, 12)
    return Draft(f"What is {a} {TIMES} {b} - {c}? Answer with a number.", str(a * b - c))


def _sum_times(rng: Random) -> Draft:
    a, b, c = rng.randint(3, 15), rng.randint(2, 9), rng.randint(2, 5)
    return Draft(f"What is ({a} + {b}) {TIMES} {c}? Answer with a number.", str((a + b) * c))


def _quotient_plus(rng: Random) -> Draft:
    c, quotient, b = rng.randint(2, 6), rng.randint(3, 12), rng.randint(4, 20)
    return Draft(f"What is {quotient * c} ÷ {c} + {b}? Answer with a number.", str(quotient + b))


def _precedence(rng: Random) -> Draft:
    a, b, c = rng.randint(2, 12), rng.randint(2, 9), rng.randint(2, 5)
    value = a + b * c
    wrong = near(rng, value, (a + b) * c, a * b + c)
    return Draft(f"What is {a} + {b} {TIMES} {c}?", str(value), tuple(map(str, wrong)))


SUMS: tuple[Kind, ...] = (_product_less, _sum_times, _quotient_plus, _precedence)


def _discount(rng: Random) -> Draft:
    thing = rng.choice(("coat", "lamp", "bicycle", "desk", "radio", "tent"))
    price, percent = 20 * rng.randint(1, 10), rng.choice((10, 20, 50))
    return Draft(
        f"A {thing} costs ${price}. In a sale the price is cut by {percent} %. "
        "What is the sale price in dollars? Answer with a number.",
        str(price * (100 - percent) // 100),
    )


def _part(rng: Random) -> Draft:
    percent, whole = rng.choice((10, 20, 25, 50)), 20 * rng.randint(2, 20)
    return Draft(f"What is {percent} % of {whole}? Answer with a number.", str(percent * whole // 100))


def _rise(rng: Random) -> Draft:
    start, percent = 20 * rng.randint(2, 40), rng.choice((5, 10, 50, 100))
    return Draft(
        f"A club has {start} members. Then their number grows by {percent} %. "
        "How many members does it have now? Answer with a number.",
        str(start * (100 + percent) // 100),
    )


def _tip(rng: Random) -> Draft:
    bill, percent = 20 * rng.randint(1, 20), rng.choice((5, 10, 15, 20))
    tip = bill * percent // 100
    wrong = near(rng, bill + tip, bill + percent, bill - tip, tip)
    return Draft(
        f"A meal costs ${bill}, and a tip of {percent} % is added. How much is paid in all?",
        f"${bill + tip}",
        tuple(f"${other}" for other in wrong),
    )


PERCENT: tuple[Kind, ...] = (_discount, _part, _rise, _tip)


def _larger_decimal(rng: Random) -> Draft:
    whole, long, short = rng.randint(1, 20), rng.randint(11, 89), rng.randint(2, 9)
    pair = [f"{whole}.{long}", f"{whole}.{short}"]
    if Decimal(pair[0]) == Decimal(pair[1]):
        return _larger_decimal(rng)
    rng.shuffle(pair)
    return Draft(
        f"Which number is larger: {pair[0]} or {pair[1]}? Answer with that number.", max(pair, key=Decimal)
    )


def _larger_fraction(rng: Random) -> Draft:
    one, two = (Fraction(rng.randint(1, d - 1), d) for d in rng.sample(range(2, 10), 2))
    if one == two:
        return _larger_fraction(rng)
    return Draft(f"Which is larger: {one} or {two}? Answer with that fraction.", str(max(one, two)))


def _difference(rng: Random) -> Draft:
    small = Decimal(rng.randint(11, 69)) / 10
    large = small + Decimal(rng.randint(3, 29)) / 10
    question = f"How much larger is {large} than {small}? Answer with a decimal number."
    return Draft(question, str(large - small))


def _extreme(rng: Random) -> Draft:
    digit, other = rng.sample(range(1, 10), 2)
    numbers = [f"0.{digit}{other}", f"0.0{digit}{other}", f"0.{digit}0{other}", f"0.{digit}{other}{digit}"]
    word, pick = rng.choice((("smallest", min), ("largest", max)))
    rng.shuffle(numbers)
    target = pick(numbers, key=Decimal)
    wrong = tuple(number for number in numbers if number != target)
    return Draft(f"Which is the {word} of {', '.join(numbers)}?", target, wrong)


COMPARISONS: tuple[Kind, ...] = (_larger_decimal, _larger_fraction, _difference, _extreme)
