"""Confidence after a few judged votes, of which the later ones asked the strongest models first.

    .venv/bin/python -m benchmarks.mixed_outcomes FOLDER [--panels N] [--splits N]

Panels of 3 to 6 models are drawn from the recording of MMLU-Pro (`benchmarks.recorded_panels`), with the
questions on which constants were chosen. The first ten votes ask all models, later ones the strongest first
until the vote is settled, but for one in eight; each is judged. Weights are learned every ten votes, and
every fifty from 100 on. Then the confidence of 2,500 votes without a judgement is rated, of either kind:
from the outcomes of that kind alone (`own`, null below 20), from all outcomes as if they were of one kind
(`together`), and as live runs have it (`live`). Means over panels and splits: expected calibration error in
points, log-loss, the width of intervals, and how many of the votes have a support whose share right, over
200 votes or more, lies in the 90 % interval.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log
from pathlib import Path
from statistics import fmean

from benchmarks.few_labels import Recording
from benchmarks.recorded_panels import MMLU
from pnyx.core.voting.stopping import ENOUGH_JUDGED, FULL_POLL_EVERY, MIN_ANSWERS, STRONGEST_FIRST, posterior
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.calibration import Calibration, Outcome, calibrate, ece
from pnyx.reliability.stopping import is_settled
from pnyx.reliability.weights import Weights, choose, equal, learn

OUTCOMES = (20, 40, 100, 300, 1000)
TESTED, GROUP = 2500, 150
ALL, FIRST = ("voting", "posterior"), (f"voting, {STRONGEST_FIRST}", f"posterior, {STRONGEST_FIRST}")
Kind = tuple[str, str]


def vote(weights: Weights, question: AnsweredQuestion, kind: Kind) -> Outcome | None:
    """Return the outcome of a vote, or None if nobody answered."""
    answers = dict(question.answers)
    if kind == FIRST:
        waiting = sorted(weights.models, key=lambda model: -weights.models[model])
        answers = {}
        while waiting and (
            len(answers) < MIN_ANSWERS or not is_settled(weights, AnsweredQuestion(answers), waiting)
        ):
            model = waiting.pop(0)
            answers[model] = question.answers[model]
    chosen = choose(weights, AnsweredQuestion(answers))
    if chosen is None:
        return None
    counts = Counter(answer for answer in answers.values() if answer is not None)
    raw = posterior({answer: float(n) for answer, n in counts.items()})[chosen]
    return Outcome(kind[0], raw, chosen == question.gold, tuple(sorted(weights.models)), kind[1])


def ways(outcomes: Sequence[Outcome], kind: Kind, panel: Sequence[str]) -> dict[str, Calibration]:
    """Return the calibrations to compare for votes of one kind."""
    own = [one for one in outcomes if (one.protocol, one.rule) == kind]
    together = [Outcome(kind[0], one.raw, one.right, one.panel, kind[1]) for one in outcomes]
    return {
        name: calibrate(some, panel)
        for name, some in (("own", own), ("together", together), ("live", outcomes))
    }


def rate(calibration: Calibration, tested: Sequence[Outcome]) -> tuple[float, float, float, float] | None:
    """Return ECE in points, log-loss, and of intervals the mean width and the share that holds.

    None without a confidence.
    """
    pairs, groups = [], defaultdict[float, list[tuple[float, float, bool]]](list)
    for one in tested:
        found = calibration.of(one.protocol, one.rule, one.raw)
        if found is None:
            return None
        pairs.append((found.confidence, one.right))
        groups[round(one.raw, 6)].append((found.low, found.high, one.right))
    loss = -fmean(log(confidence if right else 1 - confidence) for confidence, right in pairs)
    inside, width = list[bool](), list[float]()
    for group in groups.values():
        if len(group) >= GROUP:
            low, high, right = (fmean(one[place] for one in group) for place in range(3))
            inside += [low <= right <= high] * len(group)
            width += [high - low] * len(group)
    return 100 * ece(pairs), loss, fmean(width), fmean(inside)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--panels", type=int, default=8, metavar="N")
    parser.add_argument("--splits", type=int, default=2, metavar="N")
    args = parser.parse_args()
    recording, rng = Recording(MMLU, args.folder), random.Random(77)
    found = defaultdict[tuple[int, str, str], list[tuple[float, float, float, float]]](list)
    for _ in range(args.panels):
        models = tuple(rng.sample(recording.models, rng.randint(3, 6)))
        questions = recording.questions(models, True)
        for split in range(args.splits):
            chance = random.Random(split)
            drawn = chance.sample(questions, max(OUTCOMES) + TESTED)
            tested, weights = drawn[max(OUTCOMES) :], equal(models)
            judged, outcomes = list[AnsweredQuestion](), list[Outcome]()
            for n, question in enumerate(drawn[: max(OUTCOMES)], 1):
                asks_all = len(judged) < ENOUGH_JUDGED or chance.randrange(FULL_POLL_EVERY) == 0
                judged += [question] * asks_all
                if (outcome := vote(weights, question, ALL if asks_all else FIRST)) is not None:
                    outcomes.append(outcome)
                if n % 10 == 0 and (n <= 100 or n % 50 == 0):
                    weights = learn(judged, models)
                if n in OUTCOMES:
                    for kind in (ALL, FIRST):
                        votes = [one for q in tested if (one := vote(weights, q, kind)) is not None]
                        for name, calibration in ways(outcomes, kind, models).items():
                            if (figures := rate(calibration, votes)) is not None:
                                found[n, kind[0], name].append(figures)
    print("| outcomes | votes | calibrated on | runs with a confidence | ECE | log-loss | width | holds |")
    print("|---|---|---|---|---|---|---|---|")
    for (n, kind, name), rows in sorted(found.items()):
        error, loss, width, inside = (fmean(column) for column in zip(*rows, strict=True))
        whole = args.panels * args.splits
        figures = f"{error:.1f} | {loss:.3f} | {width:.2f} | {inside:.0%}"
        print(f"| {n} | {kind} | {name} | {len(rows)} of {whole} | {figures} |")


if __name__ == "__main__":
    main()
