"""Counting votes: plurality, weighted plurality, Borda, and how ties are broken.

Candidates are labels. A vote that is None is an abstention: nobody's support. Sums are exact, so no
result depends on the order in which votes arrive, and weights that are equal on paper tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .models import Seat

__all__ = ["VoteCount", "borda", "break_tie", "by_seat", "majority_of", "plurality", "weighted"]


@dataclass(frozen=True, slots=True)
class VoteCount:
    """What the votes came to.

    counts: label -> support, most first. leaders: the labels with the most, in the order of their names.
    margin: the leader's support less the runner-up's, 0 on a tie. share: each leader's part of the whole.
    """

    counts: Mapping[str, float]
    leaders: tuple[str, ...]
    margin: float
    share: float

    @property
    def winner(self) -> str | None:
        """The only leader; None on a tie, and when nobody voted."""
        return self.leaders[0] if len(self.leaders) == 1 else None


def plurality(votes: Sequence[str | None], *, live: int | None = None) -> VoteCount:
    """One vote each. `share` is of the votes cast, or of `live` seats where that is given.

    Raises `ValueError` when there are more votes than `live`.
    """
    return _tally(((vote, Fraction(1)) for vote in votes), live)


def weighted(
    votes: Sequence[str | None], weights: Sequence[float], *, live: float | None = None
) -> VoteCount:
    """Votes that count as much as their weights. `share` is of the weight cast, or of `live` where given.

    Raises `ValueError` when there is not one weight a vote, when one is negative or not finite, or when
    more than `live` was cast.
    """
    if bad := [w for w in weights if not (math.isfinite(w) and w >= 0)]:
        raise ValueError(f"a weight must be a number from 0 up, not {bad[0]!r}")
    return _tally(zip(votes, map(_exact, weights), strict=True), live)


def by_seat(votes: Sequence[str | None], seats: Sequence[Seat]) -> VoteCount:
    """Votes that count what their seats' are known to be worth; else one each.

    Where one's worth is not known, and where nobody who voted is worth anything, each counts one: weights are
    comparable with each other only, and a silent winner leaves no vacuum.
    """
    worth = [seat.weight for seat in seats if seat.weight is not None]
    known = len(worth) == len(seats)
    if not (known and any(w for w, vote in zip(worth, votes, strict=True) if vote is not None)):
        worth = [1.0] * len(votes)
    return weighted(votes, worth)


def majority_of(live: int) -> int:
    """The fewest of `live` seats that are more than half of them."""
    return live // 2 + 1


def borda(rankings: Sequence[Sequence[str]], candidates: Sequence[str]) -> dict[str, float]:
    """Borda points of each candidate, in the order given: of n, the k-th place earns n - k.

    Candidates that a ranking leaves out share the points it leaves: each gets their mean, so an empty
    ranking favours nobody. Labels that are no candidate's, and a label's second place, are passed over.
    """
    points = dict.fromkeys(candidates, 0.0)
    for ranking in rankings:
        ranked = [label for label in dict.fromkeys(ranking) if label in points]
        left = (len(points) - 1 - len(ranked)) / 2
        places = {label: len(points) - 1.0 - k for k, label in enumerate(ranked)}
        # Multiples of one half: these sums are exact.
        for label in points:
            points[label] += places.get(label, left)
    return points


def break_tie(
    leaders: Sequence[str], by: Sequence[Mapping[str, float]] = (), order: Sequence[str] = ()
) -> str:
    """The one of `leaders` with the most by the first of `by` that tells them apart, else first in `order`.

    A label that a mapping lacks has less there than any other. Raises `ValueError` when `leaders` is
    empty, or when `order` is needed and holds none of those still tied.
    """
    tied = list(dict.fromkeys(leaders))
    for points in by:
        most = max((points.get(label, -math.inf) for label in tied), default=0)
        tied = [label for label in tied if points.get(label, -math.inf) == most]
    if len(tied) != 1:
        tied = [label for label in order if label in tied]
    if not tied:
        raise ValueError("there is nobody to choose from" if not leaders else "the order names no leader")
    return tied[0]


def _tally(votes: Iterable[tuple[str | None, Fraction]], live: float | None) -> VoteCount:
    sums: dict[str, Fraction] = {}
    for label, weight in votes:
        if label is not None:
            sums[label] = sums.get(label, Fraction(0)) + weight
    cast = sum(sums.values(), Fraction(0))
    whole = cast if live is None else _exact(live)
    if whole < cast:
        raise ValueError(f"{float(cast):g} votes were cast, more than the {live:g} that could be")
    ranked = sorted(sums, key=lambda label: (-sums[label], label))
    top, second, *_ = [sums[label] for label in ranked] + [Fraction(0)] * 2
    return VoteCount(
        counts={label: float(sums[label]) for label in ranked},
        leaders=tuple(label for label in ranked if sums[label] == top > 0),
        margin=float(top - second),
        share=float(top / whole) if whole else 0.0,
    )


def _exact(number: float) -> Fraction:
    """The number as it is written: 0.1 is one tenth, not the binary fraction next to it."""
    return Fraction(str(number))
