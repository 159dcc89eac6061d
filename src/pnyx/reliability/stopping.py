"""When further models need not be asked, by what is known of them."""

from __future__ import annotations

from collections.abc import Collection

from ..core import stopping
from .accuracy import Answered
from .weights import Weights, scores

__all__ = ["settled"]


def settled(weights: Weights, question: Answered, waiting: Collection[str]) -> bool:
    """Whether the models in `waiting` need not be asked after the answers so far.

    Strongest are asked first; see `core.stopping.is_settled`.
    """
    votes = weights.of(question.category)
    answered = [model for model, answer in question.answers.items() if answer is not None]
    left = stopping.pending_weights([votes[model] for model in answered], [votes[model] for model in waiting])
    return stopping.is_settled(scores(weights, question), len(answered), left, weights.options)
