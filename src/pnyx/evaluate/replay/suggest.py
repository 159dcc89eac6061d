"""Suggest a panel from recorded answers: the cheapest set of models that does about as well as the best one.

One half of the questions chooses the panels, and teaches the weights of their votes; the other half, which no
choice has seen, says how often they are right. So the accuracy of the suggestion is not flattered by the
search.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, pstdev

from ...core.models import total_usd
from ...errors import UsageError
from ...reliability.accuracy import AnsweredQuestion, log_odds, mean_options, shrunk_accuracies
from ...reliability.weights import Weights, choose, learn
from ..analysis.statistics import Interval, paired_difference, wilson

__all__ = ["ENOUGH", "Candidate", "Suggestion", "common_questions", "suggest"]

ENOUGH = 60
"""The least number of questions, half of them to choose and half to report."""
SEARCHED = 1000
"""The most questions on which all panels are compared."""
BEAM = 6
"""Panels of one size from which those with one more model are built."""
COMPARED = 3
"""Panels of one size that are compared by the votes that they will have."""
LISTED = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A panel, with its results on the questions that did not choose it.

    models: strongest first. right: the share of right answers, with its 95 % interval. gain: that share minus
    the best single model's; None for that model. cost_usd: of the answers to one question; None if a price is
    unknown. wrong_together: how often a second model is wrong where one is, mean over pairs; None for a model
    alone, or without an error.
    """

    models: tuple[str, ...]
    right: Interval
    gain: Interval | None
    cost_usd: float | None
    wrong_together: float | None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """single: the best model alone. suggested: the panel, or `single` if none was better. others: those
    that no cheaper one beats, and the best of each size, cheapest first. chosen_on, reported_on: numbers of
    questions. models: all that were compared.
    """

    single: Candidate
    suggested: Candidate
    others: tuple[Candidate, ...]
    chosen_on: int
    reported_on: int
    models: tuple[str, ...]


def common_questions(
    questions: Sequence[AnsweredQuestion], models: Sequence[str] = ()
) -> tuple[list[AnsweredQuestion], tuple[str, ...]]:
    """Return the questions with a known answer that all of some models were asked, and those models.

    models: the models; empty for as many as have `ENOUGH` questions in common, the most asked first.
    """
    known = [q for q in questions if q.gold is not None]
    count_of: dict[str, int] = {}
    for q in known:
        for model in q.answers:
            count_of[model] = count_of.get(model, 0) + 1
    if models:
        return [q for q in known if all(m in q.answers for m in models)], tuple(models)
    kept: list[str] = []
    for model in sorted(count_of, key=lambda m: -count_of[m]):
        both = [q for q in known if model in q.answers]
        # Two models are needed in any case; the caller says if their questions are too few.
        if len(kept) < 2 or len(both) >= ENOUGH:
            kept.append(model)
            known = both
    return known, tuple(kept)


def suggest(
    questions: Sequence[AnsweredQuestion],
    models: Sequence[str],
    costs: Mapping[str, float | None],
    *,
    most: int = 5,
    seed: int = 0,
) -> Suggestion:
    """Suggest a panel of at most `most` of `models`.

    questions: as `common_questions` returns them. costs: model -> USD per question, None or missing if
    unknown. If a cost is unknown, panels of fewer models count as cheaper. Raises `UsageError` for fewer than
    two models or `ENOUGH` questions.
    """
    if len(models) < 2:
        raise UsageError("a panel needs the answers of at least two models to the same questions")
    if len(questions) < ENOUGH:
        raise UsageError(
            f"a suggestion needs {ENOUGH} questions with a known right answer that {' and '.join(models)} "
            f"were all asked; there are {len(questions)}"
        )
    drawn = list(questions)
    random.Random(seed).shuffle(drawn)
    half = len(drawn) // 2
    search = _Search(drawn[:half], models, costs)
    report = _Report(drawn[half:], drawn[:half], costs)
    single = search.best([panel for panel in search.right if len(panel) == 1])
    found = search.shortlist(most)
    reference = report.answers(single)
    first = report.candidate(single, None)
    suggested = search.cheapest_near_best(found)
    listed = [p for p in search.frontier(found) if p not in (single, suggested)]
    return Suggestion(
        first,
        first if suggested == single else report.candidate(suggested, reference),
        tuple(report.candidate(panel, reference) for panel in listed[:LISTED]),
        half,
        len(drawn) - half,
        tuple(models),
    )


Panel = tuple[str, ...]


class _Search:
    """Compares panels on the choosing half.

    The search weighs votes by log-odds of shrunk accuracies. The panels of the shortlist are then compared by
    the votes that they will have, learned on one part of the half and graded on the other.
    """

    def __init__(
        self, questions: Sequence[AnsweredQuestion], models: Sequence[str], costs: Mapping[str, float | None]
    ) -> None:
        self.half, self.questions, self.costs = questions, questions[:SEARCHED], costs
        options = mean_options(questions)
        known = shrunk_accuracies(questions, models)
        votes = {m: log_odds(known[m], options) for m in models}
        self.votes = dict(sorted(votes.items(), key=lambda item: -item[1]))
        self.priced = all(costs.get(m) is not None for m in models)
        self.right: dict[Panel, list[bool]] = {}
        for model in self.votes:
            self._try((model,))

    def _try(self, panel: Panel) -> None:
        if panel not in self.right:
            weights = Weights("", 0, {m: self.votes[m] for m in panel})
            self.right[panel] = [choose(weights, q) == q.gold for q in self.questions]

    def accuracy(self, panel: Panel) -> float:
        return fmean(self.right[panel])

    def cost(self, panel: Panel) -> float:
        """Return USD per question; the number of models if a cost is unknown."""
        return sum(self.costs[m] or 0.0 for m in panel) if self.priced else float(len(panel))

    def best(self, panels: Sequence[Panel]) -> Panel:
        return max(panels, key=lambda p: (self.accuracy(p), -self.cost(p)))

    def shortlist(self, most: int) -> list[Panel]:
        """Return some panels of one model to `most`, and compare them by learned votes from now on.

        Larger ones are built from the best of one model less.
        """
        order = list(self.votes)
        for size in range(2, min(most, len(order)) + 1):
            smaller = [p for p in self.right if len(p) == size - 1]
            smaller.sort(key=lambda p: -self.accuracy(p))
            for panel in smaller[: 2 * BEAM if size == 2 else BEAM]:
                for model in order:
                    if model not in panel:
                        self._try(tuple(sorted((*panel, model), key=order.index)))
        # Two models decide like the stronger of them alone, unless it abstains.
        panels = [p for p in self.right if len(p) != 2]
        ranked = sorted(panels, key=lambda p: -self.accuracy(p))
        kept = {*self.frontier(panels), *(p for p in panels if len(p) == 1)}
        for size in {len(p) for p in panels}:
            kept |= set([p for p in ranked if len(p) == size][:COMPARED])
        out = [p for p in panels if p in kept]
        self.right = {panel: self._cross_fitted(panel) for panel in out}
        return out

    def _cross_fitted(self, panel: Panel) -> list[bool]:
        right = []
        for part in (0, 1):
            weights = learn(self.half[1 - part :: 2], panel)
            right += [choose(weights, q) == q.gold for q in self.half[part::2]]
        return right

    def cheapest_near_best(self, panels: Sequence[Panel]) -> Panel:
        """Return the cheapest panel within one standard error of the best (Breiman et al. 1984)."""
        best = self.best(panels)

        def is_near(panel: Panel) -> bool:
            pairs = zip(self.right[best], self.right[panel], strict=True)
            apart = [float(a) - float(b) for a, b in pairs]
            return fmean(apart) <= pstdev(apart) / sqrt(len(apart))

        near = [panel for panel in panels if is_near(panel)]
        return min(near, key=lambda p: (self.cost(p), len(p), -self.accuracy(p)))

    def frontier(self, panels: Sequence[Panel]) -> list[Panel]:
        """Return the panels that no cheaper one beats, and the best of each size, cheapest first."""
        ranked = sorted(panels, key=lambda p: (self.cost(p), -self.accuracy(p), len(p)))
        out: list[Panel] = []
        for panel in ranked:
            if not out or self.accuracy(panel) > self.accuracy(out[-1]):
                out.append(panel)
        out += [self.best([p for p in panels if len(p) == size]) for size in {len(p) for p in panels}]
        return [panel for panel in ranked if panel in out]


class _Report:
    """Grades panels on the reporting half, with weights from the choosing half."""

    def __init__(
        self,
        questions: Sequence[AnsweredQuestion],
        learned_from: Sequence[AnsweredQuestion],
        costs: Mapping[str, float | None],
    ) -> None:
        self.questions, self.learned_from, self.costs = questions, learned_from, costs

    def answers(self, panel: Panel) -> list[bool]:
        """Return by question whether the panel is right."""
        weights = learn(self.learned_from, panel)
        return [choose(weights, q) == q.gold for q in self.questions]

    def candidate(self, panel: Panel, reference: Sequence[bool] | None) -> Candidate:
        right = self.answers(panel)
        pairs = list(zip(right, reference or right, strict=True))
        wins, losses = (sum(a and not b for a, b in some) for some in (pairs, [(b, a) for a, b in pairs]))
        gain = reference and paired_difference(wins, losses, len(right))
        cost = total_usd(map(self.costs.get, panel))
        share = wilson(sum(right), len(right))
        return Candidate(panel, share, gain or None, cost, self._wrong_together(panel))

    def _wrong_together(self, panel: Panel) -> float | None:
        shares = list(self._shares(panel))
        return fmean(shares) if shares else None

    def _shares(self, panel: Panel) -> Iterator[float]:
        wrong = {m: {n for n, q in enumerate(self.questions) if q.answers[m] != q.gold} for m in panel}
        for one, two in combinations(panel, 2):
            if either := (len(wrong[one]) + len(wrong[two])) / 2:
                yield len(wrong[one] & wrong[two]) / either
