"""What each model's vote counts, by what is known of the models: one rule, and nothing to set.

Each level of knowledge is the starting point of the next. Nothing known: every vote counts one. Answers
without the truth: log-odds of accuracies inferred from agreement. `ENOUGH_LABELS` questions whose truth is
known: log-odds of counted accuracies, corrected by a fit to those questions as far as they speak against
them, and then again by each category's own. Should the best model alone have done better on enough of them,
it decides, and the others where it is silent. design/reliability.md says what each step was worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt

from ..core import stopping
from .accuracy import OPEN_OPTIONS, Answered, answered, camps_of, counted, log_odds, one_coin, options_of
from .scorer import fit

__all__ = ["Weights", "accuracy", "choose", "equal", "gated", "learn", "pool", "posterior", "scores"]

ENOUGH_LABELS = 10
"""From ten labelled questions on, counting beats inferring."""
ENOUGH_ANSWERS = 50
"""Fewer answered questions say too little of who agrees with whom."""
ENOUGH_SPLITS = 300
"""Labelled questions on which models differ: fewer choose the best model by luck as much as by merit."""
GATE = 0.125
"""Models further than this below the best are left out of a vote by log-odds."""
PRECISION = 30.0
"""How firmly the fit is held to the log-odds, and a category's to that for all questions: 1 / nat^2."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Plain numbers to keep. Weights are log-odds in nats, from 0 up; `rule` says how they came about.

    rule: equal | agreement | labels | solo. n: questions learned from. accuracies: by model, as far as they
    are estimated. models: weight by model, in the order in which ties are broken. categories: weights where a
    category has its own. options: answers that a question has to choose from, on average.
    """

    rule: str
    n: int
    models: Mapping[str, float]
    accuracies: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    options: float = OPEN_OPTIONS

    def of(self, category: str | None = None) -> Mapping[str, float]:
        """The weights for a category; those for all questions where it has none."""
        return self.categories.get(category or "", self.models)


def equal(models: Iterable[str]) -> Weights:
    """One vote each; ties go to whoever comes first."""
    return Weights("equal", 0, dict.fromkeys(models, 1.0))


def learn(questions: Sequence[Answered], models: Sequence[str]) -> Weights:
    """The weights of `models` (strongest first, as far as anyone knows) after `questions`.

    Those that none of the models answered tell nothing of them, and do not count.
    """
    questions = [q for q in questions if any(q.answers.get(model) is not None for model in models)]
    options = options_of(questions)
    labelled = [q for q in questions if q.gold is not None]
    if len(labelled) < ENOUGH_LABELS:
        if len(questions) < ENOUGH_ANSWERS or len(models) < 3:
            return equal(models)
        known = _ranked(one_coin(questions, models, options))
        votes = gated(known, options, answered(questions))
        return Weights("agreement", len(questions), votes, known, options=options)
    known = _ranked(counted(labelled, models))
    everywhere = fit(labelled, gated(known, options, answered(labelled)), PRECISION, options)
    groups: dict[str, list[Answered]] = {}
    for q in labelled:
        if q.category:
            groups.setdefault(q.category, []).append(q)
    categories = {name: _votes(fit(group, everywhere, PRECISION, options)) for name, group in groups.items()}
    weights = Weights("labels", len(labelled), _votes(everywhere), known, categories, options)
    return _guarded(weights, labelled)


def gated(accuracies: Mapping[str, float], options: float, counts: Mapping[str, int]) -> dict[str, float]:
    """Log-odds weights, in the order given; 0 for models that are clearly more than `GATE` below the best.

    counts: from how many answers each accuracy is known. Clearly: by more than the standard error of the
    difference of the two, so that who has joined a panel of late is heard until more is known.
    """
    best = max(accuracies, key=lambda model: accuracies[model], default="")

    def spread(model: str) -> float:
        p = accuracies[model]
        return p * (1 - p) / (counts.get(model, 0) + 2)

    def near(model: str) -> bool:
        error = sqrt(spread(model) + spread(best))
        return accuracies[best] - accuracies[model] <= GATE + error

    return {model: log_odds(p, options) if near(model) else 0.0 for model, p in accuracies.items()}


def scores(weights: Weights, question: Answered) -> dict[str, float]:
    """The weight behind each answer given; the order of the models makes no difference to the sums.

    Where no answer has any, each model counts one, as in a live vote (`core.tally.by_seat`).
    """
    votes = weights.of(question.category)
    names = list(weights.models)
    camps = camps_of(question.answers, names)
    behind = {answer: fsum(votes[names[place]] for place in camp) for answer, camp in camps.items()}
    return behind if any(behind.values()) else {answer: float(len(camp)) for answer, camp in camps.items()}


def choose(weights: Weights, question: Answered) -> str | None:
    """The answer with the most weight, of several the strongest model's; None where none was given."""
    behind = scores(weights, question)
    for model in weights.models:
        answer = question.answers.get(model)
        if answer is not None and behind[answer] == max(behind.values()):
            return answer
    return None


def posterior(weights: Weights, question: Answered) -> dict[str, float]:
    """The probability of each answer given, under the weights; what is missing to 1 is "none of these".

    Far too sure of itself unless learned from labels: calibrate it (`calibration`) before telling anyone.
    """
    return stopping.posterior(scores(weights, question), weights.options)


def pool(weights: Weights, category: str | None = None) -> tuple[str, ...]:
    """The models worth asking, most weight first: those with a vote, or the first alone if it always wins."""
    votes = weights.of(category)
    ranked = sorted((m for m in weights.models if votes[m] > 0), key=lambda m: -votes[m])
    if not ranked:
        return tuple(weights.models)
    alone = votes[ranked[0]] > fsum(votes[m] for m in ranked[1:])
    return tuple(ranked[:1] if alone else ranked)


def accuracy(weights: Weights, questions: Iterable[Answered]) -> float:
    """The share of labelled questions on which `choose` is right; 0 without one."""
    right = [choose(weights, q) == q.gold for q in questions if q.gold is not None]
    return sum(right) / len(right) if right else 0.0


def _guarded(weights: Weights, labelled: Sequence[Answered]) -> Weights:
    """The weights, or those that let the best model decide alone where it did better than they do."""
    # A history may hold other models' answers too: where those differ says nothing of this panel.
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
    """A vote never counts against its own answer."""
    return {model: max(0.0, weight) for model, weight in weights.items()}
