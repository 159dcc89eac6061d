"""Generate a test set from kinds of questions, each a function of a random generator, in turn."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ...errors import UsageError
from ..items import Grader, Item

__all__ = ["PEOPLE", "TIMES", "Dataset", "Draft", "Kind", "draw", "fixed", "near", "rounded"]

PEOPLE = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Iris", "Jack", "Kira", "Liam")
TIMES = "\u00d7"


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated question before it becomes an `Item`.

    wrong: the other options, if it is a choice. The other fields are those of `Item`.
    """

    question: str
    target: str
    wrong: tuple[str, ...] = ()
    grader: Grader | None = None
    tolerance: float = 1e-6


Kind: TypeAlias = Callable[[random.Random], Draft]


@dataclass(frozen=True, slots=True)
class Dataset:
    """categories: their kinds of questions, used in turn. size: questions. endless: more can be generated."""

    categories: Mapping[str, Sequence[Kind]]
    size: int
    endless: bool = False


def fixed(question: str, target: str, *wrong: str) -> Kind:
    """A fixed question. Only the order of its options is random."""
    return lambda rng: Draft(question, target, wrong)


def near(rng: random.Random, value: int, *slips: int, step: int = 1) -> tuple[int, ...]:
    """Three wrong numbers: first `slips`, the results of common mistakes, then numbers a few steps away."""
    wrong = [slip for slip in dict.fromkeys(slips) if slip != value and slip >= 0][:3]
    while len(wrong) < 3:
        other = value + step * rng.choice((-3, -2, -1, 1, 2, 3, 4))
        if other >= 0 and other != value and other not in wrong:
            wrong.append(other)
    return tuple(wrong)


DIGITS = 6
"""Digits of the target after those that the question asks for."""


def rounded(question: str, exact: Fraction, places: int) -> Draft:
    """A question for a number rounded to `places` decimals; the unrounded number is right as well.

    The target is the unrounded number: one halfway between two roundings may be rounded either way.
    """
    slack = Fraction(51, 100 * 10**places)
    target = f"{float(exact):.{places + DIGITS}f}".rstrip("0")
    return Draft(
        f"{question} Round to {places} decimal place{'s' * (places > 1)}.",
        target + "0" * (places - len(target.partition(".")[2])),
        grader="numeric",
        tolerance=float(slack / abs(exact)),
    )


def draw(name: str, dataset: Dataset, seed: int, limit: int | None = None) -> list[Item]:
    """The first questions of a test set. Categories alternate, and so do the kinds within each.

    Question n depends on the seed and on the questions before it, so a limit only shortens the list.
    """
    count = dataset.size if limit is None else limit if dataset.endless else min(limit, dataset.size)
    items: list[Item] = []
    texts: set[str] = set()
    for n in range(count):
        turn, place = divmod(n, len(dataset.categories))
        category = list(dataset.categories)[place]
        kinds = dataset.categories[category]
        rng = random.Random(f"{name}/{seed}/{n}")
        draft = _new_draft(kinds[(turn + place) % len(kinds)], rng, texts)
        if draft is None:
            raise UsageError(f"{name} has only {n} different questions; request at most {n}")
        texts.add(draft.question)
        items.append(_item(f"{name}-{n + 1:04}", category, draft, rng))
    return items


TRIES = 200
"""Draws of one kind before it counts as exhausted."""


def _new_draft(kind: Kind, rng: random.Random, texts: set[str]) -> Draft | None:
    drafts = (kind(rng) for _ in range(TRIES))
    return next((draft for draft in drafts if draft.question not in texts), None)


def _item(id: str, category: str, draft: Draft, rng: random.Random) -> Item:
    # Small models prefer the first or last option, so the position of the right one is random.
    choices = [draft.target, *draft.wrong] if draft.wrong else []
    rng.shuffle(choices)
    return Item(
        id=id,
        question=draft.question,
        target=draft.target,
        choices=tuple(choices),
        category=category,
        grader=draft.grader,
        tolerance=draft.tolerance,
    )
