"""What live votes learn about models, and the gain from it, on recorded answers.

    .venv/bin/python -m benchmarks.learning FILE -m MODEL -m MODEL … [--where COLUMN=VALUE]

Votes ask the strongest model first, each question is judged, and its result weights the next vote. Compares
three ways to learn: every vote asks all models; strongest-first votes count for learning too; and that of
pnyx, where one vote in `FULL_POLL_EVERY` asks all models, and only these votes count for learning.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from pnyx.core.voting.stopping import FULL_POLL_EVERY
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.stopping import is_settled
from pnyx.reliability.weights import Weights, choose, equal, learn

TESTED = 2000
EVERY = 10
"""Questions between two updates of the weights."""


def vote(weights: Weights, question: AnsweredQuestion) -> AnsweredQuestion:
    """The question with the answers of models asked one by one until it is settled."""
    votes, answers = weights.of(), dict[str, str | None]()
    waiting = sorted(weights.models, key=lambda model: -votes[model])
    partial = replace(question, answers=answers)
    while not is_settled(weights, partial, waiting):
        model = waiting.pop(0)
        answers[model] = question.answers[model]
    return partial


def live(
    questions: Sequence[AnsweredQuestion], models: Sequence[str], whole: float, biased: bool
) -> tuple[Weights, float]:
    """The weights after `questions`, and the calls per question.

    whole: the share of questions that all models are asked. biased: learn from the other questions too.
    """
    rng, weights, history, calls = random.Random(0), equal(models), list[AnsweredQuestion](), 0
    for n, question in enumerate(questions):
        ask_all = weights.rule == "equal" or rng.random() < whole
        answered = question if ask_all else vote(weights, question)
        calls += len(answered.answers)
        if ask_all or biased:
            history.append(answered)
        if len(history) < 4 * EVERY or n % EVERY == 0:
            weights = learn(history, models)
    return learn(history, models), calls / len(questions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("-m", "--model", action="append", default=[])
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE")
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--splits", type=int, default=4)
    args = parser.parse_args()
    where = dict(one.split("=", 1) for one in args.where)
    # A live run knows neither category nor number of options.
    all_ = [replace(q, options=None, category=None) for q in read_recorded(args.file, args.model, where)]
    models = args.model or list(all_[0].answers)
    ways = {
        "all asked": (1.0, False),
        "strongest first": (0.0, True),
        f"one in {FULL_POLL_EVERY}": (1 / FULL_POLL_EVERY, False),
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    majority = []
    for seed in range(args.splits):
        drawn = random.Random(seed).sample(all_, len(all_))
        train, test = drawn[: args.questions], drawn[args.questions :][:TESTED]
        majority.append(mean(choose(equal(models), q) == q.gold for q in test))
        for name, (whole, biased) in ways.items():
            weights, calls = live(train, models, whole, biased)
            votes = [vote(weights, q) for q in test]
            right = mean(choose(weights, q) == q.gold for q in votes)
            found[name].append((right, calls, mean(len(q.answers) for q in votes)))
    setup = f"{args.questions} judged questions, {args.splits} splits, {TESTED} others"
    print(f"{setup}; majority {mean(majority):.1%}")
    for name, rows in found.items():
        right, calls, later = map(mean, zip(*rows, strict=True))
        print(f"{name:16} right {right:.1%}; calls per question: {calls:.2f} learning, {later:.2f} after")


if __name__ == "__main__":
    main()
