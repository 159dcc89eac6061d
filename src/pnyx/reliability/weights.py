"""Vote weights of models, by one rule without parameters.

Without labelled questions every vote counts one. From the first label on, the weights are fitted to the
labels and shrunk towards their mean by as much as the models seem to differ (`scorer.fit_votes`), then fitted
to the questions of each category. If the best model alone was right more often on enough of them, it decides,
and the others only if it abstains. The benefit of each step is measured in design/reliability.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from ..core.voting import stopping
from .accuracy import (
    OPEN_OPTIONS,
    AnsweredQuestion,
    answer_counts,
    answer_groups,
    log_odds,
    mean_options,
    shrunk_accuracies,
)
from .scorer import fit_category, fit_votes

__all__ = ["Weights", "choose", "equal", "learn", "posterior", "scores"]

ENOUGH_SPLITS = 300
"""Labelled questions on which models differ; with fewer, the best model may be best by luck."""
DEPENDENCE = 0.5
"""The expected ratio of a panel's mean weight to the log-odds of its accuracy. Models err together: fitted to
thousands of questions, it is 0.4 to 0.6 on MMLU-Pro and 0.3 to 0.5 on GSM8K."""
LEAST = 0.1
"""The least expected mean weight: votes of a panel at chance still count."""
PRECISION = 30.0
"""Precision of the weights of all questions as prior for those of a category, 1 / nat²."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights are log-odds in nats, 0 or more. Stored as JSON.

    rule: their source: equal | labels | solo. n: number of questions learned from. accuracies:
    model -> estimated accuracy, if any. models: model -> weight, in the order that breaks ties. categories:
    category -> weights, if it has its own. options: mean number of options of a question. counts: model ->
    number of labelled answers.
    """

    rule: str
    n: int
    models: Mapping[str, float]
    accuracies: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    options: float = OPEN_OPTIONS
    counts: Mapping[str, int] = field(default_factory=dict)

    def of(self, category: str | None = None) -> Mapping[str, float]:
        """Return the weights of a category, or those for all questions if it has none."""
        return self.categories.get(category or "", self.models)


def equal(models: Iterable[str]) -> Weights:
    """Return one vote per model; the first model wins ties."""
    return Weights("equal", 0, dict.fromkeys(models, 1.0))


def learn(questions: Sequence[AnsweredQuestion], models: Sequence[str]) -> Weights:
    """Learn the weights of `models` (strongest first, if known: the order breaks ties) from `questions`.

    Questions that none of the models answered do not count, and those without a right answer teach nothing.
    """
    questions = [q for q in questions if any(q.answers.get(model) is not None for model in models)]
    labelled = [q for q in questions if q.gold is not None]
    if not labelled:
        return equal(models)
    options = mean_options(questions)
    known = shrunk_accuracies(labelled, models)
    mean = max(LEAST, DEPENDENCE * log_odds(fsum(known.values()) / len(known), options))
    everywhere = fit_votes(labelled, models, mean, options)
    groups: dict[str, list[AnsweredQuestion]] = {}
    for q in labelled:
        if q.category:
            groups.setdefault(q.category, []).append(q)
    categories = {
        name: _votes(fit_category(group, everywhere, PRECISION, options)) for name, group in groups.items()
    }
    ranked = _ranked(_votes(everywhere))
    if not any(ranked.values()):
        # No model was right more often than by chance.
        ranked = dict.fromkeys(models, LEAST)
    counts = answer_counts(labelled)
    weights = Weights(
        "labels", len(labelled), ranked, known, categories, options, {m: counts[m] for m in models}
    )
    return _guarded(weights, labelled)


def scores(weights: Weights, question: AnsweredQuestion) -> dict[str, float]:
    """Return answer -> sum of the weights of its models, independent of the order of the models.

    If no answer has any weight, each model counts one, as in a live vote (`core.voting.tally.by_seat`).
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


def _ranked(votes: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(votes.items(), key=lambda item: -item[1]))


def _votes(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights without negative ones: a vote never counts against its own answer."""
    return {model: max(0.0, weight) for model, weight in weights.items()}
