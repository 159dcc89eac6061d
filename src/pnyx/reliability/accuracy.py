"""The accuracy of models: counted if the right answers are known, otherwise inferred from agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import comb, exp, fsum, lgamma, log
from typing import TypeAlias

from ..core.voting.stopping import OPEN_OPTIONS

__all__ = [
    "OPEN_OPTIONS",
    "AnsweredQuestion",
    "answer_counts",
    "answer_groups",
    "labelled_accuracies",
    "log_odds",
    "mean_options",
    "one_coin",
    "shrunk",
    "shrunk_accuracies",
]

PAIRS = 30.0
"""Prior strength, in pairs of wrong answers, of the assumption that an open question has `OPEN_OPTIONS`."""
STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Numbers of answers that the panel's mean may count as, all equally plausible without labels."""
SETTLED = 1e-4
ROUNDS = 200

Groups: TypeAlias = tuple[tuple[int, ...], ...]
"""For each answer, the indexes of the models that gave it."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question that several models answered.

    answers: model -> answer, None if it abstained; models that were not called are missing. Equal strings
    are equal answers. gold: the right answer, or None if unknown. options: number of options, None for an
    open question.
    """

    answers: Mapping[str, str | None]
    gold: str | None = None
    options: int | None = None
    category: str | None = None


def mean_options(questions: Sequence[AnsweredQuestion]) -> float:
    """Return the mean number of options of the questions, at least 2; `OPEN_OPTIONS` for no questions.

    An open question has an effective number of options, at least `OPEN_OPTIONS`: the number at which wrong
    answers would agree as often as those to labelled open questions do, with a prior of `PAIRS` pairs.
    """
    if not questions:
        return OPEN_OPTIONS
    pairs, alike = PAIRS, PAIRS / (OPEN_OPTIONS - 1)
    for q in questions:
        if q.options is None and q.gold is not None:
            wrong = Counter(answer for answer in q.answers.values() if answer not in (None, q.gold))
            pairs += comb(wrong.total(), 2)
            alike += sum(comb(n, 2) for n in wrong.values())
    free = max(OPEN_OPTIONS, 1 + pairs / alike)
    return max(sum(q.options or free for q in questions) / len(questions), 2.0)


def log_odds(accuracy: float, options: float) -> float:
    """Return the weight of a vote by a model that is right with probability `accuracy`, in (0, 1).

    max(0, ln(p (K - 1) / (1 - p))): the amount that the vote adds to the log-odds of its answer if models
    err independently and uniformly over the K - 1 other options (Nitzan & Paroush 1982, for K options).
    0 at chance.
    """
    return max(0.0, log(accuracy * (options - 1) / (1 - accuracy)))


def answer_counts(questions: Iterable[AnsweredQuestion]) -> Counter[str]:
    """Return model -> number of questions that it answered; abstentions do not count."""
    return Counter(model for q in questions for model, answer in q.answers.items() if answer is not None)


def labelled_accuracies(questions: Iterable[AnsweredQuestion], models: Sequence[str]) -> dict[str, float]:
    """Return model -> accuracy on labelled questions, (c + 1) / (n + 2) for c of n answers right.

    Abstentions do not count. A model without an answer has the mean accuracy of the others.
    """
    labelled = [q for q in questions if q.gold is not None]
    counts = answer_counts(labelled)
    right = Counter(model for q in labelled for model, answer in q.answers.items() if answer == q.gold)
    accuracies = {m: (right[m] + 1) / (counts[m] + 2) for m in models}
    return _fill(accuracies, [m for m in models if not counts[m]])


def shrunk_accuracies(questions: Iterable[AnsweredQuestion], models: Sequence[str]) -> dict[str, float]:
    """Return model -> accuracy on labelled questions, shrunk towards that of all models together.

    The accuracies of a panel have a Beta distribution around the panel's; its strength, in answers, is
    averaged over `STRENGTHS` by the marginal likelihood of the counts (empirical Bayes). Abstentions do not
    count. A model without an answer has the panel's accuracy, and without any answers that is 0.5.
    """
    labelled = [q for q in questions if q.gold is not None]
    counts = answer_counts(labelled)
    right = Counter(model for q in labelled for model, answer in q.answers.items() if answer == q.gold)
    found = shrunk([right[m] for m in models], [counts[m] for m in models])
    return dict(zip(models, found, strict=True))


def shrunk(right: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Return the shrunk accuracy of each model, from its numbers of right answers and of answers."""
    mean = (sum(right) + 1) / (sum(counts) + 2)
    pairs = list(zip(right, counts, strict=True))
    likely = [
        fsum(_beta_binomial(r, n, strength * mean, strength * (1 - mean)) for r, n in pairs)
        for strength in STRENGTHS
    ]
    shares = [exp(one - max(likely)) for one in likely]
    return [
        fsum(
            share * (r + strength * mean) / (n + strength)
            for share, strength in zip(shares, STRENGTHS, strict=True)
        )
        / fsum(shares)
        for r, n in pairs
    ]


def one_coin(
    questions: Iterable[AnsweredQuestion], models: Sequence[str], options: float
) -> dict[str, float]:
    """Return model -> accuracy, inferred from agreement without right answers.

    Dawid & Skene 1979 with one accuracy per model, by expectation-maximisation that starts from plurality,
    smoothed and completed like `labelled_accuracies`. Answers that no model gave share the remaining
    probability. Some data fit equally well with all labels inverted, or by chance. So a solution that
    overrules most of the initial pluralities is rejected, and the result is the agreement with plurality.
    """
    patterns = [(groups, n) for groups, n in _patterns(questions, models).items() if groups]
    counts = [0] * len(models)
    for groups, n in patterns:
        for index in chain(*groups):
            counts[index] += n
    pluralities = [_plurality(groups) for groups, _ in patterns]
    start = accuracy = _agreement(patterns, pluralities, counts)
    silent = [model for model, n in zip(models, counts, strict=True) if not n]
    beliefs = pluralities
    for _ in range(ROUNDS):
        before, weights = accuracy, [log_odds(p, options) for p in accuracy]
        beliefs = [_belief(groups, weights, options) for groups, _ in patterns]
        accuracy = _agreement(patterns, beliefs, counts)
        if all(abs(new - old) < SETTLED for new, old in zip(accuracy, before, strict=True)):
            break
    confirmed = sum(
        n * sum(b for b, lead in zip(belief, leads, strict=True) if lead)
        for (_, n), belief, leads in zip(patterns, beliefs, pluralities, strict=True)
    )
    is_inverted = confirmed < sum(n for _, n in patterns) / 2
    return _fill(dict(zip(models, start if is_inverted else accuracy, strict=True)), silent)


def answer_groups(answers: Mapping[str, str | None], models: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return answer -> ascending indexes in `models` of the models that gave it."""
    groups: dict[str, list[int]] = {}
    for index, model in enumerate(models):
        if (answer := answers.get(model)) is not None:
            groups.setdefault(answer, []).append(index)
    return {answer: tuple(indexes) for answer, indexes in groups.items()}


def _beta_binomial(right: float, n: float, a: float, b: float) -> float:
    """Return the log-likelihood of `right` of `n` for an accuracy with the distribution Beta(a, b)."""
    prior = lgamma(a + b) - lgamma(a) - lgamma(b)
    return prior + lgamma(a + right) + lgamma(b + n - right) - lgamma(a + b + n)


def _fill(accuracies: dict[str, float], unknown: Sequence[str]) -> dict[str, float]:
    """Return the accuracies with the mean for the models in `unknown`, 0.5 if all are unknown."""
    known = [p for model, p in accuracies.items() if model not in unknown]
    return accuracies | dict.fromkeys(unknown, sum(known) / len(known) if known else 0.5)


def _patterns(questions: Iterable[AnsweredQuestion], models: Sequence[str]) -> Counter[Groups]:
    """Return the patterns of agreement with their counts. Few patterns repeat often, which saves time."""
    return Counter(tuple(answer_groups(q.answers, models).values()) for q in questions)


def _plurality(groups: Groups) -> list[float]:
    largest = max(map(len, groups))
    leaders = sum(len(group) == largest for group in groups)
    return [1 / leaders if len(group) == largest else 0.0 for group in groups]


def _belief(groups: Groups, weights: Sequence[float], options: float) -> list[float]:
    """Return the probability of each answer; answers that no model gave have weight 0."""
    scores = [sum([weights[index] for index in group]) for group in groups]
    # Scores are not negative. Subtracting the largest avoids an overflow with large panels.
    top = max(scores)
    odds = [exp(score - top) for score in scores]
    whole = sum(odds) + max(options - len(groups), 0) * exp(-top)
    return [o / whole for o in odds]


def _agreement(
    patterns: Sequence[tuple[Groups, int]], beliefs: Sequence[Sequence[float]], counts: Sequence[int]
) -> list[float]:
    """Return the accuracy of each model if answers are right with the probabilities `beliefs`."""
    right = [1.0] * len(counts)
    for (groups, n), belief in zip(patterns, beliefs, strict=True):
        for group, b in zip(groups, belief, strict=True):
            for index in group:
                right[index] += n * b
    return [r / (n + 2) for r, n in zip(right, counts, strict=True)]
