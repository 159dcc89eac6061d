"""The default rule against majority and the best single model, over many draws of labelled questions.

    .venv/bin/python -m benchmarks.label_draws [FOLDER] [--draws N] [--panel NAME …] [--development]

Without FOLDER, on simulated panels: three to six models, alike or with one ahead, of several families, with
errors in common. With it, on panels of the recordings of `benchmarks.few_labels`: those of `recorded_panels`,
others drawn at random, and some with a dominant model. Constants were set on the questions for development.

Each draw labels questions at random, and the rule is graded on all others, without categories and options.
The fits of all draws are made at once in numpy; `--check` compares some with `learn`. Majority: ties go to
the model that is listed first, in each of three orders. Best: the model that is best on all questions, which
nobody knows before. Intervals are over draws, since the questions are all that were recorded.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.few_labels import Recording, Table
from benchmarks.recorded_panels import GSM8K, MMLU, PANELS
from pnyx.reliability.accuracy import OPEN_OPTIONS, PAIRS, AnsweredQuestion, shrunk
from pnyx.reliability.leads import is_lead
from pnyx.reliability.scorer import COMMON, DIGITS, SPREADS
from pnyx.reliability.ties import settled
from pnyx.reliability.weights import DEPENDENCE, LEAST, learn

LABELS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**6)
AHEAD = 0.01
"""A model is dominant if a majority with the strongest listed first is as far below it."""
PATTERNS = 800
"""Panels with more patterns of answers are left out: their fits take longest, and change least."""
Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Cases:
    """The questions of a panel as patterns of answers with counts.

    slots: pattern, model -> number of its answer, -1 for none. gold: that of the right answer, or -1.
    """

    def __init__(self, slots: Numbers, gold: Numbers) -> None:
        rows = []
        for given, right in zip(slots.tolist(), gold.tolist(), strict=True):
            seen: dict[int, int] = {}
            rows.append([-1 if s < 0 else seen.setdefault(s, len(seen)) for s in given])
            rows[-1].append(seen.get(right, -1))
        found = np.unique(np.array(rows), axis=0, return_inverse=True, return_counts=True)
        patterns, self.place, self.count = found[0], found[1].reshape(-1), found[2]
        self.slots, self.gold = patterns[:, :-1], patterns[:, -1]
        self.models, self.total = slots.shape[1], len(slots)
        slot = np.arange(self.models)
        self.votes = (self.slots[:, None, :] == slot[None, :, None]).astype(float)
        self.used = self.votes.any(axis=2)
        self.given = (self.slots >= 0).astype(float)
        self.right = ((self.slots == self.gold[:, None]) & (self.slots >= 0)).astype(float)
        sizes = self.votes.sum(axis=2)
        sizes[np.arange(len(sizes)), np.maximum(self.gold, 0)] *= self.gold < 0
        self.pairs = sizes.sum(axis=1) * (sizes.sum(axis=1) - 1) / 2
        self.alike = (sizes * (sizes - 1) / 2).sum(axis=1)
        self.accuracies = self.count @ self.right / self.total

    def draw(self, labels: int, draws: int) -> Array:
        """Return draw, pattern -> number of labelled questions."""
        rng = np.random.default_rng((2026, labels))
        out = np.zeros((draws, len(self.gold)))
        for row in out:
            drawn = rng.choice(self.total, labels, replace=False)
            row[:] = np.bincount(self.place[drawn], minlength=len(row))
        return out

    def is_right(self, votes: Array, order: Numbers) -> NDArray[np.bool_]:
        """Return draw, pattern -> whether the vote is right. Ties go to the model listed first in `order`."""
        first = np.zeros_like(votes)
        places = 1e-7 * 0.5 ** np.arange(self.models)
        np.put_along_axis(first, order, np.broadcast_to(places, votes.shape), axis=1)
        votes = np.where(votes.max(axis=1, keepdims=True) > 0, votes, 1.0) + first
        sums = np.einsum("dm,pgm->dpg", votes, self.votes)
        return np.asarray(np.where(self.used, sums, -1.0).argmax(axis=2) == self.gold)

    def accuracy(self, votes: Array, order: Numbers, known: Array) -> Array:
        """Return draw -> share right of the questions without a label; `order` as in `is_right`."""
        rest = self.count - known
        return np.asarray((self.is_right(votes, order) * rest).sum(axis=1) / rest.sum(axis=1))


@dataclass(slots=True)
class Posterior:
    """mean: draw, model. covariance: draw, model, model. labels: draw, model -> labelled answers.

    cases: the panel. known: draw, pattern -> labelled questions.
    """

    mean: Array
    covariance: Array
    labels: Numbers
    cases: Cases
    known: Array

    def votes(self, order: Numbers) -> Array:
        """Return draw, model -> weight, with the models listed in `order` (draw, place)."""
        out = np.maximum(np.round(self.mean, DIGITS), 0.0)
        followed = self.followed(out, order)
        for draw in np.flatnonzero(~followed):
            listed = order[draw]
            covariance = self.covariance[draw][np.ix_(listed, listed)]
            found = settled(
                self.mean[draw][listed].tolist(), covariance.tolist(), self.labels[draw][listed].tolist()
            )
            out[draw][listed] = np.maximum(np.round(found, DIGITS), 0.0)
        return out

    def followed(self, votes: Array, order: Numbers) -> NDArray[np.bool_]:
        """Return draw -> whether `votes` were right clearly more often than the majority."""
        one = self.cases.is_right(votes, order)
        two = self.cases.is_right(np.ones_like(votes), order)
        wins, losses = ((self.known * (a & ~b)).sum(axis=1) for a, b in ((one, two), (two, one)))
        totals = self.known.sum(axis=1)
        pairs = zip(wins, losses, totals, strict=True)
        return np.array([is_lead(round(a), round(b), round(n)) for a, b, n in pairs])


def posterior(cases: Cases, known: Array) -> Posterior:
    """Return the posterior of the weights by draw: `scorer.fit_votes`, before differences settle."""
    right, given = known @ cases.right, known @ cases.given
    options = np.maximum(
        OPEN_OPTIONS, 1 + (PAIRS + known @ cases.pairs) / (PAIRS / (OPEN_OPTIONS - 1) + known @ cases.alike)
    )
    means = np.array([_mean(*row) for row in zip(right, given, options, strict=True)])
    likely, modes, covariances = [], [], []
    start = np.repeat(means[:, None], cases.models, axis=1)
    for spread, plausible in SPREADS.items():
        mode, covariance, evidence = _fit(cases, known, means, options, spread, start)
        start = mode
        likely.append(log(plausible) + evidence)
        modes.append(mode)
        covariances.append(covariance)
    shares = np.exp(np.array(likely) - np.max(likely, axis=0))
    shares /= shares.sum(axis=0)
    mean = np.einsum("kd,kdi->di", shares, modes)
    square = np.array(covariances) + np.einsum("kdi,kdj->kdij", modes, modes)
    second = np.einsum("kd,kdij->dij", shares, square)
    covariance = second - np.einsum("di,dj->dij", mean, mean)
    return Posterior(mean, covariance, given.astype(int), cases, known)


def _mean(right: Array, given: Array, options: float) -> float:
    """Return the prior mean weight of a draw, as `learn` has it."""
    known = shrunk(right.tolist(), given.tolist())
    p = sum(known) / len(known)
    return max(LEAST, DEPENDENCE * max(0.0, log(p * (options - 1) / (1 - p))))


def _fit(
    cases: Cases, known: Array, means: Array, options: Array, spread: float, start: Array
) -> tuple[Array, Array, Array]:
    """Return mode, covariance and log-evidence for each draw: `scorer._posterior` by Newton's method."""
    live = known.sum(axis=0) > 0
    counts, votes, slots, gold = known[:, live], cases.votes[live], cases.slots[live], cases.gold[live]
    used, size = cases.used[live], cases.models
    same = ((slots[:, :, None] == slots[:, None, :]) & (slots >= 0)[:, :, None]).astype(float)
    none = np.maximum(options[:, None] - used.sum(axis=1), 1.0)
    across, along = spread**-2, 1 / (spread**2 + size * COMMON**2)
    precision = across * np.eye(size) + (along - across) / size
    rows, found = np.arange(len(gold)), gold >= 0
    golden = counts @ (votes[rows, np.maximum(gold, 0)] * found[:, None])
    spots, given = (rows[:, None], np.maximum(slots, 0)), slots >= 0

    def value(weights: Array) -> tuple[Array, Array]:
        """Log-posterior up to a constant, and the share of each answer."""
        sums = np.where(used, np.einsum("dm,pgm->dpg", weights, votes), -np.inf)
        top = np.maximum(sums.max(axis=2), 0.0)
        odds, rest = np.exp(sums - top[..., None]), np.exp(-top)
        whole = odds.sum(axis=2) + none * rest
        score = np.where(found, np.where(used, sums, 0.0)[:, rows, np.maximum(gold, 0)], 0.0)
        apart = weights - means[:, None]
        pull = np.einsum("di,ij,dj->d", apart, precision, apart) / 2
        return (counts * (score - top - np.log(whole))).sum(axis=1) - pull, odds / whole[..., None]

    weights, hessian = start.copy(), np.zeros((len(known), size, size))
    height, shares = value(weights)
    for _ in range(60):
        cast = shares[:, spots[0], spots[1]] * given
        pulled = counts[..., None] * cast
        gradient = golden - pulled.sum(axis=1) - (weights - means[:, None]) @ precision
        hessian = np.einsum("dpi,pij->dij", pulled, same) - np.einsum("dpi,dpj->dij", pulled, cast)
        hessian += precision
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        if np.abs(step).max() < 1e-8:
            break
        scale = np.ones(len(known))
        for _ in range(30):
            new, shares = value(weights + scale[:, None] * step)
            if (new >= height - 1e-12).all():
                break
            scale = np.where(new < height - 1e-12, scale / 2, scale)
        weights, height = weights + scale[:, None] * step, new
    determinant = (size - 1) * log(across) + log(along) - np.linalg.slogdet(hessian)[1]
    return weights, np.linalg.inv(hessian), height + determinant / 2


def simulated(count: int = 16, questions: int = 10_000) -> Iterator[tuple[str, Cases]]:
    """Panels with errors in common: of families, on hard questions, and on popular wrong answers."""
    for n in range(count):
        rng = np.random.default_rng((26, n))
        size, options = int(rng.integers(3, 7)), int(rng.choice([4, 5, 10, 20]))
        level = rng.uniform(-1.0, 2.0)
        skill = level + rng.choice([0.0, 0.2, 0.5, 1.0]) * rng.standard_normal(size)
        if n % 3 == 0:
            skill = level - 0.5 + 0.15 * rng.standard_normal(size)
            skill[0] = level + rng.uniform(0.3, 1.0)
        family = rng.integers(0, max(2, size // 2 + 1), size) if rng.random() < 0.6 else np.arange(size)
        common, shape = rng.uniform(0.2, 0.8), (questions, size)
        hard = rng.uniform(0.5, 2.0) * rng.standard_normal((questions, 1))
        luck = common**0.5 * rng.standard_normal(shape)[:, family]
        luck += (1 - common) ** 0.5 * rng.standard_normal(shape)
        right = skill - hard + 1.5 * luck > 0
        popular = rng.dirichlet(np.full(options - 1, rng.choice([0.2, 1.0, 5.0])), questions).cumsum(axis=1)
        drawn = np.where(rng.random(shape) < common, rng.random(shape)[:, family], rng.random(shape))
        wrong = 1 + (drawn[:, :, None] > popular[:, None, :]).sum(axis=2).clip(0, options - 2)
        slots = np.where(rng.random(shape) < 0.02, -1, np.where(right, 0, wrong))
        yield f"simulated {n + 1}", Cases(slots, np.zeros(questions, dtype=np.int64))


def recorded(folder: Path, development: bool) -> Iterator[tuple[str, Cases]]:
    """The panels of `recorded_panels`, and panels drawn at random, others than in `few_labels`."""
    recordings = {name: Recording(name, folder) for name in (MMLU, GSM8K)}
    rng = random.Random(7 if development else 8)

    def cases(name: str, models: Sequence[str]) -> Cases:
        table = Table(recordings[name].questions(models, development), models)
        return Cases(table.slots, table.gold)

    for panel in PANELS:
        if panel.models:
            yield panel.name, cases(panel.recording, panel.models)
    for n in range(20):
        name = GSM8K if n % 4 == 3 else MMLU
        models = tuple(rng.sample(recordings[name].models, rng.randint(3, 7)))
        yield f"random {n + 1}", cases(name, models)
    found = 0
    while found < 8:
        one = cases(MMLU, tuple(rng.sample(recordings[MMLU].models, rng.randint(3, 6))))
        second, best = np.sort(one.accuracies)[-2:]
        if best - second >= 0.08:
            found += 1
            yield f"one ahead {found}", one


ORDERS = ("strongest first", "any order", "weakest first")


def measure(cases: Cases, draws: int) -> Iterator[tuple[int, str, Array, Array]]:
    """Yield labels, order, and by draw the rule minus majority and minus the best single model."""
    strongest = np.argsort(-cases.accuracies)
    rng = np.random.default_rng(5)
    mixed = np.array([rng.permutation(cases.models) for _ in range(draws)])
    orders = (strongest, mixed, strongest[::-1])
    for labels in LABELS:
        half = cases.total // 2
        if half < labels < LABELS[-1]:
            continue
        known = cases.draw(min(labels, half), draws)
        found, rest = posterior(cases, known), cases.count - known
        best = (cases.right[:, strongest[0]] * rest).sum(axis=1) / rest.sum(axis=1)
        for name, listed in zip(ORDERS, orders, strict=True):
            order = np.broadcast_to(listed, mixed.shape)
            rule = cases.accuracy(found.votes(order), order, known)
            majority = cases.accuracy(np.ones(mixed.shape), order, known)
            yield labels, name, 100 * (rule - majority), 100 * (rule - best)


Leads = dict[str, Array]


def report(majority: Mapping[tuple[int, str], Leads], best: Mapping[tuple[int, str], Leads]) -> Iterator[str]:
    """Lines of the table: mean over panels, and the least lead of a panel with its 95 % interval."""
    yield "| labels | order | minus majority: mean, least (panel) | minus best single, where it dominates |"
    yield "|---|---|---|---|"
    for labels, order in majority:
        cells = [str(labels) if labels < LABELS[-1] else "half", order]
        for leads in (majority[labels, order], best.get((labels, order), {})):
            if not leads:
                cells.append("")
                continue
            least = min(leads, key=lambda name: leads[name].mean())
            error = 1.96 * leads[least].std(ddof=1) / len(leads[least]) ** 0.5
            mean = np.mean([lead.mean() for lead in leads.values()])
            cells.append(f"{mean:+.2f}, {leads[least].mean():+.2f} ± {error:.2f} ({least})")
        yield "| " + " | ".join(cells) + " |"


def check(cases: Cases) -> float:
    """Return the largest difference of a weight from `learn`, over some draws."""
    names, worst = [str(i) for i in range(cases.models)], 0.0
    order = np.arange(cases.models)
    for labels in (5, 50):
        known = cases.draw(labels, 4)
        votes = posterior(cases, known).votes(np.broadcast_to(order, (4, cases.models)))
        for row, counts in zip(votes, known.astype(int), strict=True):
            rows = [
                AnsweredQuestion(
                    {m: None if s < 0 else str(s) for m, s in zip(names, slots, strict=True)}, str(gold)
                )
                for slots, gold, n in zip(cases.slots, cases.gold, counts, strict=True)
                for _ in range(n)
            ]
            found = learn(rows, names).models
            if not row.any():  # No model was right more often than by chance.
                row += LEAST
            worst = max(worst, *(abs(row[i] - found[m]) for i, m in enumerate(names)))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    parser.add_argument("--draws", type=int, default=200, metavar="N", help="draws of labels (default 200)")
    parser.add_argument("--panel", action="append", metavar="NAME", help="only this panel; repeatable")
    parser.add_argument("--development", action="store_true", help="use the questions for development")
    parser.add_argument("--check", action="store_true", help="compare some weights with `learn`, and stop")
    args = parser.parse_args()
    majority: dict[tuple[int, str], Leads] = {}
    best: dict[tuple[int, str], Leads] = {}
    for name, cases in recorded(args.folder, args.development) if args.folder else simulated():
        if (args.panel and name not in args.panel) or len(cases.gold) > PATTERNS:
            continue
        if args.check:
            print(f"{name}: {check(cases):.1e}", flush=True)
            continue
        shares = " ".join(f"{100 * p:.0f}" for p in np.sort(cases.accuracies)[::-1])
        print(f"{name}: {shares} % of {cases.total:,} questions", flush=True)
        order = np.argsort(-cases.accuracies)[None, :]
        equal = cases.accuracy(np.ones(order.shape), order, np.zeros((1, len(cases.gold))))[0]
        dominated = cases.accuracies.max() - equal >= AHEAD
        for labels, listed, lead, over in measure(cases, args.draws):
            majority.setdefault((labels, listed), {})[name] = lead
            if dominated:
                best.setdefault((labels, listed), {})[name] = over
    for line in report(majority, best):
        print(line)


if __name__ == "__main__":
    main()
