"""Arithmetic of many steps. Every step must be right."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from ..drawing import TIMES, Draft, Kind, rounded

__all__ = ["ARITHMETIC"]


def _instructions(rng: Random) -> Draft:
    start, times, plus, modulus, again, less = (
        rng.randint(*range_)
        for range_ in ((213, 987), (23, 89), (1011, 4999), (3001, 8999), (47, 98), (101, 989))
    )
    value = ((start * times + plus) ** 2 % modulus) * again - less
    return Draft(
        f"Start with {start}. Multiply by {times}, then add {plus}. Square the result. Take the remainder "
        f"of its division by {modulus}. Multiply that by {again} and subtract {less}. What number do you "
        "get? Answer with a number.",
        str(value),
    )


def _expression(rng: Random) -> Draft:
    a, b, c, d = (rng.randint(1003, 9989) for _ in range(4))
    e = rng.randint(23, 97)
    return Draft(
        f"What is {a} {TIMES} {b} - {c} {TIMES} {d} + {e}^3? Answer with a number.", str(a * b - c * d + e**3)
    )


def _remainder(rng: Random) -> Draft:
    base, exponent, modulus = rng.randint(7, 99), rng.randint(1001, 9999), rng.randint(101, 997)
    return Draft(
        f"What is the remainder when {base}^{exponent} is divided by {modulus}? Answer with a number.",
        str(pow(base, exponent, modulus)),
    )


def _multiples(rng: Random) -> Draft:
    one, two = rng.sample((4, 6, 7, 9, 10, 11, 14, 15), 2)
    last = rng.randint(400, 2500)
    chosen = [n for n in range(1, last + 1) if (n % one == 0) != (n % two == 0)]
    return Draft(
        f"What is the sum of all whole numbers from 1 to {last} that are divisible by {one} or by {two}, "
        "but not by both? Answer with a number.",
        str(sum(chosen)),
    )


def _digit_sum(rng: Random) -> Draft:
    base, exponent = rng.choice(((2, 58), (2, 61), (3, 37), (3, 41), (7, 21), (6, 24), (11, 17), (13, 16)))
    return Draft(
        f"What is the sum of the decimal digits of {base}^{exponent}? Answer with a number.",
        str(sum(map(int, str(base**exponent)))),
    )


def _fractions(rng: Random) -> Draft:
    a, b, c, d = (
        Fraction(rng.randint(2, 19), n) for n in rng.sample((6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 4)
    )
    return Draft(
        f"What is ({a} - {b}) {TIMES} {c} + {d}? Answer with a fraction in lowest terms, or a whole number.",
        str((a - b) * c + d),
    )


def _interest(rng: Random) -> Draft:
    deposit, yearly, tenths, years = (
        rng.randint(*range_) for range_ in ((1000, 4000), (100, 900), (11, 49), (4, 6))
    )
    balance = Fraction(deposit)
    for _ in range(years):
        balance = balance * (1 + Fraction(tenths, 1000)) + yearly
    return rounded(
        f"An account starts with ${deposit}. At the end of each year {tenths / 10} % interest on the "
        f"balance is added, and after that ${yearly} is paid in. Nothing is rounded in between. How many "
        f"dollars are in the account after {years} years, the last payment included?",
        balance,
        2,
    )


ARITHMETIC: tuple[Kind, ...] = (
    _instructions, _expression, _remainder, _multiples, _digit_sum, _fractions, _interest,
)  # fmt: skip
