"""Early stopping: when the remaining models need not be called."""

from __future__ import annotations

from collections.abc import Collection

from ..core.voting import stopping
from .accuracy import AnsweredQuestion
from .weights import Weights, scores

__all__ = ["is_settled"]


def is_settled(
    weights: Weights,
    question: AnsweredQuestion,
    waiting: Collection[str],
    sure: float = stopping.STOP_POSTERIOR,
) -> bool:
    """Whether the models in `waiting` need not be called after these answers; see `core.voting.stopping`."""
    votes = weights.of(question.category)
    answered = [model for model, answer in question.answers.items() if answer is not None]
    pending = stopping.pending_weights(
        [votes[model] for model in answered], [votes[model] for model in waiting]
    )
    return stopping.is_settled(scores(weights, question), len(answered), pending, weights.options, sure=sure)
