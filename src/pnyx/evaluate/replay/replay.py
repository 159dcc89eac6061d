"""Replay recorded answers: each voting rule learns on one half and is graded on the other half."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

from ...errors import UsageError
from ...reliability.accuracy import AnsweredQuestion, labelled_accuracies, log_odds, mean_options, one_coin
from ...reliability.calibration import ENOUGH, Outcome, brier, calibrate, ece
from ...reliability.stopping import is_settled
from ...reliability.weights import Weights, choose, equal, learn, posterior
from ..analysis.statistics import Interval, minimum_detectable, paired_bootstrap

__all__ = ["Replay", "document", "render", "replay"]

DEFAULT, SINGLE, MAJORITY = "default rule", "best single", "majority"
STOPPED, ORACLE = "default, stopped early", "oracle"
LABELS, AGREEMENT = "log-odds, labels", "log-odds, no labels"

Rule: TypeAlias = Callable[[AnsweredQuestion], str | None]


@dataclass(slots=True)
class Replay:
    """The results of all splits. A trial is a question in a split that held it out.

    trials: the index of each trial's question. right: arm -> whether it was right, by trial. rules: how often
    the default rule chose each kind of weights. singles: how often each model was best on a learning half.
    calls: models asked per question until it was settled. ece, brier: of the default rule's posterior, and of
    the confidence learned from it, means over splits; None if a split has too few outcomes to learn from.
    """

    questions: int
    models: tuple[str, ...]
    splits: int
    trials: list[int] = field(default_factory=list)
    right: dict[str, list[bool]] = field(default_factory=dict)
    rules: Counter[str] = field(default_factory=Counter)
    singles: Counter[str] = field(default_factory=Counter)
    calls: float = 0.0
    ece: tuple[float, float | None] = (0.0, 0.0)
    brier: tuple[float, float | None] = (0.0, 0.0)

    def accuracy(self, arm: str) -> float:
        """The share of trials in which `arm` was right."""
        return sum(self.right[arm]) / len(self.trials)

    def compare(self, arm: str, to: str) -> Interval:
        """The accuracy of `arm` minus that of `to`, with a bootstrap interval over questions.

        The trials of a question are resampled together, because only questions are independent.
        """
        sums: dict[int, list[int]] = {}
        for place, ours, theirs in zip(self.trials, self.right[arm], self.right[to], strict=True):
            sums.setdefault(place, []).append(ours - theirs)
        return paired_bootstrap([sum(each) for each in sums.values()], [len(each) for each in sums.values()])

    def changes(self, arm: str, to: str) -> tuple[float, float]:
        """The share of trials that only `arm` had right (rescues), and that only `to` had (regressions)."""
        pairs = list(zip(self.right[arm], self.right[to], strict=True))
        return pairs.count((True, False)) / len(pairs), pairs.count((False, True)) / len(pairs)


def replay(
    questions: Sequence[AnsweredQuestion], *, splits: int = 20, seed: int = 0, labels: int | None = None
) -> Replay:
    """Split `questions` in half at random `splits` times; learn each rule on one half, grade it on the other.

    labels: the number of questions of a learning half whose gold answer the rules see; None for all. Every
    question needs a gold answer, and an answer or abstention of the same models. Raises `UsageError` for
    fewer than four questions or two models, if `splits` is below 1, and if `labels` is below 0.
    """
    models = tuple(questions[0].answers) if questions else ()
    if len(questions) < 4 or len(models) < 2 or splits < 1 or (labels is not None and labels < 0):
        raise UsageError(
            "a replay needs at least four questions, two models and one split, and 0 labels or more"
        )
    out = Replay(len(questions), models, splits)
    for n in range(splits):
        places = list(range(len(questions)))
        random.Random(f"{seed}/{n}").shuffle(places)
        half = len(places) // 2
        known = half if labels is None else min(labels, half)
        train = [questions[p] for p in places[:known]]
        train += [replace(questions[p], gold=None) for p in places[known:half]]
        test = [questions[p] for p in places[half:]]
        weights = learn(train, models)
        out.rules[weights.rule] += 1
        out.trials += places[half:]
        for arm, rule in _arms(train, models, weights, out.singles, labels is None):
            out.right.setdefault(arm, []).extend(rule(q) == q.gold for q in test)
        stopped = [_stopped(weights, q) for q in test]
        out.right.setdefault(STOPPED, []).extend(right for right, _ in stopped)
        out.calls += sum(calls for _, calls in stopped) / len(test) / splits
        before, after = _confidence(weights, _outcomes(weights, train, models), test)
        out.ece = _add(out.ece, ece, before, after, splits)
        out.brier = _add(out.brier, brier, before, after, splits)
    return out


Pairs: TypeAlias = Sequence[tuple[float, bool]]


def _add(
    sums: tuple[float, float | None],
    error: Callable[[Pairs], float],
    before: Pairs,
    after: Pairs,
    splits: int,
) -> tuple[float, float | None]:
    raw, calibrated = sums
    known = None if calibrated is None or not after else calibrated + error(after) / splits
    return raw + error(before) / splits, known


def _arms(
    train: Sequence[AnsweredQuestion],
    models: Sequence[str],
    weights: Weights,
    singles: Counter[str],
    every_label: bool,
) -> Iterator[tuple[str, Rule]]:
    """The rules, each learned on `train`.

    every_label: whether all of `train` is labelled. Ties then go to the model that was best in it, and those
    of the majority otherwise to the one that is listed first: a majority that is to show what labels are
    worth may not use them.
    """
    options = mean_options(train)
    right = Counter(m for q in train for m, answer in q.answers.items() if answer == q.gold is not None)
    ranked = sorted(models, key=lambda m: -right[m])
    singles[ranked[0]] += 1
    yield SINGLE, lambda q: q.answers[ranked[0]]
    yield MAJORITY, _by(equal(ranked if every_label else models))
    labels, agreement = labelled_accuracies(train, ranked), one_coin(train, ranked, options)
    yield LABELS, _by(Weights("", 0, {m: log_odds(p, options) for m, p in labels.items()}))
    yield AGREEMENT, _by(Weights("", 0, {m: log_odds(p, options) for m, p in agreement.items()}))
    yield DEFAULT, _by(weights)
    yield ORACLE, lambda q: q.gold if q.gold in q.answers.values() else None


def _by(weights: Weights) -> Rule:
    return lambda question: choose(weights, question)


def _stopped(weights: Weights, question: AnsweredQuestion) -> tuple[bool, int]:
    """Ask models one by one until the answer is settled: whether it is right, and how many were asked."""
    votes, answers = weights.of(question.category), dict[str, str | None]()
    waiting = sorted(weights.models, key=lambda m: votes[m], reverse=True)
    partial = replace(question, answers=answers)
    while not is_settled(weights, partial, waiting):
        model = waiting.pop(0)
        answers[model] = question.answers[model]
    return choose(weights, partial) == question.gold, len(answers)


INNER = 5
"""Folds of a learning half. Weights learned on the others provide the outcomes for calibration in each."""


def _outcomes(weights: Weights, train: Sequence[AnsweredQuestion], models: Sequence[str]) -> list[Outcome]:
    """The default rule's confidence in questions that it has not seen, and whether it was right.

    It is overconfident on questions that its weights were fitted to. If four folds are too few for the same
    kind of weights, the fitted weights are used: the confidences of different kinds are not comparable.
    """
    found = []
    for part in range(INNER):
        inner = learn([q for n, q in enumerate(train) if n % INNER != part], models)
        used = inner if inner.rule == weights.rule else weights
        found += [Outcome("replay", *_rated(used, q)) for q in train[part::INNER] if q.gold is not None]
    return found


def _confidence(
    weights: Weights, outcomes: Sequence[Outcome], test: Sequence[AnsweredQuestion]
) -> tuple[list[tuple[float, bool]], list[tuple[float, bool]]]:
    """The default rule's posterior and whether it was right, and the confidence learned from `outcomes`.

    There is none if they are too few.
    """
    calibration = calibrate(outcomes)
    raw = [_rated(weights, q) for q in test]
    calibrated = ((calibration.of("replay", None, posterior), right) for posterior, right in raw)
    return raw, [(estimate.confidence, right) for estimate, right in calibrated if estimate is not None]


def _rated(weights: Weights, question: AnsweredQuestion) -> tuple[float, bool]:
    """The confidence in the chosen answer, and whether it is right."""
    answer = choose(weights, question)
    return posterior(weights, question).get(answer or "", 0.0), answer == question.gold


def document(result: Replay) -> dict[str, Any]:
    """The comparison as plain JSON values. Shares and differences are fractions of 1; missing ones are None.

    arms: for each its accuracy, and the accuracy of the default rule minus it (mean, low, high).
    """
    arms = (SINGLE, MAJORITY, LABELS, AGREEMENT, DEFAULT, STOPPED, ORACLE)
    accuracy = {arm: result.accuracy(arm) for arm in arms}
    gap = accuracy[ORACLE] - accuracy[SINGLE]
    rescues, regressions = result.changes(DEFAULT, SINGLE)
    return {
        "questions": result.questions,
        "models": list(result.models),
        "splits": result.splits,
        "best_single": dict(result.singles.most_common()),
        "default_rule": dict(result.rules.most_common()),
        "arms": {
            arm: {
                "accuracy": accuracy[arm],
                "default_less_it": None if arm in (DEFAULT, ORACLE) else asdict(result.compare(DEFAULT, arm)),
            }
            for arm in arms
        },
        "rescues": rescues,
        "regressions": regressions,
        "safety_multiple": rescues / regressions if regressions else None,
        "oracle_gap_closed": (accuracy[DEFAULT] - accuracy[SINGLE]) / gap if gap > 0 else None,
        "detectable": minimum_detectable(
            result.questions // 2, rescues + regressions or 1 / result.questions
        ),
        "calls": result.calls,
        "ece": {"raw": result.ece[0], "calibrated": result.ece[1]},
        "brier": {"raw": result.brier[0], "calibrated": result.brier[1]},
    }


def render(result: Replay) -> str:
    """The comparison as plain text, in percent and points."""
    values = document(result)
    lines = [
        f"{values['questions']} questions, {len(values['models'])} models; "
        f"{values['splits']} splits, held-out halves",
        f"best single: {_counts(values['best_single'])}    default rule: {_counts(values['default_rule'])}",
        "",
        f"{'accuracy %':<26}{'':>6}   default rule minus it, points [95 % interval]",
    ]
    for arm, figures in values["arms"].items():
        less = figures["default_less_it"]
        lines.append(f"{arm:<26}{100 * figures['accuracy']:>6.2f}   {_points(less) if less else ''}".rstrip())
    multiple, gap = values["safety_multiple"], values["oracle_gap_closed"]
    ece, brier = values["ece"], values["brier"]
    lines += [
        "",
        f"against the best single: rescues {100 * values['rescues']:.2f} %, "
        f"regressions {100 * values['regressions']:.2f} %, "
        f"safety multiple {'no regressions' if multiple is None else f'{multiple:.2f}'}, "
        f"oracle gap closed {'none' if gap is None else f'{gap:.0%}'}",
        "smallest difference that one half detects four times in five: "
        f"{100 * values['detectable']:.2f} points",
        f"calls when asked one by one: {values['calls']:.2f} of {len(values['models'])}",
        _errors(ece, brier),
    ]
    return "\n".join(lines)


def _errors(ece: Mapping[str, float | None], brier: Mapping[str, float | None]) -> str:
    line = f"posterior: ECE {100 * (ece['raw'] or 0):.2f} %, Brier {brier['raw']:.4f}; confidence: "
    if ece["calibrated"] is None:
        return f"{line}not calibrated, which takes {ENOUGH} outcomes"
    return f"{line}ECE {100 * ece['calibrated']:.2f} %, Brier {brier['calibrated']:.4f}"


def _counts(names: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({n})" for name, n in names.items())


def _points(interval: Mapping[str, float]) -> str:
    mean, low, high = (100 * interval[name] for name in ("mean", "low", "high"))
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
