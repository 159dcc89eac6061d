"""Replay of recorded answers: each voting rule learned on one half of them and judged on the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

from ...errors import UsageError
from ...reliability.accuracy import AnsweredQuestion, labelled_accuracies, log_odds, mean_options, one_coin
from ...reliability.calibration import Outcome, brier, calibrate, ece
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
    """What the splits came to. A trial is a question in a split that held it out.

    trials: the place of each trial's question. right: arm -> whether it was right, by trial. rules: how often
    the default rule came out as what. singles: how often which model was the best of a learning half. calls:
    models asked a question until it was settled. ece, brier: of the default rule's confidence, raw and
    calibrated, means over splits.
    """

    questions: int
    models: tuple[str, ...]
    splits: int
    trials: list[int] = field(default_factory=list)
    right: dict[str, list[bool]] = field(default_factory=dict)
    rules: Counter[str] = field(default_factory=Counter)
    singles: Counter[str] = field(default_factory=Counter)
    calls: float = 0.0
    ece: tuple[float, float] = (0.0, 0.0)
    brier: tuple[float, float] = (0.0, 0.0)

    def accuracy(self, arm: str) -> float:
        """The share of trials in which `arm` was right."""
        return sum(self.right[arm]) / len(self.trials)

    def compare(self, arm: str, to: str) -> Interval:
        """The accuracy of `arm` less that of `to`, with the bootstrap interval over questions.

        The trials of a question are drawn together: only questions are independent of each other.
        """
        sums: dict[int, list[int]] = {}
        for place, ours, theirs in zip(self.trials, self.right[arm], self.right[to], strict=True):
            sums.setdefault(place, []).append(ours - theirs)
        return paired_bootstrap([sum(each) for each in sums.values()], [len(each) for each in sums.values()])

    def changes(self, arm: str, to: str) -> tuple[float, float]:
        """The shares of trials that only `arm` had right (rescues), and that only `to` had (regressions)."""
        pairs = list(zip(self.right[arm], self.right[to], strict=True))
        return pairs.count((True, False)) / len(pairs), pairs.count((False, True)) / len(pairs)


def replay(
    questions: Sequence[AnsweredQuestion], *, splits: int = 20, seed: int = 0, labels: int | None = None
) -> Replay:
    """Halve `questions` at random `splits` times; learn each rule on one half and judge it on the other.

    labels: of how many questions of a learning half the truth is known to the rules; None for all of them.
    Every question needs its gold answer and an answer, or an abstention, of the same models. Raises
    `UsageError` for fewer than four questions or two models, and for no split or no label.
    """
    models = tuple(questions[0].answers) if questions else ()
    if len(questions) < 4 or len(models) < 2 or splits < 1 or (labels is not None and labels < 1):
        raise UsageError("a comparison needs four questions, two models, a split and a label at the least")
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
        for arm, rule in _arms(train, models, weights, out.singles):
            out.right.setdefault(arm, []).extend(rule(q) == q.gold for q in test)
        stopped = [_stopped(weights, q) for q in test]
        out.right.setdefault(STOPPED, []).extend(right for right, _ in stopped)
        out.calls += sum(calls for _, calls in stopped) / len(test) / splits
        before, after = _confidence(weights, _taught(weights, train, models), test)
        out.ece = (out.ece[0] + ece(before) / splits, out.ece[1] + ece(after) / splits)
        out.brier = (out.brier[0] + brier(before) / splits, out.brier[1] + brier(after) / splits)
    return out


def _arms(
    train: Sequence[AnsweredQuestion], models: Sequence[str], weights: Weights, singles: Counter[str]
) -> Iterator[tuple[str, Rule]]:
    """The rules, each learned on `train`. Ties go to the model that was best there."""
    options = mean_options(train)
    right = Counter(m for q in train for m, answer in q.answers.items() if answer == q.gold is not None)
    ranked = sorted(models, key=lambda m: -right[m])
    singles[ranked[0]] += 1
    yield SINGLE, lambda q: q.answers[ranked[0]]
    yield MAJORITY, _by(equal(ranked))
    labels, agreement = labelled_accuracies(train, ranked), one_coin(train, ranked, options)
    yield LABELS, _by(Weights("", 0, {m: log_odds(p, options) for m, p in labels.items()}))
    yield AGREEMENT, _by(Weights("", 0, {m: log_odds(p, options) for m, p in agreement.items()}))
    yield DEFAULT, _by(weights)
    yield ORACLE, lambda q: q.gold if q.gold in q.answers.values() else None


def _by(weights: Weights) -> Rule:
    return lambda question: choose(weights, question)


def _stopped(weights: Weights, question: AnsweredQuestion) -> tuple[bool, int]:
    """Whether the answer is right when models are asked one by one until it is settled, and how many were."""
    votes, said = weights.of(question.category), dict[str, str | None]()
    waiting = sorted(weights.models, key=lambda m: votes[m], reverse=True)
    heard = replace(question, answers=said)
    while not is_settled(weights, heard, waiting):
        model = waiting.pop(0)
        said[model] = question.answers[model]
    return choose(weights, heard) == question.gold, len(said)


INNER = 5
"""Parts of a learning half of which the others teach what confidence is worth in each."""


def _taught(weights: Weights, train: Sequence[AnsweredQuestion], models: Sequence[str]) -> list[Outcome]:
    """How sure the default rule was of questions that it had not seen, and whether it was right.

    Of those that its weights were fitted to it is surer than of any other. But where a part of them is too
    little for the rule, another rule says nothing of how sure this one is.
    """
    found = []
    for part in range(INNER):
        inner = learn([q for n, q in enumerate(train) if n % INNER != part], models)
        used = inner if inner.rule == weights.rule else weights
        found += [Outcome("replay", *_sure(used, q)) for q in train[part::INNER] if q.gold is not None]
    return found


def _confidence(
    weights: Weights, taught: Sequence[Outcome], test: Sequence[AnsweredQuestion]
) -> tuple[list[tuple[float, bool]], list[tuple[float, bool]]]:
    """The default rule's confidence and whether it was right: raw, and calibrated on `taught`."""
    curve = calibrate(taught)
    raw = [_sure(weights, q) for q in test]
    return raw, [(told.confidence, right) for sure, right in raw if (told := curve.of("replay", sure))]


def _sure(weights: Weights, question: AnsweredQuestion) -> tuple[float, bool]:
    answer = choose(weights, question)
    return posterior(weights, question).get(answer or "", 0.0), answer == question.gold


def document(result: Replay) -> dict[str, Any]:
    """The comparison as plain values; shares and differences are fractions of 1, absent is None.

    arms: for each its accuracy, and how much better the default rule was (mean, low, high).
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
    told = document(result)
    lines = [
        f"{told['questions']} questions, {len(told['models'])} models; "
        f"{told['splits']} splits, held-out halves",
        f"best single: {_counts(told['best_single'])}    default rule: {_counts(told['default_rule'])}",
        "",
        f"{'accuracy %':<26}{'':>6}   default rule less it, points [95 % interval]",
    ]
    for arm, figures in told["arms"].items():
        less = figures["default_less_it"]
        lines.append(f"{arm:<26}{100 * figures['accuracy']:>6.2f}   {_points(less) if less else ''}".rstrip())
    multiple, gap = told["safety_multiple"], told["oracle_gap_closed"]
    ece, brier = told["ece"], told["brier"]
    lines += [
        "",
        f"against the best single: rescues {100 * told['rescues']:.2f} %, "
        f"regressions {100 * told['regressions']:.2f} %, "
        f"safety multiple {'no regressions' if multiple is None else f'{multiple:.2f}'}, "
        f"oracle gap closed {'none' if gap is None else f'{gap:.0%}'}",
        "smallest difference that one half shows in four of five times: "
        f"{100 * told['detectable']:.2f} points",
        f"asked one by one: {told['calls']:.2f} of {len(told['models'])} calls",
        f"confidence: ECE {100 * ece['raw']:.2f} % raw, {100 * ece['calibrated']:.2f} % calibrated; "
        f"Brier {brier['raw']:.4f} raw, {brier['calibrated']:.4f} calibrated",
    ]
    return "\n".join(lines)


def _counts(names: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({n})" for name, n in names.items())


def _points(interval: Mapping[str, float]) -> str:
    mean, low, high = (100 * interval[name] for name in ("mean", "low", "high"))
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
