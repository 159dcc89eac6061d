"""What no rule can do with few labels: the least that must be lost beside a model that may be dominant.

    .venv/bin/python -m benchmarks.label_bound [--differ SHARE] [--decided SHARE]

Two panels give the same answers. On a share of the questions (`--differ`, default 0.3) the strongest model
contradicts a majority of the others, and on a share of those (`--decided`, default 0.75) one of the two is
right. In the first panel it is more often the model, in the second as much more often the majority. A rule
that knows both panels and all of this, but not which of them it has, sees n labels. All that they say is how
often the model won, so the best it can do is to follow the model from some number of wins on, drawn at random
between two neighbouring numbers. Its losses are computed exactly, for each gap of accuracies, and for the gap
that is worst. With limits of 0.3 points below the majority and 0.5 below the best single model, `times` says
by what factor at least one of them is exceeded by every rule, whatever it does: above 1 the two cannot both
hold.
"""

from __future__ import annotations

import argparse
from itertools import accumulate
from math import comb

BELOW_MAJORITY, BELOW_BEST = 0.3, 0.5
"""The limits, in points."""
LABELS = (5, 10, 20, 50, 100, 200, 300, 400, 500)


def chances(labels: int, differ: float, decided: float, gap: float) -> list[float]:
    """Return the probability of each number of wins minus losses of the model, from -labels to labels.

    gap: the accuracy of the model minus that of the majority.
    """
    win = (differ * decided + gap) / 2
    lose = (differ * decided - gap) / 2
    found = [0.0] * (2 * labels + 1)
    for seen in range(labels + 1):
        some = comb(labels, seen) * (win + lose) ** seen * (1 - win - lose) ** (labels - seen)
        if some < 1e-15:
            continue
        share = win / (win + lose)
        for wins in range(seen + 1):
            odds = comb(seen, wins) * share**wins * (1 - share) ** (seen - wins)
            found[labels + 2 * wins - seen] += some * odds
    return found


def least_excess(labels: int, differ: float, decided: float, gap: float) -> float:
    """Return the least factor by which a rule exceeds one of the limits, for accuracies `gap` apart.

    A rule follows the model with probability f if the model dominates, and w if the majority is better. Both
    are sums over the same numbers of wins; the best pairs lie on a line of straight pieces.
    """
    dominant = list(accumulate(reversed(chances(labels, differ, decided, gap)), initial=0.0))
    other = list(accumulate(reversed(chances(labels, differ, decided, -gap)), initial=0.0))
    points = 100 * gap
    before = (points / BELOW_BEST, 0.0)
    for f, w in zip(dominant, other, strict=True):
        missed, wrong = points * (1 - f) / BELOW_BEST, points * w / BELOW_MAJORITY
        if wrong >= missed:
            # The two are equal between this number of wins and the one before.
            fall, rise = before[0] - missed, wrong - before[1]
            part = (before[0] - before[1]) / (fall + rise) if fall + rise else 0.0
            return before[0] - part * fall
        before = missed, wrong
    return before[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--differ", type=float, default=0.3, metavar="SHARE")
    parser.add_argument("--decided", type=float, default=0.75, metavar="SHARE")
    args = parser.parse_args()
    most = args.differ * args.decided
    gaps = [most * k / 60 for k in range(1, 60)]
    print("| labels | worst gap, points | times | below majority or below best single, points |")
    print("|---|---|---|---|")
    for n in LABELS:
        times, gap = max((least_excess(n, args.differ, args.decided, gap), gap) for gap in gaps)
        losses = f"{BELOW_MAJORITY * times:.2f} or {BELOW_BEST * times:.2f}"
        print(f"| {n} | {100 * gap:.1f} | {times:.2f} | {losses} |", flush=True)


if __name__ == "__main__":
    main()
