"""Family relations, with people to count."""

from __future__ import annotations

from random import Random

from ..drawing import Draft, Kind

__all__ = ["FAMILY"]

WOMEN = ("Ada", "Cleo", "Eva", "Gina", "Iris", "Kira")


def _siblings(rng: Random) -> tuple[str, list[str], list[str]]:
    """A girl, and all girls and all boys of her family."""
    girl = rng.choice(WOMEN)
    girls = [girl, *(f"sister {n}" for n in range(rng.randint(1, 5)))]
    return girl, girls, [f"brother {n}" for n in range(rng.randint(2, 6))]


def _her_brothers_sisters(rng: Random) -> Draft:
    girl, girls, boys = _siblings(rng)
    sisters = len(girls) - 1
    return Draft(
        f"{girl} has {len(boys)} brothers and {sisters} sister{'s' * (sisters > 1)}. How many sisters does "
        "each of her brothers have? All have the same parents. Answer with a number.",
        str(len(girls)),
    )


def _her_brothers(rng: Random) -> Draft:
    girl, girls, boys = _siblings(rng)
    brothers = len(boys) - 1
    return Draft(
        f"A brother of {girl} has {brothers} brother{'s' * (brothers > 1)} and {len(girls)} "
        f"sister{'s' * (len(girls) > 1)}. How many brothers does {girl} have? All have the same parents. "
        "Answer with a number.",
        str(len(boys)),
    )


def _one_sister_each(rng: Random) -> Draft:
    boys = rng.randint(4, 9)
    # They all have the same sister.
    return Draft(
        f"In a family there are {boys} brothers, and each of them has exactly one sister. All have the same "
        "parents. How many children are there in the family? Answer with a number.",
        str(boys + 1),
    )


def _fourth_name(rng: Random) -> Draft:
    girl = rng.choice(WOMEN)
    others = rng.choice((("North", "East", "South"), ("Alpha", "Beta", "Gamma"), ("Un", "Deux", "Trois")))
    return Draft(
        f"The mother of {girl} has exactly four children. Three of them are called {', '.join(others[:2])} "
        f"and {others[2]}. What is the fourth called? Answer with the name.",
        girl,
    )


def _half_my_age(rng: Random) -> Draft:
    hers = rng.randint(2, 6)
    then, now = 2 * hers, rng.randint(40, 80)
    return Draft(
        f"When I was {then} years old, my sister was half my age. Now I am {now}. How old is my sister? "
        "Answer with a number of years.",
        f"{now - (then - hers)} years",
    )


def _fathers_and_sons(rng: Random) -> Draft:
    one, two = rng.sample(("Dan", "Hugo", "Jack", "Liam"), 2)
    each = rng.randint(2, 5)
    people = {one, two, f"son of {one}", f"son of {two}"}
    return Draft(
        f"{one} and {two}, who are not related to each other, go fishing, each with his own son and nobody "
        f"else. Each of these fathers and sons catches {each} fish. How many fish do they catch altogether? "
        "Answer with a number.",
        str(each * len(people)),
    )


FAMILY: tuple[Kind, ...] = (
    _her_brothers_sisters, _her_brothers, _one_sister_each, _fourth_name, _half_my_age, _fathers_and_sons,
)  # fmt: skip
