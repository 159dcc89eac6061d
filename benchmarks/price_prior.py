"""Whether prices say which models are right: votes weighed by price, with few labels, on recorded answers.

    .venv/bin/python -m benchmarks.price_prior FOLDER [--panels N] [--splits N]

FOLDER has the recordings of `benchmarks.recorded_panels`; prices are those of `benchmarks.escalation`.
Panels of three to six priced models are drawn from each recording. The weight of a model is the learned one,
times 1 + SLOPE * 20 / (20 + labels) * its place among the log prices of the panel (-1 to 1). Slope 0 is the
default rule, with the dearest model first, as in live runs; the least slope only breaks ties. Prints, for
each recording and number of labels, the lead over slope 0 in points: the mean over panels, the worst panel,
and the same where a majority is a point or more below the best model. The slope that did best on the
questions for development of the other recording is marked: what could be chosen without the reported ones.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from dataclasses import replace
from math import log
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.escalation import ASSUMED, PRICES, prices
from benchmarks.few_labels import Recording, Table
from benchmarks.recorded_panels import GSM8K, MMLU
from pnyx.reliability.weights import Weights, equal, learn

SLOPES = (0.0, 0.01, 0.25, 0.5, 0.75, 1.0)
LABELS = (0, 10, 20)
HALF = 20
"""Labels at which a price counts half."""
LOSS = 0.3
"""Points below slope 0 on a panel that a slope may lose to be chosen."""

Leads = dict[tuple[int, float], list[tuple[float, float]]]
"""(labels, slope) -> for each panel, its lead over slope 0, and that of the best model over a majority."""


def drawn(recording: Recording, count: int, seed: int) -> list[tuple[str, ...]]:
    priced = [model for model in recording.models if model in PRICES or model in ASSUMED]
    chance, found = random.Random(seed), list[tuple[str, ...]]()
    while len(found) < count:
        panel = chance.sample(priced, chance.randint(3, min(6, len(priced))))
        found.append(tuple(sorted(panel, key=lambda m: -prices(m)[1])))
    return found


def weighed(weights: Weights, models: tuple[str, ...], slope: float, labels: int) -> Weights:
    logs = {model: log(prices(model)[1]) for model in models}
    middle, spread = (max(logs.values()) + min(logs.values())) / 2, max(logs.values()) - min(logs.values())
    pull = slope * HALF / (HALF + labels)
    places = {m: 2 * (logs[m] - middle) / spread if spread else 0.0 for m in models}
    votes = {m: max(0.0, weights.models[m] * (1 + pull * places[m])) for m in models}
    # The order breaks ties: by weight, then by price.
    return replace(weights, models=dict(sorted(votes.items(), key=lambda one: -one[1])))


def leads(recording: Recording, count: int, splits: int, development: bool) -> Leads:
    found: Leads = defaultdict(list)
    for number, models in enumerate(drawn(recording, count, 1 if development else 2)):
        table = Table(recording.questions(models, development), models)
        sums = defaultdict[tuple[int, float], float](float)
        for split in range(splits):
            order = np.random.default_rng((number, split)).permutation(len(table.questions))
            test, known = order[len(order) // 2 :], order[: len(order) // 2]
            for n in LABELS:
                learned = learn([table.questions[i] for i in known[:n]], models) if n else equal(models)
                for slope in SLOPES:
                    right = table.grade(weighed(learned, models, slope, n), test).mean()
                    sums[n, slope] += 100 * float(right) / splits
        ahead = 100 * float(table.right.mean(axis=0).max()) - sums[0, 0.0]
        for (n, slope), share in sums.items():
            found[n, slope].append((share - sums[n, 0.0], ahead))
    return found


def chosen(found: Leads) -> float:
    """The slope with the largest mean lead without labels that loses no more than `LOSS` on any panel."""
    fair = [s for s in SLOPES if min(lead for lead, _ in found[0, s]) >= -LOSS]
    return max(fair, key=lambda s: fmean(lead for lead, _ in found[0, s]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--panels", type=int, default=20, metavar="N")
    parser.add_argument("--splits", type=int, default=6, metavar="N")
    args = parser.parse_args()
    recordings = {name: Recording(name, args.folder) for name in (MMLU, GSM8K)}
    best = {
        name: chosen(leads(one, args.panels, args.splits, development=True))
        for name, one in recordings.items()
    }
    print("| recording | labels | slope | mean | worst panel | dominant: mean | worst |")
    print("|---|---|---|---|---|---|---|")
    for name, other in ((MMLU, GSM8K), (GSM8K, MMLU)):
        found = leads(recordings[name], args.panels, args.splits, development=False)
        for (n, slope), panels in sorted(found.items()):
            if not slope:
                continue
            every, ahead = [lead for lead, _ in panels], [lead for lead, a in panels if a >= 1]
            cells = [f"{fmean(every):+.2f}", f"{min(every):+.2f}"]
            cells += [f"{fmean(ahead):+.2f} of {len(ahead)}", f"{min(ahead):+.2f}"] if ahead else ["", ""]
            mark = " (chosen)" if slope == best[other] else ""
            print(f"| {name.partition('_')[0]} | {n} | {slope:g}{mark} | {' | '.join(cells)} |", flush=True)
    print(f"\nChosen on {', '.join(f'{name}: {slope:g}' for name, slope in best.items())}")


if __name__ == "__main__":
    main()
