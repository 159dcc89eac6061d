"""Vote counts: plurality, weighted plurality, Borda, and how ties are broken.

Candidates are labels. A vote that is None is an abstention and supports no candidate. Sums are exact, so no
result depends on the order of votes, and equal decimal weights tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..models import Seat

__all__ = ["VoteCount", "borda", "break_tie", "by_seat", "majority_of", "plurality", "weighted"]


@dataclass(frozen=True, slots=True)
class VoteCount:
    """The result of a vote.

    counts: label -> support, highest first. leaders: the labels with the most support, in alphabetical order.
    margin: the leader's support minus the runner-up's, 0 on a tie. share: each leader's share of the whole.
    """

    counts: Mapping[str, float]
    leaders: tuple[str, ...]
    margin: float
    share: float

    @property
    def winner(self) -> str | None:
        """The only leader; None on a tie and without votes."""
        return self.leaders[0] if len(self.leaders) == 1 else None


def plurality(votes: Sequence[str | None], *, live: int | None = None) -> VoteCount:
    """The count with one vote per seat. `share` is of the votes cast, or of `live` seats if set.

    Raises `ValueError` if there are more votes than `live`.
    """
    return _tally(((vote, Fraction(1)) for vote in votes), live)


def weighted(
    votes: Sequence[str | None], weights: Sequence[float], *, live: float | None = None
) -> VoteCount:
    """The count with weighted votes. `share` is of the weight cast, or of `live` if set.

    Raises `ValueError` if there is not exactly one weight per vote, if a weight is negative or not finite, or
    if more than `live` is cast.
    """
    if bad := [w for w in weights if not (math.isfinite(w) and w >= 0)]:
        raise ValueError(f"a weight must be a number from 0 up, not {bad[0]!r}")
    return _tally(zip(votes, map(_exact, weights), strict=True), live)


def by_seat(votes: Sequence[str | None], seats: Sequence[Seat]) -> VoteCount:
    """The count with votes weighted by `Seat.weight`; one each if a weight is unknown.

    Weights compare only with each other, so one unknown weight makes all count one. The same holds if no
    voter has weight: without it, such a vote would have no winner.
    """
    weights = [seat.weight for seat in seats if seat.weight is not None]
    known = len(weights) == len(seats)
    if not (known and any(w for w, vote in zip(weights, votes, strict=True) if vote is not None)):
        weights = [1.0] * len(votes)
    return weighted(votes, weights)


def majority_of(live: int) -> int:
    """The least number of seats that is more than half of `live`."""
    return live // 2 + 1


def borda(rankings: Sequence[Sequence[str]], candidates: Sequence[str]) -> dict[str, float]:
    """The Borda points of each candidate, in the order of `candidates`: place k of n earns n - k points.

    The candidates that a ranking leaves out each get the mean of the remaining points, so an empty ranking
    favours no one. Unknown labels and repeated labels in a ranking are ignored.
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
    """The one of `leaders` with the most points in `by`, mapping by mapping, else the first in `order`.

    A label that is missing from a mapping ranks below all others there. Raises `ValueError` if `leaders` is
    empty, or if `order` is needed and holds none of the labels that are still tied.
    """
    tied = list(dict.fromkeys(leaders))
    for points in by:
        most = max((points.get(label, -math.inf) for label in tied), default=0)
        tied = [label for label in tied if points.get(label, -math.inf) == most]
    if len(tied) != 1:
        tied = [label for label in order if label in tied]
    if not tied:
        raise ValueError("leaders is empty" if not leaders else "order names none of the tied leaders")
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
    """The decimal value of `number`: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(str(number))
