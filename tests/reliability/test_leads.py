"""A lead over the majority is followed if its questions show it, at a bounded risk."""

from __future__ import annotations

from math import comb
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.label_bound import BELOW_BEST, BELOW_MAJORITY, chances, least_excess
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.leads import MOST_LOST, is_lead, lead, least_errors
from pnyx.reliability.scorer import labelled_cases
from pnyx.reliability.weights import Weights, choose, equal, learn
from tests.reliability.test_ties import PANELS, answers
from tests.support.rows import rows

MODELS = ("a", "b", "c", "d")
ANSWERS = st.fixed_dictionaries({model: st.sampled_from([None, "0", "1", "2"]) for model in MODELS})
QUESTIONS = st.lists(ANSWERS, min_size=1, max_size=12)
VOTES = st.tuples(*[st.integers(0, 3) for _ in MODELS])


@given(QUESTIONS, VOTES, VOTES)
def test_wins_and_losses_are_those_of_votes(
    rows: list[dict[str, str | None]], one: tuple[int, ...], two: tuple[int, ...]
) -> None:
    questions = [AnsweredQuestion(row, "0") for row in rows]
    rules = [Weights("labels", 1, dict(zip(MODELS, votes, strict=True))) for votes in (one, two)]
    pairs = [tuple(choose(rule, q) == "0" for rule in rules) for q in questions]
    wins, losses, counted = lead(labelled_cases(questions, MODELS), one, two)
    assert (wins, losses) == (pairs.count((True, False)), pairs.count((False, True)))
    assert counted == sum(any(row.values()) for row in rows)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 1000))
def test_no_lead_is_one_and_more_wins_take_none_away(wins: int, losses: int, more: int) -> None:
    questions = wins + losses + more
    assert not is_lead(min(wins, losses), max(wins, losses), questions)
    if is_lead(wins, losses, questions):
        assert is_lead(wins + 5, losses, questions + 5)


@given(st.floats(1e-4, 0.5), st.floats(1e-3, 0.02))
def test_a_greater_error_asks_for_more_certainty(error: float, most_lost: float) -> None:
    assert least_errors(error, most_lost) <= least_errors(1.5 * error, most_lost) + 1e-2
    assert least_errors(error, 1.5 * most_lost) <= least_errors(error, most_lost) + 1e-2


def binomial(n: int, k: int, p: float) -> float:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


@rows("labels", [10, 20, 50, 120])
@rows("differ", [0.1, 0.3, 0.5])
def test_a_wrong_lead_costs_hardly_more_than_is_allowed(labels: int, differ: float) -> None:
    """Computed with all numbers of wins and losses, for accuracies that differ by the worst gap."""
    worst = 0.0
    for part in (0.02, 0.05, 0.1, 0.2, 0.4, 0.7):
        gap = part * differ
        better = (differ - gap) / (2 * differ)
        wrong = sum(
            binomial(labels, seen, differ) * binomial(seen, wins, better)
            for seen in range(labels + 1)
            for wins in range(seen // 2, seen + 1)
            if is_lead(wins, seen - wins, labels)
        )
        worst = max(worst, gap * wrong)
    assert worst <= 1.5 * MOST_LOST


def test_a_dominant_model_is_found_soon_even_if_it_is_listed_last() -> None:
    """The promise of docs/evaluation.md: the mean over draws of 60 labels."""
    test = answers(PANELS["one ahead"], 1500, seed=2)
    models = tuple(reversed(list(test[0].answers)))

    def right(weights: Weights) -> float:
        return fmean(choose(weights, q) == "0" for q in test)

    best = fmean(q.answers["a"] == "0" for q in test)
    learned = fmean(right(learn(answers(PANELS["one ahead"], 60, seed=k), models)) for k in range(2000, 2025))
    assert learned > (best + right(equal(models))) / 2


def test_no_rule_holds_both_limits_with_few_labels() -> None:
    """design/reliability.md has the table of `benchmarks.label_bound`; here one of its rows, by hand."""
    labels, differ, decided, gap = 3, 0.5, 1.0, 0.25
    assert sum(chances(labels, differ, decided, gap)) == pytest.approx(1)
    # A rule that always follows the model, or never: each exceeds one limit by the whole gap.
    assert least_excess(1, differ, decided, gap) < 100 * gap / BELOW_BEST
    # With one label the model is followed after a win, never after a loss, and else with probability f.
    win, none, loss = 0.375, 0.5, 0.125
    found = least_excess(1, differ, decided, gap)
    by_hand = min(
        max(
            100 * gap * (1 - win * a - none * b) / BELOW_BEST,
            100 * gap * (loss * a + none * b) / BELOW_MAJORITY,
        )
        for a in (k / 200 for k in range(201))
        for b in (k / 200 for k in range(201))
    )
    assert found == pytest.approx(by_hand, abs=0.3)
    assert least_excess(200, 0.3, 0.75, 0.026) > 1
