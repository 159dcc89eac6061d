"""Probabilities, all computed by counting equally likely cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from random import Random
from typing import TypeVar

from ..drawing import Draft, Kind

__all__ = ["CHANCE"]

T = TypeVar("T")
AS_FRACTION = "Answer with a fraction."


def _share(cases: Iterable[T], condition: Callable[[T], bool], event: Callable[[T], bool]) -> Fraction:
    """The probability of `event` under `condition`, over equally likely cases."""
    fitting = [case for case in cases if condition(case)]
    return Fraction(sum(map(event, fitting)), len(fitting))


def _ignorant_host(rng: Random) -> Draft:
    mine = rng.randint(1, 3)
    others = [door for door in (1, 2, 3) if door != mine]
    opened = rng.choice(others)
    cases = product((1, 2, 3), others)
    chance = _share(
        cases,
        lambda case: case[1] == opened and case[0] != opened,
        lambda case: case[0] not in (mine, opened),
    )
    return Draft(
        f"One of three doors hides a car, the others hide goats. You choose door {mine}. The host, who does "
        f"not know where the car is, opens one of the other two doors at random: door {opened}, and by luck "
        f"there is a goat. What is the probability that you win the car if you now switch? {AS_FRACTION}",
        str(chance),
    )


def _base_rate(rng: Random) -> Draft:
    ill, found, alarms = 100 * rng.randint(1, 5), rng.choice((90, 80)), rng.choice((5, 10))
    true, false = ill * found // 100, (10_000 - ill) * alarms // 100
    return Draft(
        f"Of 10000 people, {ill} have a certain disease. A test is positive for {found} % of those who have "
        f"it, and for {alarms} % of those who do not. What fraction of the people with a positive test have "
        f"the disease? {AS_FRACTION}",
        str(Fraction(true, true + false)),
    )


def _two_children(rng: Random) -> Draft:
    known: tuple[str, Callable[[tuple[str, ...]], bool]]
    known = rng.choice(
        (
            ("The older one is a boy.", lambda case: case[0] == "boy"),
            ("At least one of them is a boy.", lambda case: "boy" in case),
            ("The younger one is a boy.", lambda case: case[1] == "boy"),
        )
    )
    chance = _share(product(("boy", "girl"), repeat=2), known[1], lambda case: case == ("boy", "boy"))
    return Draft(
        "Every child is a boy or a girl with equal probability, whatever its siblings are. A family with "
        f"exactly two children is drawn at random. {known[0]} What is the probability that both are boys? "
        f"{AS_FRACTION}",
        str(chance),
    )


def _next_toss(rng: Random) -> Draft:
    tosses = rng.randint(6, 9)
    chance = _share(
        product("HT", repeat=tosses),
        lambda case: case[:-1] == ("H",) * (tosses - 1),
        lambda case: case[-1] == "H",
    )
    return Draft(
        f"A fair coin is tossed {tosses} times. The first {tosses - 1} tosses all gave heads. "
        f"What is the probability that all {tosses} give heads? {AS_FRACTION}",
        str(chance),
    )


def _socks(rng: Random) -> Draft:
    colour, others = rng.sample(("black", "white", "grey", "red"), 2)
    few = rng.randint(6, 12)
    many = few + rng.randint(3, 8)
    # In the worst case, all socks of the other colour come first.
    return Draft(
        f"A drawer holds {many} {colour} socks and {few} {others} socks, and it is dark. How many socks "
        f"must you take out, at the least, to be certain of having two {colour} ones? Answer with a number.",
        str(few + 2),
    )


def _cards(rng: Random) -> Draft:
    red, mixed = rng.randint(1, 3), rng.randint(1, 3)
    cards = ["RR"] * red + ["RB"] * mixed + ["BB"]
    chance = _share(
        product(cards, (0, 1)), lambda case: case[0][case[1]] == "R", lambda case: case[0] == "RR"
    )
    return Draft(
        f"In a bag are {red + mixed + 1} cards: {red} red on both sides, {mixed} red on one side and blue "
        "on the other, and 1 blue on both sides. One card is drawn at random and laid down on a random "
        "side. The side that shows is red. What is the probability that its other side is red too? "
        f"{AS_FRACTION}",
        str(chance),
    )


CHANCE: tuple[Kind, ...] = (_ignorant_host, _base_rate, _two_children, _next_toss, _socks, _cards)
