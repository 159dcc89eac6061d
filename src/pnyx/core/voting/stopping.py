"""When further answers are unlikely to change which answer leads.

For samples of models without learned weights: Aggarwal et al. 2023, "Let's Sample Step by Step", with the
Beta approximation for two answers. For votes with weights, in log-odds: their posterior.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import comb, exp, fsum, inf

__all__ = [
    "ENOUGH_JUDGED",
    "FULL_POLL_EVERY",
    "MIN_ANSWERS",
    "OPEN_OPTIONS",
    "STOP_POSTERIOR",
    "STRONGEST_FIRST",
    "is_settled",
    "lead_probability",
    "pending_weights",
    "posterior",
    "votes_to_stop",
]

STOP_POSTERIOR = 0.95
"""The posterior of the leading answer from which on no further model is asked."""
MIN_ANSWERS = 2
"""The least number of models that answer before a vote can be settled: one model has no contradiction."""
FULL_POLL_EVERY = 8
"""One vote in this many asks every seat, settled or not. Without it, the weaker models would be asked only
where the strongest disagree, which does not show how often they are right."""
ENOUGH_JUDGED = 10
"""The judged answers of a model from which on a vote may end without it. Only votes that ask every seat teach
how often a model is right, and the first few such answers teach most."""
STRONGEST_FIRST = "strongest first"
"""The suffix of a confidence's name if seats were asked in this order until the vote was settled."""
OPEN_OPTIONS = 4.0
"""The number of options that an open question is assumed to have. Two wrong answers to GSM8K agree with
probability 0.38 (38 recorded models, none of them in the panels reported in design/reliability.md), as if
there were 2.6 wrong options."""


def lead_probability(first: int, second: int) -> float:
    """The probability that an answer with `first` votes beats one with `second`.

    It is 1 - I_0.5(first + 1, second + 1), with I the regularized incomplete beta function. The prior is
    Beta(1, 1), so the posterior is Beta(first + 1, second + 1). For whole numbers the incomplete beta
    function is the tail of a binomial distribution, which is computed exactly.
    """
    tosses = first + second + 1
    return sum(comb(tosses, heads) for heads in range(first + 1)) / (1 << tosses)


def votes_to_stop(first: int, second: int) -> int:
    """The fewest further votes, all for the leader, after which sampling may stop; 0 if it may stop now."""
    further = 0
    while lead_probability(first + further, second) < STOP_POSTERIOR:
        further += 1
    return further


def posterior(scores: Mapping[str, float], options: float = OPEN_OPTIONS) -> dict[str, float]:
    """The probability of each answer; the rest to 1 belongs to the options that no model answered.

    scores: answer -> sum of its voters' log-odds, in nats. options: how many answers are possible.
    """
    top = max(scores.values(), default=0.0)
    odds = {answer: exp(score - top) for answer, score in scores.items()}
    whole = fsum(odds.values()) + max(options - len(odds), 1.0) * exp(-top)
    return {answer: o / whole for answer, o in odds.items()}


def pending_weights(answered: Collection[float], pending: Collection[float]) -> list[float]:
    """What each pending vote would count beside the answered ones. Both arguments are weights.

    If no answered vote has weight, each counts one (`core.voting.tally.by_seat`), and so do pending votes
    without weight; a pending vote with weight would decide alone, so it counts infinity.
    """
    if any(answered):
        return list(pending)
    return [inf if weight else 1.0 for weight in pending]


def is_settled(
    scores: Mapping[str, float],
    answered: int,
    pending: Collection[float],
    options: float = OPEN_OPTIONS,
    by_model: Mapping[str, float] | None = None,
    sure: float = STOP_POSTERIOR,
) -> bool:
    """Whether the pending models need not be asked, if the strongest are asked first.

    scores: answer -> votes. answered: the number of models with an answer that counts. pending: the
    `pending_weights` of the others. by_model: `scores` with each model's weight counted once, if a model
    holds several seats: a model that repeats itself is no further evidence. sure: the posterior at which
    the leader is settled.

    True if no model is pending; else, from `MIN_ANSWERS` on, if all pending votes together could not outvote
    the leader, or if its posterior reaches `sure`.
    """
    if not pending or answered < MIN_ANSWERS or inf in pending:
        return not pending
    first, second, *_ = [*sorted(scores.values(), reverse=True), 0.0, 0.0]
    probabilities = posterior(scores if by_model is None else by_model, options)
    return first - second > fsum(pending) or max(probabilities.values(), default=0.0) >= sure
