"""Fits vote weights to labelled questions: which answer is right, given the models that gave it.

A conditional logit (McFadden 1974): the probability that an answer is right is proportional to the
exponential of the sum of its models' weights. Unlike log-odds, it accounts for models that err together: two
models of one family do not count twice, and a model far ahead of the others decides alone.

`fit_votes` shrinks the weights of a panel towards their mean. How much the models differ (the spread) is
estimated from the same labels by marginal likelihood (empirical Bayes, Efron & Morris 1973; Laplace
approximation, Tierney & Kadane 1986): few labels give nearly equal votes, many give each model its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, fsum, log, sqrt

from .accuracy import AnsweredQuestion, Groups, answer_groups
from .leads import Case, is_lead, lead
from .matrices import Matrix, cholesky, solve
from .ties import settled

__all__ = ["fit", "fit_category", "fit_votes", "labelled_cases"]

STEPS = 100
SMALL = 1e-8
CHORDS = 6
"""Steps with one Hessian before it is computed again."""
DIGITS = 6
"""Decimals of a fitted vote. Rounding errors must not break the tie of models with equal records."""
ALONG = 0.03
"""Factor of the precision along the prior.

A common factor of all weights changes no choice, only the certainty. Models that err together need a factor
well below one, and a full penalty for that would distort the proportions of the weights.
"""
SPREADS: Mapping[float, float] = {1.6: 2.0, 0.8: 4.0, 0.4: 5.0, 0.2: 4.0, 0.1: 2.0, 0.05: 1.0}
"""Standard deviation of the weights of a panel's models, in nats -> how plausible it is without labels."""
COMMON = 1.0
"""Standard deviation of the mean weight of panels, in nats."""
NEGLIGIBLE = 12.0
"""A spread that is less likely than another by this many nats does not count."""
NOTHING, FULL = 0.6, 1.0
"""A category's difference counts nothing below `NOTHING` standard errors, and in full from `FULL` on."""


@dataclass(frozen=True, slots=True)
class _Prior:
    """A normal prior of the weights, with precision `along` along `direction` and `across` otherwise."""

    mean: Sequence[float]
    direction: Sequence[float]
    across: float
    along: float

    def pull(self, apart: Sequence[float]) -> list[float]:
        """Return the precision matrix times `apart`, a difference from the mean."""
        square = sum(c * c for c in self.direction)
        share = sum(a * c for a, c in zip(apart, self.direction, strict=True)) / square if square else 0.0
        turn = (self.across - self.along) * share
        return [self.across * a - turn * c for a, c in zip(apart, self.direction, strict=True)]

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant of the precision matrix, for a direction other than 0."""
        return (len(self.mean) - 1) * log(self.across) + log(self.along)


@dataclass(frozen=True, slots=True)
class _Posterior:
    """mode: the most probable weights. covariance: at the mode. evidence: log marginal likelihood, nats.

    hessian: negative second derivative of the log-likelihood at the mode.
    """

    mode: list[float]
    covariance: Matrix
    evidence: float
    hessian: Matrix


def fit(
    questions: Iterable[AnsweredQuestion], prior: Mapping[str, float], precision: float, options: float
) -> dict[str, float]:
    """Return model -> weight: the maximum a posteriori for `questions`, with `precision` in 1 / nat².

    Maximises the log-likelihood minus precision / 2 times the squared distance from `prior`, in which the
    component along `prior` counts only `ALONG`. Without a labelled question the result is `prior`. Besides
    the actual answers, there are `options` minus their number, at least one, that no model gave; each has
    weight 0. The function is concave and maximised by Newton's method.
    """
    centre = list(prior.values())
    normal = _Prior(centre, centre, precision, precision * ALONG)
    mode = _climb(labelled_cases(questions, list(prior)), normal, options, centre, None)
    return dict(zip(prior, mode, strict=True))


def fit_category(
    questions: Iterable[AnsweredQuestion], prior: Mapping[str, float], precision: float, options: float
) -> dict[str, float]:
    """Return `fit` for the questions of a category, without its uncertain differences from `prior`."""
    centre = list(prior.values())
    if not any(centre):
        return dict(prior)
    normal = _Prior(centre, centre, precision, precision * ALONG)
    found = _posterior(labelled_cases(questions, list(prior)), normal, options, centre, None)
    errors = [sqrt(row[i]) for i, row in enumerate(found.covariance)]
    apart = [m - c for m, c in zip(found.mode, centre, strict=True)]
    return {
        model: round(c + _certain(a, error), DIGITS)
        for model, c, a, error in zip(prior, centre, apart, errors, strict=True)
    }


def fit_votes(
    questions: Iterable[AnsweredQuestion], models: Sequence[str], mean: float, options: float
) -> dict[str, float]:
    """Return model -> weight, shrunk towards the panel's mean by the spread that the labels support.

    mean: the prior mean of the weights, in nats. The result is the average over `SPREADS`, each as likely as
    its prior and the labels make it. Differences that the labels do not settle count only if votes with them
    were right clearly more often than a majority (`leads.is_lead`); otherwise they leave `models`, strongest
    first if it is known, in the listed order (`ties.settled`). A model without answers gets about the mean.
    The order of the questions is irrelevant.
    """
    cases, size = labelled_cases(questions, models), len(models)
    ones = [1.0] * size
    found: list[tuple[float, _Posterior]] = []
    for spread, plausible in SPREADS.items():
        prior = _Prior([mean] * size, ones, spread**-2, 1 / (spread**2 + size * COMMON**2))
        start, hessian = (found[-1][1].mode, found[-1][1].hessian) if found else ([mean] * size, None)
        posterior = _posterior(cases, prior, options, start, hessian)
        found.append((log(plausible) + posterior.evidence, posterior))
        # The likelihood has one maximum: below it, smaller spreads are ever less likely.
        if found[-1][0] < max(likely for likely, _ in found) - NEGLIGIBLE:
            break
    top = max(likely for likely, _ in found)
    shares = [exp(likely - top) for likely, _ in found]
    shares = [share / fsum(shares) for share in shares]
    modes = [posterior.mode for _, posterior in found]
    mean_of = [_mean(shares, [mode[i] for mode in modes]) for i in range(size)]
    covariance = [
        [
            _mean(shares, [p.covariance[i][j] + p.mode[i] * p.mode[j] for _, p in found])
            - mean_of[i] * mean_of[j]
            for j in range(size)
        ]
        for i in range(size)
    ]
    answered, centre = _answered(cases, size), fsum(mean_of) / size
    # Of a model without answers only the prior is known, and that is nearer to 0 than the others' weights.
    votes = [max(0.0, weight if n else centre) for weight, n in zip(mean_of, answered, strict=True)]
    if not is_lead(*lead(cases, votes, ones)):
        votes = settled(mean_of, covariance, answered)
    return {model: round(vote, DIGITS) for model, vote in zip(models, votes, strict=True)}


def _mean(shares: Sequence[float], values: Sequence[float]) -> float:
    return fsum(share * value for share, value in zip(shares, values, strict=True))


def _answered(cases: Sequence[Case], size: int) -> list[int]:
    """Return the number of labelled answers of each model."""
    counts = [0] * size
    for groups, _, n in cases:
        for i in chain(*groups):
            counts[i] += n
    return counts


def _certain(difference: float, error: float) -> float:
    """Return the part of a difference that counts, by its standard error (firm thresholding)."""
    if not error:
        return difference
    return difference * min(1.0, max(0.0, (abs(difference) / error - NOTHING) / (FULL - NOTHING)))


def labelled_cases(questions: Iterable[AnsweredQuestion], models: Sequence[str]) -> list[Case]:
    """Return the labelled questions as patterns with counts; with few models, few patterns repeat often."""
    patterns: Counter[tuple[Groups, bool]] = Counter()
    for q in questions:
        if q.gold is not None and (groups := answer_groups(q.answers, models)):
            right = groups.pop(q.gold, None)
            others = tuple(sorted(groups.values()))
            patterns[others if right is None else (right, *others), right is not None] += 1
    return [(groups, known, n) for (groups, known), n in sorted(patterns.items())]


def _posterior(
    cases: Sequence[Case],
    prior: _Prior,
    options: float,
    start: Sequence[float],
    hessian: Matrix | None,
) -> _Posterior:
    """Return the posterior of the weights.

    hessian: that of the log-likelihood near the mode, if known. It replaces the exact one in the search,
    which then takes more steps, but cheaper ones.
    """
    mode = _climb(cases, prior, options, start, hessian)
    found = _hessian(cases, mode, options)
    lower = cholesky(_with(found, prior))
    size = len(mode)
    covariance = [solve(lower, [float(i == j) for j in range(size)]) for i in range(size)]
    determinant = 2 * fsum(log(lower[i][i]) for i in range(size))
    value = _value(cases, mode, prior, options)
    evidence = value + (prior.log_determinant() - determinant) / 2
    return _Posterior(mode, covariance, evidence, found)


def _climb(
    cases: Sequence[Case],
    prior: _Prior,
    options: float,
    start: Sequence[float],
    hessian: Matrix | None,
) -> list[float]:
    """Return the most probable weights by Newton's method; `hessian` as in `_posterior`."""
    weights, value = list(start), _value(cases, start, prior, options)
    keep = CHORDS if hessian is not None else 0
    for _ in range(STEPS):
        gradient = _gradient(cases, weights, prior, options)
        if hessian is None or not keep:
            hessian, keep = _hessian(cases, weights, options), 1
        step, size = solve(cholesky(_with(hessian, prior)), gradient), 1.0
        keep -= 1
        # Far from the maximum, a full step may overshoot.
        while (new := _value(cases, at := _add(weights, step, size), prior, options)) < value:
            size, keep = size / 2, 0
            if size < SMALL:
                return weights
        weights, value = at, new
        if max(map(abs, step), default=0.0) * size < SMALL:
            break
    return weights


def _shares(groups: Groups, weights: Sequence[float], options: float) -> tuple[list[float], float]:
    """Return the probability of each answer, and that of each answer that no model gave."""
    scores = [sum([weights[index] for index in group]) for group in groups]
    top = max(0.0, *scores)
    odds, none = [exp(score - top) for score in scores], exp(-top)
    whole = sum(odds) + max(options - len(groups), 1.0) * none
    return [o / whole for o in odds], none / whole


def _value(cases: Sequence[Case], weights: Sequence[float], prior: _Prior, options: float) -> float:
    apart = [w - c for w, c in zip(weights, prior.mean, strict=True)]
    total = -sum(a * p for a, p in zip(apart, prior.pull(apart), strict=True)) / 2
    for groups, known, n in cases:
        shares, none = _shares(groups, weights, options)
        # If the share underflows, the logarithm of a tiny number is enough to reject the step.
        total += n * log(max(shares[0] if known else none, 1e-300))
    return total


def _gradient(cases: Sequence[Case], weights: Sequence[float], prior: _Prior, options: float) -> list[float]:
    gradient = prior.pull([c - w for w, c in zip(weights, prior.mean, strict=True)])
    for groups, known, n in cases:
        shares, _ = _shares(groups, weights, options)
        for k, (group, share) in enumerate(zip(groups, shares, strict=True)):
            pull = n * ((known and k == 0) - share)
            for i in group:
                gradient[i] += pull
    return gradient


def _hessian(cases: Sequence[Case], weights: Sequence[float], options: float) -> Matrix:
    """Return the negative second derivative of the log-likelihood."""
    hessian = [[0.0] * len(weights) for _ in weights]
    for groups, _, n in cases:
        shares, _ = _shares(groups, weights, options)
        cast: list[tuple[int, float]] = []
        for group, share in zip(groups, shares, strict=True):
            for i in group:
                row = hessian[i]
                for j in group:
                    row[j] += n * share
                cast.append((i, share))
        for i, a in cast:
            row, na = hessian[i], n * a
            for j, b in cast:
                row[j] -= na * b
    return hessian


def _with(hessian: Matrix, prior: _Prior) -> Matrix:
    """Return the sum of a Hessian and the precision of a prior."""
    size = len(hessian)
    units = ([float(i == j) for j in range(size)] for i in range(size))
    return [_add(row, prior.pull(unit), 1.0) for row, unit in zip(hessian, units, strict=True)]


def _add(weights: Sequence[float], step: Sequence[float], size: float) -> list[float]:
    return [w + size * s for w, s in zip(weights, step, strict=True)]
