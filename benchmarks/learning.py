"""What live votes learn of models, and what that is worth, on recorded answers.

    .venv/bin/python -m benchmarks.learning FILE -m MODEL -m MODEL … [--where COLUMN=VALUE]

Votes are asked for strongest first, each question is judged, and what is learned weighs the next one. Three
ways to learn: every vote asks everybody; votes asked for strongest first teach like all others; and what pnyx
does, one question of `FULL_POLL_EVERY` asked of everybody, and learned from alone.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from pnyx.core.stopping import FULL_POLL_EVERY
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.stopping import is_settled
from pnyx.reliability.weights import Weights, choose, equal, learn

TESTED = 2000
EVERY = 10
"""Questions between two looks at what was learned."""


def vote(weights: Weights, question: AnsweredQuestion) -> AnsweredQuestion:
    """The question as it is answered when models are asked one by one until it is settled."""
    votes, said = weights.of(), dict[str, str | None]()
    waiting = sorted(weights.models, key=lambda model: -votes[model])
    heard = replace(question, answers=said)
    while not is_settled(weights, heard, waiting):
        model = waiting.pop(0)
        said[model] = question.answers[model]
    return heard


def live(
    asked: Sequence[AnsweredQuestion], models: Sequence[str], whole: float, biased: bool
) -> tuple[Weights, float]:
    """The weights after `asked`, and the calls a question. whole: share of questions asked of everybody."""
    drawn, weights, history, calls = random.Random(0), equal(models), list[AnsweredQuestion](), 0
    for n, question in enumerate(asked):
        everybody = weights.rule == "equal" or drawn.random() < whole
        heard = question if everybody else vote(weights, question)
        calls += len(heard.answers)
        if everybody or biased:
            history.append(heard)
        if len(history) < 4 * EVERY or n % EVERY == 0:
            weights = learn(history, models)
    return learn(history, models), calls / len(asked)


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
        asked, test = drawn[: args.questions], drawn[args.questions :][:TESTED]
        majority.append(mean(choose(equal(models), q) == q.gold for q in test))
        for name, (whole, biased) in ways.items():
            weights, calls = live(asked, models, whole, biased)
            heard = [vote(weights, q) for q in test]
            right = mean(choose(weights, q) == q.gold for q in heard)
            found[name].append((right, calls, mean(len(q.answers) for q in heard)))
    told = f"{args.questions} judged questions, {args.splits} splits, {TESTED} others"
    print(f"{told}; majority {mean(majority):.1%}")
    for name, rows in found.items():
        right, calls, later = map(mean, zip(*rows, strict=True))
        print(f"{name:16} right {right:.1%}; calls a question {calls:.2f} while learning, {later:.2f} after")


if __name__ == "__main__":
    main()
