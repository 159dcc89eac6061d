"""The logic puzzles of `hard`, solved again from their text alone: each has one solution, its target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import permutations, product
from typing import Any

import pytest

from pnyx.evaluate.datasets import load
from pnyx.evaluate.items import Item

SEEDS = (0, 3)
Rules = Sequence[tuple[str, Callable[..., Callable[[Any], bool]]]]
"""A pattern, and a function from its groups to a condition on a world."""


@cache
def puzzles(word: str) -> list[Item]:
    return [i for i in _all() if i.category == "logic" and word in i.question]


@cache
def _all() -> list[Item]:
    return [item for seed in SEEDS for item in load("hard", seed=seed)]


def read(text: str, rules: Rules) -> Callable[[Any], bool]:
    """The condition that a sentence states, by the one rule that matches all of it."""
    (conditions,) = (rule(*m.groups()) for pattern, rule in rules if (m := re.fullmatch(pattern, text)))
    return conditions


def only(worlds: Iterable[Any], conditions: Sequence[Callable[[Any], bool]]) -> Any:
    """The one world in which all conditions hold."""
    (world,) = (world for world in worlds if all(holds(world) for holds in conditions))
    return world


def sentences(text: str) -> list[str]:
    return [sentence + "." for sentence in text.rstrip(".").split(". ")]


def groups_of(pattern: str, item: Item) -> tuple[str, ...]:
    match = re.fullmatch(pattern, item.question)
    assert match, item.question
    return match.groups()


ROW: Rules = (
    (r"(\w+) sits somewhere to the left of (\w+)\.", lambda a, b: lambda w: w[a] < w[b]),
    (r"Exactly (\d) \w+ sits? between (\w+) and (\w+)\.",
     lambda n, a, b: lambda w: abs(w[a] - w[b]) == int(n) + 1),
    (r"(\w+) does not sit next to (\w+)\.", lambda a, b: lambda w: abs(w[a] - w[b]) != 1),
    (r"(\w+) does not sit at either end\.", lambda a: lambda w: w[a] not in (1, 6)),
)  # fmt: skip


def test_a_row_has_one_order() -> None:
    for item in puzzles("sit in a row"):
        names, clues, seat = groups_of(
            r"(.*) sit in a row of six seats, .* left to right\. (.*) Who sits in seat (\d)\?.*", item
        )
        people = names.split(", ")
        worlds = (dict(zip(people, order, strict=True)) for order in permutations(range(1, 7)))
        world = only(worlds, [read(clue, ROW) for clue in sentences(clues)])
        assert world[item.target] == int(seat)


KNIGHTS: Rules = (
    (r"(\w+) and (\w+) are of the same kind\.", lambda a, b: lambda w: w[a] is w[b]),
    (r"(\w+) is a knave or (\w+) is a knight\.", lambda a, b: lambda w: w[b] or not w[a]),
    (r"Of (\w+) and (\w+), just one is a knight\.", lambda a, b: lambda w: w[a] is not w[b]),
    (r"Exactly (\d) of us five are knights\.", lambda n: lambda w: list(w.values()).count(True) == int(n)),
)


def test_knights_and_knaves_have_one_solution() -> None:
    for item in puzzles("Knights"):
        names, clues = groups_of(
            r".*always lie\. (.*) are each a knight or a knave\. (.*) What is each.*", item
        )
        people = names.split(", ")
        conditions = []
        for speaker, claim in re.findall(r'(\w+) says: "(.*?)"', clues):
            means = read(claim, KNIGHTS)
            conditions.append(lambda w, speaker=speaker, means=means: w[speaker] is bool(means(w)))
        worlds = (dict(zip(people, kinds, strict=True)) for kinds in product((True, False), repeat=5))
        world = only(worlds, conditions)
        assert "".join("NK"[world[person]] for person in people) == item.target


HOUSES: Rules = (
    (r"(.*) lives next door to (.*)\.", lambda a, b: lambda w: abs(w[a] - w[b]) == 1),
    (r"(.*) lives somewhere to the left of (.*)\.", lambda a, b: lambda w: w[a] < w[b]),
    (r"(.*) is not (.*)\.", lambda a, b: lambda w: w[a] != w[b]),
    (r"(.*) does not live at either end\.", lambda a: lambda w: w[a] in (2, 3)),
)


def test_houses_have_one_arrangement() -> None:
    for item in puzzles("four houses"):
        names, clues, question = groups_of(
            r"In four houses in a row live (.*), one in each\..* and one tea\. (.*) (W[^.]*\?) Answer.*", item
        )
        clues = re.sub(r"[Tt]he (?:owner of the|one who drinks) (\w+)", r"\1", clues)
        conditions = [read(clue, HOUSES) for clue in sentences(clues)]
        groups = (names.split(", "), ["cat", "dog", "parrot", "turtle"], ["coffee", "juice", "milk", "tea"])
        worlds = (
            {thing: house for group, order in zip(groups, orders, strict=True)
             for thing, house in zip(group, order, strict=True)}
            for orders in product(permutations(range(1, 5)), repeat=3)
        )  # fmt: skip
        world = only(worlds, conditions)
        (named,) = (thing for group in groups[1:] for thing in group if thing in question)
        assert world[named] == world[item.target]


DIGIT = {"first": 0, "second": 1, "third": 2, "last": 3}
NUMBER: Rules = (
    (r"Divided by (\d+) it leaves the remainder (\d+)\.",
     lambda d, r: lambda w: (int(w) - int(r)) % int(d) == 0),
    (r"The sum of its digits is (\d+)\.", lambda s: lambda w: sum(map(int, w)) == int(s)),
    (r"Its (\w+) digit is smaller than its (\w+) digit\.", lambda a, b: lambda w: w[DIGIT[a]] < w[DIGIT[b]]),
    (r"Its (\w+) digit is twice its (\w+) digit\.",
     lambda a, b: lambda w: int(w[DIGIT[a]]) == 2 * int(w[DIGIT[b]])),
    (r"All of its digits are different\.", lambda: lambda w: len({*w}) == 4),
)  # fmt: skip


def test_one_number_satisfies_all_conditions() -> None:
    for item in puzzles("four digits"):
        (clues,) = groups_of(r"Find the only number of four digits for which all this holds\. (.*)", item)
        assert item.target == only(map(str, range(1000, 10_000)), [read(c, NUMBER) for c in sentences(clues)])


THIEF: Rules = (
    (r"(\w+): It was (\w+) or (\w+)\.", lambda me, a, b: lambda w: w in (a, b)),
    (r"(\w+): It was neither (\w+) nor (\w+)\.", lambda me, a, b: lambda w: w not in (a, b)),
    (r"(\w+): It was not me, and it was not (\w+)\.", lambda me, a: lambda w: w not in (me, a)),
)


def _so_many_true(conditions: Sequence[Callable[[Any], bool]], number: int) -> Callable[[Any], bool]:
    return lambda world: sum(holds(world) for holds in conditions) == number


def test_exactly_one_thief_makes_the_stated_number_of_statements_true() -> None:
    for item in puzzles("took the ring"):
        names, clues, number = groups_of(
            r"Exactly one of (.*) took the ring\. (.*) Exactly (\d) of these six statements .*", item
        )
        conditions = [
            read(f"{person}: {claim}", THIEF) for person, claim in re.findall(r'(\w+) says: "(.*?)"', clues)
        ]
        assert len(conditions) == 6
        thief = only(names.split(", "), [_so_many_true(conditions, int(number))])
        assert thief == item.target


@pytest.mark.parametrize(
    ("word", "pattern"),
    [("sit in a row", r"left to right\. (.*) Who"), ("four digits", r"all this holds\. (.*)")],
)
def test_every_clue_is_needed(word: str, pattern: str) -> None:
    """Without any one of the clues there is more than one solution."""
    for item in puzzles(word):
        match = re.search(pattern, item.question)
        assert match
        clues = sentences(match[1])
        if word == "four digits":
            worlds: list[Any] = list(map(str, range(1000, 10_000)))
            conditions = [read(clue, NUMBER) for clue in clues]
        else:
            people = item.question.split(" sit in")[0].split(", ")
            worlds = [dict(zip(people, order, strict=True)) for order in permutations(range(1, 7))]
            conditions = [read(clue, ROW) for clue in clues]
        for n in range(len(conditions)):
            others = conditions[:n] + conditions[n + 1 :]
            assert sum(all(holds(world) for holds in others) for world in worlds) > 1, (item, clues[n])


def test_all_logic_puzzles_are_solved_here() -> None:
    words = ("sit in a row", "Knights", "four houses", "four digits", "took the ring")
    solved = sum(len(puzzles(word)) for word in words)
    assert solved == 20 * len(SEEDS)
