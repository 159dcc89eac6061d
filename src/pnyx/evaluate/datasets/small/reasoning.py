"""Orders of people, and sequences to continue. The last kind of each category is a choice."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from ..drawing import PEOPLE, Draft, Kind, near

__all__ = ["ORDER", "SEQUENCES"]

SCALES = (
    ("older", "oldest", "youngest"),
    ("taller", "tallest", "shortest"),
    ("faster", "fastest", "slowest"),
)


def _extreme(rng: Random) -> Draft:
    people = rng.sample(PEOPLE, 3)
    more, most, least = rng.choice(SCALES)
    statements = [f"{one} is {more} than {two}." for one, two in pairwise(people)]
    rng.shuffle(statements)
    word, target = rng.choice(((most, people[0]), (least, people[-1])))
    return Draft(f"{' '.join(statements)} Who is the {word}? Answer with the name.", target)


def _queue(rng: Random) -> Draft:
    front, back = rng.randint(2, 9), rng.randint(2, 9)
    person = rng.choice(PEOPLE)
    return Draft(
        f"{person} stands in a queue with {front} people in front and {back} people behind. "
        "How many people are in the queue? Answer with a number.",
        str(front + 1 + back),
    )


def _ages(rng: Random) -> Draft:
    one, two, three = rng.sample(PEOPLE, 3)
    age, older, times = rng.randint(3, 9), rng.randint(2, 5), rng.randint(2, 3)
    return Draft(
        f"{one} is {age} years old. {two} is {older} years older than {one}. {three} is {times} times as old "
        f"as {two}. How old is {three}? Answer with a number of years.",
        f"{(age + older) * times} years",
    )


def _place(rng: Random) -> Draft:
    people = rng.sample(PEOPLE, 4)
    statements = [f"{one} finished before {two}." for one, two in pairwise(people)]
    place, word = rng.choice(((0, "first"), (1, "second"), (2, "third")))
    wrong = tuple(person for person in people if person != people[place])
    return Draft(f"Four people ran a race. {' '.join(statements)} Who finished {word}?", people[place], wrong)


ORDER: tuple[Kind, ...] = (_extreme, _queue, _ages, _place)


def _open(terms: list[int], rule: str = "") -> Draft:
    *shown, target = terms
    listed = ", ".join(map(str, shown))
    return Draft(f"{rule}Which number comes next: {listed}, ...? Answer with a number.", str(target))


def _arithmetic(rng: Random) -> Draft:
    start, step = rng.randint(1, 30), rng.choice((2, 3, 4, 5, 10))
    return _open([start + step * n for n in range(6)])


def _growing(rng: Random) -> Draft:
    start = rng.randint(1, 60)
    return _open([start + n * (n + 1) // 2 for n in range(6)])


def _by_rule(rng: Random) -> Draft:
    times, plus, terms = 2, rng.randint(1, 5), [rng.randint(1, 12)]
    while len(terms) < 4:
        terms.append(terms[-1] * times + plus)
    return _open(terms, f"Each number is {times} times the one before it, plus {plus}. ")


def _falling(rng: Random) -> Draft:
    start, step = rng.randint(55, 150), rng.choice((2, 3, 5, 10))
    terms = [start - step * n for n in range(6)]
    wrong = near(rng, terms[-1], terms[-2] + step, terms[-1] - step)
    return Draft(
        f"Which number comes next: {', '.join(map(str, terms[:-1]))}, ...?",
        str(terms[-1]),
        tuple(map(str, wrong)),
    )


SEQUENCES: tuple[Kind, ...] = (_arithmetic, _growing, _by_rule, _falling)
