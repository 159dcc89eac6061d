"""Vote weights of models, by one rule without parameters.

Each level of knowledge starts from the one before. Nothing known: every vote counts one. Answers without
labels: log-odds of accuracies inferred from agreement. `ENOUGH_LABELS` labelled questions: log-odds of
counted accuracies, then fitted to those questions, then to those of each category. If the best model alone
was right more often on enough of them, it decides, and the others only if it abstains. The benefit of each
step is measured in design/reliability.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt

from ..core import stopping
from .accuracy import (
    OPEN_OPTIONS,
    AnsweredQuestion,
    answer_counts,
    answer_groups,
    labelled_accuracies,
    log_odds,
    mean_options,
    one_coin,
)
from .scorer import fit

__all__ = ["Weights", "accuracy", "choose", "equal", "gate", "learn", "pool", "posterior", "scores"]

ENOUGH_LABELS = 10
"""With ten labelled questions, counting is better than inferring."""
ENOUGH_ANSWERS = 50
"""With fewer answered questions, the agreement between models is too uncertain."""
ENOUGH_SPLITS = 300
"""Labelled questions on which models differ; with fewer, the best model may be best by luck."""
GATE = 0.125
"""Models whose accuracy is lower than the best by more than this have no vote by log-odds."""
PRECISION = 30.0
"""Precision of the prior, 1 / nat²: log-odds for the fit, and the fit of all questions for a category."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights are log-odds in nats, 0 or more. Stored as JSON.

    rule: their source: equal | agreement | labels | solo. n: number of questions learned from. accuracies:
    model -> estimated accuracy, if any. models: model -> weight, in the order that breaks ties. categories:
    category -> weights, if it has its own. options: mean number of options of a question.
    """

    rule: str
    n: int
    models: Mapping[str, float]
    accuracies: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    options: float = OPEN_OPTIONS

    def of(self, category: str | None = None) -> Mapping[str, float]:
        """Return the weights of a category, or those for all questions if it has none."""
        return self.categories.get(category or "", self.models)


def equal(models: Iterable[str]) -> Weights:
    """Return one vote per model; the first model wins ties."""
    return Weights("equal", 0, dict.fromkeys(models, 1.0))


def learn(questions: Sequence[AnsweredQuestion], models: Sequence[str]) -> Weights:
    """Learn the weights of `models` (strongest first, if known) from `questions`.

    Questions that none of the models answered do not count.
    """
    questions = [q for q in questions if any(q.answers.get(model) is not None for model in models)]
    options = mean_options(questions)
    labelled = [q for q in questions if q.gold is not None]
    if len(labelled) < ENOUGH_LABELS:
        if len(questions) < ENOUGH_ANSWERS or len(models) < 3:
            return equal(models)
        known = _ranked(one_coin(questions, models, options))
        votes = gate(known, options, answer_counts(questions))
        return Weights("agreement", len(questions), votes, known, options=options)
    known = _ranked(labelled_accuracies(labelled, models))
    everywhere = fit(labelled, gate(known, options, answer_counts(labelled)), PRECISION, options)
    groups: dict[str, list[AnsweredQuestion]] = {}
    for q in labelled:
        if q.category:
            groups.setdefault(q.category, []).append(q)
    categories = {name: _votes(fit(group, everywhere, PRECISION, options)) for name, group in groups.items()}
    weights = Weights("labels", len(labelled), _votes(everywhere), known, categories, options)
    return _guarded(weights, labelled)


def gate(accuracies: Mapping[str, float], options: float, counts: Mapping[str, int]) -> dict[str, float]:
    """Return model -> log-odds weight, 0 for models that are clearly more than `GATE` below the best.

    counts: model -> number of answers behind its accuracy. Clearly: by more than the standard error of the
    difference, so that a model with few answers keeps its vote until more is known.
    """
    best = max(accuracies, key=lambda model: accuracies[model], default="")

    def spread(model: str) -> float:
        p = accuracies[model]
        return p * (1 - p) / (counts.get(model, 0) + 2)

    def near(model: str) -> bool:
        error = sqrt(spread(model) + spread(best))
        return accuracies[best] - accuracies[model] <= GATE + error

    return {model: log_odds(p, options) if near(model) else 0.0 for model, p in accuracies.items()}


def scores(weights: Weights, question: AnsweredQuestion) -> dict[str, float]:
    """Return answer -> sum of the weights of its models, independent of the order of the models.

    If no answer has any weight, each model counts one, as in a live vote (`core.tally.by_seat`).
    """
    votes = weights.of(question.category)
    names = list(weights.models)
    groups = answer_groups(question.answers, names)
    sums = {answer: fsum(votes[names[index]] for index in group) for answer, group in groups.items()}
    return sums if any(sums.values()) else {answer: float(len(group)) for answer, group in groups.items()}


def choose(weights: Weights, question: AnsweredQuestion) -> str | None:
    """Return the answer with the most weight, or None without answers. The first model breaks ties."""
    sums = scores(weights, question)
    for model in weights.models:
        answer = question.answers.get(model)
        if answer is not None and sums[answer] == max(sums.values()):
            return answer
    return None


def posterior(weights: Weights, question: AnsweredQuestion) -> dict[str, float]:
    """Return answer -> probability under the weights; the rest to 1 is "none of these".

    Overconfident unless learned from labels: calibrate it (`calibration`) before showing it.
    """
    return stopping.posterior(scores(weights, question), weights.options)


def pool(weights: Weights, category: str | None = None) -> tuple[str, ...]:
    """Return the models to call, most weight first: those with a vote, or only the first if it decides."""
    votes = weights.of(category)
    ranked = sorted((m for m in weights.models if votes[m] > 0), key=lambda m: -votes[m])
    if not ranked:
        return tuple(weights.models)
    alone = votes[ranked[0]] > fsum(votes[m] for m in ranked[1:])
    return tuple(ranked[:1] if alone else ranked)


def accuracy(weights: Weights, questions: Iterable[AnsweredQuestion]) -> float:
    """Return the share of labelled questions on which `choose` is right; 0 without any."""
    right = [choose(weights, q) == q.gold for q in questions if q.gold is not None]
    return sum(right) / len(right) if right else 0.0


def _guarded(weights: Weights, labelled: Sequence[AnsweredQuestion]) -> Weights:
    """Return the weights, or weights by which the best model decides alone if it was right more often."""
    # A history may contain other models' answers; where those differ is irrelevant to this panel.
    splits = sum(len({q.answers.get(model) for model in weights.models} - {None}) > 1 for q in labelled)
    right = Counter(m for q in labelled for m, answer in q.answers.items() if answer == q.gold)
    best = max(weights.models, key=lambda model: right[model])
    if splits < ENOUGH_SPLITS or sum(choose(weights, q) == q.gold for q in labelled) >= right[best]:
        return weights
    decides = {best: 1.0 + fsum(weights.models.values())}
    return replace(weights, rule="solo", models=decides | {**weights.models, **decides}, categories={})


def _ranked(accuracies: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(accuracies.items(), key=lambda item: -item[1]))


def _votes(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights without negative ones: a vote never counts against its own answer."""
    return {model: max(0.0, weight) for model, weight in weights.items()}
