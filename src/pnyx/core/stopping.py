"""When further answers would hardly change which one leads.

For samples of models that nothing is known of: Aggarwal et al. 2023, "Let's Sample Step by Step", with the
Beta approximation for two answers. For votes of known weight, in log-odds: their posterior.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import comb, exp, fsum, inf

__all__ = [
    "ASK_ALL",
    "AT_LEAST",
    "ENOUGH",
    "OPEN",
    "STRONGEST_FIRST",
    "lead_probability",
    "posterior",
    "settled",
    "votes_to_stop",
    "worth",
]

ENOUGH = 0.95
"""Posterior of the leading answer, from which on asking further is not worth it."""
AT_LEAST = 2
"""Models whose answers are counted before anything is settled: one alone has nobody to contradict it."""
ASK_ALL = 8
"""One vote in so many hears everybody, settled or not: of the others nobody can tell how often those are
right who are asked only where the strongest differ."""
STRONGEST_FIRST = "strongest first"
"""How the name of a confidence ends whose votes were asked for in that order, until they were settled."""
OPEN = 4.0
"""Options that an open question is taken to have. Two wrong answers to GSM8K agree with probability 0.38
(38 recorded models, none of them in the panels reported in design/reliability.md): as if there were
2.6 wrong ones to choose from."""


def lead_probability(first: int, second: int) -> float:
    """1 - I_0.5(first + 1, second + 1): that an answer with `first` votes beats one with `second`, in [0, 1].

    Starting from no preference, Beta(1, 1), the votes on the two make it Beta(first + 1, second + 1). For
    whole numbers the incomplete beta function is the tail of a binomial distribution, which is exact.
    """
    tosses = first + second + 1
    return sum(comb(tosses, heads) for heads in range(first + 1)) / (1 << tosses)


def votes_to_stop(first: int, second: int) -> int:
    """The fewest further votes after which asking may stop: all of them for the leader; 0 when it may now."""
    more = 0
    while lead_probability(first + more, second) < ENOUGH:
        more += 1
    return more


def posterior(scores: Mapping[str, float], options: float = OPEN) -> dict[str, float]:
    """The probability of each answer; what is missing to 1 is that of the options that nobody gave.

    scores: answer -> sum of the log-odds of those who gave it, in nats. options: answers there are to
    choose from.
    """
    top = max(scores.values(), default=0.0)
    odds = {answer: exp(score - top) for answer, score in scores.items()}
    whole = fsum(odds.values()) + max(options - len(odds), 1.0) * exp(-top)
    return {answer: o / whole for answer, o in odds.items()}


def worth(heard: Collection[float], waiting: Collection[float]) -> list[float]:
    """What the votes of those who wait count beside those heard, both by weight.

    Where no vote heard has weight each counts one (`core.tally.by_seat`), and so would those to come; but one
    of them that has weight would decide alone: infinity.
    """
    if any(heard):
        return list(waiting)
    return [inf if weight else 1.0 for weight in waiting]


def settled(
    scores: Mapping[str, float],
    heard: int,
    waiting: Collection[float],
    options: float = OPEN,
    apart: Mapping[str, float] | None = None,
) -> bool:
    """Whether those who wait need not be asked, when the strongest are asked first.

    heard: how many models gave an answer that counts. waiting: what the votes of those who were not asked
    are `worth`. apart: `scores` with each model's weight counted once, where some hold several seats: a model
    that repeats itself is no further evidence. True with nobody waiting; else after `AT_LEAST`, when those
    who wait could not outvote the leader together, or its posterior is `ENOUGH`.
    """
    if not waiting or heard < AT_LEAST or inf in waiting:
        return not waiting
    first, second, *_ = [*sorted(scores.values(), reverse=True), 0.0, 0.0]
    believed = posterior(scores if apart is None else apart, options)
    return first - second > fsum(waiting) or max(believed.values(), default=0.0) >= ENOUGH
