"""When further seats would hardly change which answer wins: for models of known weight, one by one.

`core.stopping` answers the same for many samples of models that nothing is known of.
"""

from __future__ import annotations

from collections.abc import Collection
from math import fsum

from ..core.stopping import ENOUGH
from .accuracy import Answered
from .weights import Weights, posterior, scores

__all__ = ["AT_LEAST", "settled"]

AT_LEAST = 2
"""Models that are asked before anything is settled: one alone has nobody to contradict it."""


def settled(weights: Weights, question: Answered, waiting: Collection[str]) -> bool:
    """Whether the models in `waiting` need not be asked after the answers so far; strongest are asked first.

    True with nobody waiting. Before, at least `AT_LEAST` must have been asked, abstentions included; then
    when those who wait could not outvote the leader together, or when its posterior is `ENOUGH`.
    """
    if not waiting:
        return True
    if len(question.answers) < AT_LEAST:
        return False
    votes = weights.of(question.category)
    first, second, *_ = [*sorted(scores(weights, question).values(), reverse=True), 0.0, 0.0]
    if first - second > fsum(votes[model] for model in waiting):
        return True
    return max(posterior(weights, question).values(), default=0.0) >= ENOUGH
