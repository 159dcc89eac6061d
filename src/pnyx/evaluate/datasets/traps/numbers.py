"""Calculations with a tempting wrong result, and numbers that look larger than they are."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random

from ..drawing import Draft, Kind

__all__ = ["ARITHMETIC", "NUMBERS"]


def _two_prices(rng: Random) -> Draft:
    one, two = rng.choice((("racket", "ball"), ("pot", "lid"), ("bottle", "cork"), ("notebook", "pencil")))
    cheap, more = 5 * rng.randint(1, 9), 100 * rng.randint(1, 4)
    total = 2 * cheap + more
    target = next(cents for cents in range(total) if cents + (cents + more) == total)
    return Draft(
        f"A {one} and a {two} cost ${total / 100:.2f} together. The {one} costs ${more / 100:.2f} more than "
        f"the {two}. How many cents does the {two} cost? Answer with a number.",
        f"{target} cents",
    )


def _machines(rng: Random) -> Draft:
    few, many, times = rng.randint(4, 9), rng.randint(50, 120), rng.randint(1, 3)
    minutes_a_part = Fraction(few * few, few)
    return Draft(
        f"{few} machines take {few} minutes to make {few} parts. How many minutes do {many} such machines "
        f"take to make {many * times} parts? Answer with a number.",
        f"{minutes_a_part * many * times / many} minutes",
    )


def _doubling(rng: Random) -> Draft:
    days, (part, halvings) = (
        rng.randint(24, 60),
        rng.choice((("half", 1), ("a quarter", 2), ("an eighth", 3))),
    )
    return Draft(
        f"A patch of lilies doubles in size every day and covers the whole pond on day {days}. "
        f"On which day does it cover {part} of the pond? Answer with the number of the day.",
        str(days - halvings),
    )


def _posts(rng: Random) -> Draft:
    gap, gaps = rng.randint(2, 6), rng.randint(12, 40)
    shape, ends = rng.choice(
        (("A straight fence with a post at each end is", 1), ("A fence in a closed circle is", 0))
    )
    return Draft(
        f"{shape} {gap * gaps} metres long, and its posts stand {gap} metres apart along it. "
        "How many posts does it have? Answer with a number.",
        str(gaps + ends),
    )


def _snail(rng: Random) -> Draft:
    slip = rng.randint(2, 4)
    climb = slip + rng.randint(1, 3)
    depth = climb + (climb - slip) * rng.randint(4, 9)
    height, day = 0, 0
    while True:
        day, height = day + 1, height + climb
        if height >= depth:
            break
        height -= slip
    return Draft(
        f"A snail sits at the bottom of a well {depth} metres deep. Each day it climbs {climb} metres, and "
        f"each night it slides back {slip} metres. On which day does it first reach the top? Answer with "
        "the number of the day.",
        str(day),
    )


def _there_and_back(rng: Random) -> Draft:
    slow, fast = rng.choice(((20, 30), (30, 60), (40, 60), (60, 90), (10, 40), (30, 70), (60, 120)))
    return Draft(
        f"A car drives to a town at {slow} km/h and returns by the same road at {fast} km/h. "
        "What is its average speed for the whole trip, without stops, in km/h? Answer with a number.",
        f"{Fraction(2) / (Fraction(1, slow) + Fraction(1, fast))} km/h",
    )


ARITHMETIC: tuple[Kind, ...] = (_two_prices, _machines, _doubling, _posts, _snail, _there_and_back)


def _decimals(rng: Random) -> Draft:
    whole, long = rng.randint(2, 19), rng.randint(11, 49)
    pair = [f"{whole}.{long}", f"{whole}.{long // 10 + rng.randint(1, 5)}"]
    rng.shuffle(pair)
    return Draft(
        f"Both are plain decimal numbers: {pair[0]} and {pair[1]}. Which is larger? Answer with that number.",
        max(pair, key=Decimal),
    )


def _versions(rng: Random) -> Draft:
    major, minor = rng.randint(2, 8), rng.randint(11, 19)
    versions = [(major, minor), (major, 9), (major, minor // 10), (major, 8)]
    texts = {version: ".".join(map(str, version)) for version in versions}
    target = max(versions)
    rng.shuffle(versions)
    return Draft(
        "A program counts its versions so that the number after the dot is a whole number which grows by "
        f"one with each version. Which version is the newest: {', '.join(texts[v] for v in versions)}?",
        texts[target],
        tuple(texts[version] for version in versions if version != target),
    )


def _negatives(rng: Random) -> Draft:
    whole, long = rng.randint(2, 19), rng.randint(11, 49)
    pair = [f"-{whole}.{long}", f"-{whole}.{long // 10 + rng.randint(1, 5)}"]
    rng.shuffle(pair)
    return Draft(
        f"Which number is greater: {pair[0]} or {pair[1]}? Answer with that number.", max(pair, key=Decimal)
    )


def _rounded(rng: Random) -> Draft:
    exact = rng.choice((Fraction(2, 3), Fraction(5, 6), Fraction(4, 9), Fraction(3, 7), Fraction(7, 9)))
    rounded = Fraction(round(exact * 100), 100)
    rounded += Fraction(rng.choice((0, 0, 1, -1)), 1000)
    larger = max(exact, rounded)
    decimal = f"{float(rounded):.3f}".removesuffix("0")
    return Draft(
        f"Which is larger: {exact} or {decimal}? Answer with that one, as it is written here.",
        decimal if larger == rounded else str(exact),
    )


def _up_and_down(rng: Random) -> Draft:
    price, percent = 100 * rng.randint(2, 9), 10 * rng.randint(1, 5)
    after = Fraction(price * (100 + percent) * (100 - percent), 100**2)
    return Draft(
        f"A price of ${price} rises by {percent} % and then falls by {percent} %. "
        "What is it now, in dollars? Answer with a number.",
        str(after),
    )


def _by_a_part(rng: Random) -> Draft:
    number, more = 10 * rng.randint(2, 9), rng.randint(5, 15)
    part, name = rng.choice(((Fraction(1, 2), "one half"), (Fraction(1, 4), "one quarter")))
    return Draft(
        f"Divide {number} by {name} and then add {more}. What is the result? Answer with a number.",
        str(number / part + more),
    )


NUMBERS: tuple[Kind, ...] = (_decimals, _versions, _negatives, _rounded, _up_and_down, _by_a_part)
