"""Logic puzzles: true statements are added until all of them hold in one world only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product
from random import Random
from typing import TypeAlias, TypeVar

from ..drawing import PEOPLE, Draft, Kind

__all__ = ["LOGIC", "pinned"]

W = TypeVar("W")
Clue: TypeAlias = tuple[str, Callable[[W], bool]]


def pinned(rng: Random, worlds: Sequence[W], clue: Callable[[Random], Clue[W]]) -> tuple[W, list[str]]:
    """A random world, and statements that hold in it and in no other; each of them is needed."""
    truth = rng.randrange(len(worlds))
    every = frozenset(range(len(worlds)))
    left, fitting = every, dict[str, frozenset[int]]()
    while len(left) > 1:
        text, holds = clue(rng)
        if holds(worlds[truth]):
            found = frozenset(n for n in left if holds(worlds[n]))
            if found < left:
                left, fitting[text] = found, frozenset(n for n in every if holds(worlds[n]))
    for text in list(fitting):
        if len(every.intersection(*(found for other, found in fitting.items() if other != text))) == 1:
            del fitting[text]
    (only,) = every.intersection(*fitting.values())
    return worlds[only], list(fitting)


def _knights(rng: Random) -> Draft:
    people = sorted(rng.sample(PEOPLE, 5))
    worlds = list(product((True, False), repeat=len(people)))

    def clue(rng: Random) -> Clue[tuple[bool, ...]]:
        speaker, one, two = rng.sample(range(len(people)), 3)
        count = rng.randint(2, 4)
        claims: list[Clue[tuple[bool, ...]]] = [
            (f"{people[one]} and {people[two]} are of the same kind", lambda w: w[one] == w[two]),
            (f"{people[one]} is a knave or {people[two]} is a knight", lambda w: not w[one] or w[two]),
            (f"of {people[one]} and {people[two]}, just one is a knight", lambda w: w[one] != w[two]),
            (f"exactly {count} of us five are knights", lambda w: sum(w) == count),
        ]
        claim, holds = rng.choice(claims)
        return f'{people[speaker]} says: "{claim[0].upper()}{claim[1:]}."', lambda w: w[speaker] == holds(w)

    truth, statements = pinned(rng, worlds, clue)
    return Draft(
        f"Knights always tell the truth and knaves always lie. {', '.join(people)} are each a knight or a "
        f"knave. {' '.join(statements)} What is each of them? Answer with one word of five letters: K for "
        f"each knight and N for each knave, in the order {', '.join(people)}.",
        "".join("K" if knight else "N" for knight in truth),
    )


def _row(rng: Random) -> Draft:
    people = rng.sample(PEOPLE, 6)

    def clue(rng: Random) -> Clue[tuple[str, ...]]:
        one, two = rng.sample(people, 2)
        apart = rng.randint(1, 3)
        clues: list[Clue[tuple[str, ...]]] = [
            (f"{one} sits somewhere to the left of {two}.", lambda w: w.index(one) < w.index(two)),
            (
                f"Exactly {apart} {'people sit' if apart > 1 else 'person sits'} between {one} and {two}.",
                lambda w: abs(w.index(one) - w.index(two)) == apart + 1,
            ),
            (f"{one} does not sit next to {two}.", lambda w: abs(w.index(one) - w.index(two)) > 1),
            (f"{one} does not sit at either end.", lambda w: 0 < w.index(one) < len(people) - 1),
        ]
        return rng.choice(clues)

    truth, statements = pinned(rng, list(permutations(people)), clue)
    seat = rng.randrange(len(people))
    return Draft(
        f"{', '.join(sorted(people))} sit in a row of six seats, numbered 1 to 6 from left to right. "
        f"{' '.join(statements)} Who sits in seat {seat + 1}? Answer with the name.",
        truth[seat],
    )


def _houses(rng: Random) -> Draft:
    people = rng.sample(PEOPLE, 4)
    pets, drinks = ("cat", "dog", "parrot", "turtle"), ("coffee", "juice", "milk", "tea")
    worlds = list(product(permutations(people), permutations(pets), permutations(drinks)))
    World: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    phrases = (
        {person: person for person in people},
        {pet: f"the owner of the {pet}" for pet in pets},
        {drink: f"the one who drinks {drink}" for drink in drinks},
    )

    def clue(rng: Random) -> Clue[World]:
        i, j = rng.sample(range(3), 2)
        one, two = rng.choice(list(phrases[i])), rng.choice(list(phrases[j]))
        first, second = phrases[i][one], phrases[j][two]
        first = first[0].upper() + first[1:]
        clues: list[Clue[World]] = [
            (f"{first} lives next door to {second}.", lambda w: abs(w[i].index(one) - w[j].index(two)) == 1),
            (
                f"{first} lives somewhere to the left of {second}.",
                lambda w: w[i].index(one) < w[j].index(two),
            ),
            (f"{first} is not {second}.", lambda w: w[i].index(one) != w[j].index(two)),
            (f"{first} does not live at either end.", lambda w: w[i].index(one) in (1, 2)),
        ]
        return rng.choice(clues)

    (names, animals, cups), statements = pinned(rng, worlds, clue)
    pet = rng.choice(pets)
    drink = cups[animals.index(pet)]
    question, target = rng.choice(
        (
            (f"What does the owner of the {pet} drink? Answer with the drink.", drink),
            (f"Who drinks {drink}? Answer with the name.", names[cups.index(drink)]),
        )
    )
    return Draft(
        f"In four houses in a row live {', '.join(sorted(people))}, one in each. One owns a cat, one a dog, "
        "one a parrot and one a turtle. One drinks coffee, one juice, one milk and one tea. "
        f"{' '.join(statements)} {question}",
        target,
    )


def _number(rng: Random) -> Draft:
    def clue(rng: Random) -> Clue[int]:
        divisor, total = rng.randint(5, 13), rng.randint(8, 28)
        rest = rng.randrange(divisor)
        i, j = sorted(rng.sample(range(4), 2))
        names = ("first", "second", "third", "last")
        clues: list[Clue[int]] = [
            (f"Divided by {divisor} it leaves the remainder {rest}.", lambda w: w % divisor == rest),
            (f"The sum of its digits is {total}.", lambda w: sum(map(int, str(w))) == total),
            (f"Its {names[i]} digit is smaller than its {names[j]} digit.", lambda w: str(w)[i] < str(w)[j]),
            (
                f"Its {names[i]} digit is twice its {names[j]} digit.",
                lambda w: int(str(w)[i]) == 2 * int(str(w)[j]),
            ),
            ("All of its digits are different.", lambda w: len(set(str(w))) == 4),
        ]
        return rng.choice(clues)

    truth, statements = pinned(rng, range(1000, 10_000), clue)
    return Draft(
        f"Find the only number of four digits for which all this holds. {' '.join(statements)}", str(truth)
    )


def _among(*people: str) -> Callable[[str], bool]:
    return lambda thief: thief in people


def _outside(*people: str) -> Callable[[str], bool]:
    return lambda thief: thief not in people


def _thief(rng: Random) -> Draft:
    people = sorted(rng.sample(PEOPLE, 6))
    while True:
        statements: list[Clue[str]] = []
        for person in people:
            one, two = rng.sample([other for other in people if other != person], 2)
            claims = (
                (f"It was {one} or {two}", _among(one, two)),
                (f"It was neither {one} nor {two}", _outside(one, two)),
                (f"It was not me, and it was not {one}", _outside(person, one)),
            )
            statements.append(rng.choice(claims))
        true = {thief: sum(holds(thief) for _, holds in statements) for thief in people}
        unique = [count for count in true.values() if list(true.values()).count(count) == 1]
        if unique:
            break
    count = rng.choice(unique)
    (thief,) = (person for person in people if true[person] == count)
    speeches = " ".join(
        f'{person} says: "{text}."' for person, (text, _) in zip(people, statements, strict=True)
    )
    return Draft(
        f"Exactly one of {', '.join(people)} took the ring. {speeches} Exactly {count} of these six "
        f"statements {'is' if count == 1 else 'are'} true. Who took the ring? Answer with the name.",
        thief,
    )


LOGIC: tuple[Kind, ...] = (_knights, _row, _houses, _number, _thief)
