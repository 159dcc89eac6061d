"""How often each model is right: counted where the truth is known, inferred from agreement elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import comb, exp, log
from typing import TypeAlias

from ..core.stopping import OPEN_OPTIONS

__all__ = [
    "OPEN_OPTIONS",
    "Answered",
    "answered",
    "camps_of",
    "counted",
    "log_odds",
    "one_coin",
    "options_of",
]

PAIRS = 30.0
"""Pairs of wrong answers as firm as which it is held that two agree as those to `OPEN_OPTIONS` options do."""
SETTLED = 1e-4
ROUNDS = 200

Camps: TypeAlias = tuple[tuple[int, ...], ...]
"""Who said the same: for each answer the places of those who gave it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that several models answered.

    answers: model -> answer, None where it abstained; who was not asked is not in it. Equal strings are equal
    answers. gold: the right one, None where it is not known. options: how many there were to choose from,
    None for an open question.
    """

    answers: Mapping[str, str | None]
    gold: str | None = None
    options: int | None = None
    category: str | None = None


def options_of(questions: Sequence[Answered]) -> float:
    """Their mean number of options, at least 2; `OPEN_OPTIONS` for no questions.

    An open question counts for as many as would make wrong answers agree as often as they do, where the truth
    is known, and for `OPEN_OPTIONS` at least: `PAIRS` pairs that agree so often are there from the start.
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
    """The weight of a vote by a model that is right with probability `accuracy`, strictly within (0, 1).

    max(0, ln(p (K - 1) / (1 - p))): what such a vote adds to the log-odds of its answer when models err
    independently and evenly over the K - 1 other options (Nitzan & Paroush 1982, for K options). 0 at chance.
    """
    return max(0.0, log(accuracy * (options - 1) / (1 - accuracy)))


def answered(questions: Iterable[Answered]) -> Counter[str]:
    """How many of the questions each model has answered; abstentions are not counted."""
    return Counter(model for q in questions for model, answer in q.answers.items() if answer is not None)


def counted(questions: Iterable[Answered], models: Sequence[str]) -> dict[str, float]:
    """Accuracy where the truth is known, (c + 1) / (n + 2) of n answered; abstentions are not counted.

    A model that answered none of them is taken for as good as the others are on average.
    """
    labelled = [q for q in questions if q.gold is not None]
    asked = answered(labelled)
    right = Counter(model for q in labelled for model, answer in q.answers.items() if answer == q.gold)
    return _filled({m: (right[m] + 1) / (asked[m] + 2) for m in models}, [m for m in models if not asked[m]])


def one_coin(questions: Iterable[Answered], models: Sequence[str], options: float) -> dict[str, float]:
    """Accuracy inferred without the truth: the truth is what the better models say, the better agree with it.

    Dawid & Skene 1979 with one accuracy a model, by expectation-maximisation from plurality, smoothed and
    filled as `counted` is. Answers that nobody gave share what probability their number leaves them. Turning
    all labels round explains some data as well, and so does pure chance; a solution that would overrule most
    of the pluralities it set out from is refused: the accuracies are then agreement with plurality.
    """
    patterns = [(camps, n) for camps, n in _patterns(questions, models).items() if camps]
    asked = [0] * len(models)
    for camps, n in patterns:
        for place in chain(*camps):
            asked[place] += n
    plural = [_plurality(camps) for camps, _ in patterns]
    start = accuracy = _agreement(patterns, plural, asked)
    silent = [model for model, n in zip(models, asked, strict=True) if not n]
    believed = plural
    for _ in range(ROUNDS):
        before, weights = accuracy, [log_odds(p, options) for p in accuracy]
        believed = [_believed(camps, weights, options) for camps, _ in patterns]
        accuracy = _agreement(patterns, believed, asked)
        if all(abs(new - old) < SETTLED for new, old in zip(accuracy, before, strict=True)):
            break
    kept = sum(
        n * sum(b for b, lead in zip(belief, leads, strict=True) if lead)
        for (_, n), belief, leads in zip(patterns, believed, plural, strict=True)
    )
    turned = kept < sum(n for _, n in patterns) / 2
    return _filled(dict(zip(models, start if turned else accuracy, strict=True)), silent)


def camps_of(answers: Mapping[str, str | None], models: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """For each answer given the places, in `models`, of those who gave it, in ascending order."""
    camps: dict[str, list[int]] = {}
    for place, model in enumerate(models):
        if (answer := answers.get(model)) is not None:
            camps.setdefault(answer, []).append(place)
    return {answer: tuple(places) for answer, places in camps.items()}


def _filled(accuracies: dict[str, float], unknown: Sequence[str]) -> dict[str, float]:
    known = [p for model, p in accuracies.items() if model not in unknown]
    return accuracies | dict.fromkeys(unknown, sum(known) / len(known) if known else 0.5)


def _patterns(questions: Iterable[Answered], models: Sequence[str]) -> Counter[Camps]:
    """Who agreed with whom, and how often: what was said is not needed, and few patterns repeat often."""
    return Counter(tuple(camps_of(q.answers, models).values()) for q in questions)


def _plurality(camps: Camps) -> list[float]:
    most = max(map(len, camps))
    leaders = sum(len(camp) == most for camp in camps)
    return [1 / leaders if len(camp) == most else 0.0 for camp in camps]


def _believed(camps: Camps, weights: Sequence[float], options: float) -> list[float]:
    """The probability of each answer; the answers that nobody gave have weight 0."""
    scores = [sum([weights[place] for place in camp]) for camp in camps]
    # No score is below 0: the largest, taken off, keeps big panels within what a float can hold.
    top = max(scores)
    odds = [exp(score - top) for score in scores]
    whole = sum(odds) + max(options - len(camps), 0) * exp(-top)
    return [o / whole for o in odds]


def _agreement(
    patterns: Sequence[tuple[Camps, int]], believed: Sequence[Sequence[float]], asked: Sequence[int]
) -> list[float]:
    """How often each model is right if answers are right with the probabilities `believed`."""
    right = [1.0] * len(asked)
    for (camps, n), belief in zip(patterns, believed, strict=True):
        for camp, b in zip(camps, belief, strict=True):
            for place in camp:
                right[place] += n * b
    return [r / (n + 2) for r, n in zip(right, asked, strict=True)]
