"""Well-known puzzles, changed so that the well-known answer is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, combinations
from random import Random
from typing import TypeVar

from ..drawing import Draft, Kind, fixed

__all__ = ["ALTERED", "crossings"]

S = TypeVar("S")


def _steps(start: S, done: Callable[[S], bool], moves: Callable[[S], Iterable[S]]) -> int:
    """Steps of the shortest path from `start` to a state that is `done`. Raises `ValueError` without one."""
    seen, edge, length = {start}, {start}, 0
    while edge:
        if any(map(done, edge)):
            return length
        edge = set(chain.from_iterable(map(moves, edge))) - seen
        seen |= edge
        length += 1
    raise ValueError("no path leads to a final state")


Bank = tuple[bool, frozenset[str]]
CARGO = frozenset({"wolf", "goat", "cabbage"})
EATING = ({"wolf", "goat"}, {"goat", "cabbage"})


def crossings(room: int) -> int:
    """Trips over the river, with room in the boat for the farmer and `room` of the cargo."""

    def moves(state: Bank) -> Iterable[Bank]:
        farmer_left, left = state
        here = left if farmer_left else CARGO - left
        for taken in chain.from_iterable(combinations(sorted(here), n) for n in range(room + 1)):
            alone = here - set(taken)
            if not any(pair <= alone for pair in EATING):
                yield not farmer_left, left - set(taken) if farmer_left else left | set(taken)

    return _steps((True, CARGO), lambda state: state == (False, frozenset()), moves)


def _river(rng: Random) -> Draft:
    room, phrase = rng.choice(((2, "any two of them"), (3, "all three of them")))
    return Draft(
        "A farmer must cross a river with a wolf, a goat and a cabbage. Left without him, the wolf eats "
        f"the goat and the goat eats the cabbage. The boat carries him and {phrase} at once. How many trips "
        "over the river, counting each way as one, does he need at the least? Answer with a number.",
        str(crossings(room)),
    )


def _jugs(rng: Random) -> Draft:
    sizes = rng.sample(range(5, 14), 2)
    total = rng.choice((sizes[0], sum(sizes)))

    def moves(state: tuple[int, int]) -> Iterable[tuple[int, int]]:
        one, two = state
        poured, back = min(one, sizes[1] - two), min(two, sizes[0] - one)
        yield from ((sizes[0], two), (one, sizes[1]), (0, two), (one, 0))
        yield from ((one - poured, two + poured), (one + back, two - back))

    least = _steps((0, 0), lambda state: sum(state) == total, moves)
    return Draft(
        f"You have a tap and two empty jugs that hold {sizes[0]} and {sizes[1]} litres. A step fills one "
        "jug to the brim, empties one jug, or pours one into the other until that is full or the first is "
        f"empty. How many steps at the least until the jugs hold exactly {total} litres together? Answer "
        "with a number.",
        str(least),
    )


ALTERED: tuple[Kind, ...] = (
    # The text says who the surgeon is.
    fixed(
        "A boy is hurt in an accident and brought to hospital. The surgeon, who is the boy's father, says: "
        '"I cannot operate on this boy, he is my son." What is the surgeon to the boy?',
        "his father", "his mother", "his uncle", "his stepmother",
    ),
    _river,
    # Nothing is hidden behind the doors.
    fixed(
        "On a game show there are three doors of clear glass. Behind one of them you see a car, behind the "
        "other two goats. You want the car and choose its door. The host opens another door, and the goat "
        "walks out. He offers you to switch to the third door. What should you do to win the car?",
        "stay with your door", "switch to the third door", "it makes no difference",
    ),
    _jugs,
    # My father's son is me, who has no brothers: I am the son of that man.
    fixed(
        'A man points at a portrait and says: "I have no brothers and no sisters, and the son of that man '
        'is my father\'s son." Who is in the portrait?',
        "his father", "his son", "he himself", "his grandfather",
    ),
    fixed(
        "A dead cat is put into a box together with a flask of poison and a radioactive atom that decays "
        "within the hour with a probability of one half; if it does, the flask breaks. The box is opened "
        "after an hour. What is the probability that the cat is alive? Answer with a number.",
        "0",
    ),
)  # fmt: skip
