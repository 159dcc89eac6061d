"""When further samples would hardly change which answer leads.

Source: Aggarwal et al. 2023, "Let's Sample Step by Step", with the Beta approximation for two answers.
"""

from __future__ import annotations

from math import comb

__all__ = ["ENOUGH", "lead_probability", "votes_to_stop"]

ENOUGH = 0.95
"""Posterior that the leading answer beats the runner-up, from which on asking further is not worth it."""


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
