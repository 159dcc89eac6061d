"""The sentences of a verdict: they claim no more than the intervals show."""

from __future__ import annotations

import random

import pytest

from pnyx.evaluate.analysis.arms import SINGLE
from pnyx.evaluate.analysis.log import Log
from pnyx.evaluate.report.document import document
from tests.evaluate.logs import log, random_letters, random_log

pytestmark = pytest.mark.usefixtures("unweighted")


def verdict(made: Log) -> str:
    return "\n".join(document(made)["verdict"])


def test_a_panel_that_beats_the_best_single_and_samples_is_reported() -> None:
    text = verdict(random_log(120, seed=1, gain=0.35))
    assert "Most right answers: council" in text
    assert "council beats the best single model, chosen on held-out questions: +3" in text
    assert "At equal cost (1.00 times), council beats samples: +" in text
    assert "moa beats" not in text


def test_a_gain_that_samples_have_too_is_no_gain_at_equal_cost() -> None:
    rng = random.Random(3)
    models = {name: random_letters(0.5, 200, rng) for name in "ab"}
    text = verdict(log(models, {"council": random_letters(0.85, 200, rng)}, random_letters(0.85, 200, rng)))
    assert "council beats the best single model" in text
    assert "At equal cost (1.00 times), no difference between council and samples was shown" in text


def test_a_more_expensive_arm_is_not_at_equal_cost() -> None:
    dear = random_log(
        100, seed=1, gain=0.35, change=lambda row: {"cost_usd": 0.05} if row.arm == "council" else {}
    )
    assert "Not at equal cost, but at 5.00 times the cost, council beats samples" in verdict(dear)
    free = random_log(80, seed=1, gain=0.35, change=lambda row: {"cost_usd": 0.0})
    assert "At equal number of tokens (1.00 times), council beats samples" in verdict(free)


def test_without_samples_the_worth_of_the_cost_is_unknown() -> None:
    made = log({"a": "+x+x", "b": "xx++"}, {"council": "++++"})
    assert "is worth its cost is unknown" in verdict(made)


def test_no_difference_is_reported_with_the_detectable_one() -> None:
    made = log({"a": "+++xxx" * 10, "b": "+++xxx" * 10}, {"council": "++xx+x" * 9 + "++xx++"})
    text, near = (
        verdict(made),
        next(p for p in document(made)["pairs"] if (p["arm"], p["to"]) == ("council", SINGLE)),
    )
    assert "No panel arm was shown to beat the best single model" in text
    assert f"The best one is council: +1.7 [{100 * near['difference']['low']:+.1f}" in text
    assert (
        f"60 questions would show a difference of {100 * near['detectable']:.1f} points four times in five"
        in text
    )


def test_a_worse_panel_is_reported() -> None:
    rng = random.Random(0)
    made = log(
        {"a": random_letters(0.9, 150, rng), "b": random_letters(0.85, 150, rng)},
        {"council": random_letters(0.4, 150, rng)},
    )
    assert "Worse than the best single model, in points: council -" in verdict(made)


def test_an_interval_that_excludes_zero_is_not_enough_among_many_arms() -> None:
    """Six rescues and no regression: p is 0.031, and more than 0.05 for three arms."""
    a = "+" * 24 + "x" * 6
    text = verdict(log({"a": a, "b": a}, {"council": "+" * 30}))
    assert "No panel arm was shown to beat" in text
    assert "excludes zero, but after the correction chance remains a possible cause" in text
    assert "McNemar's p = 0.031, p = 0.094 after Holm's correction for 3 panel arms" in text


def test_chance_rarely_passes_for_a_gain(unweighted: None) -> None:
    """If protocols are only as good as the models, one report in twenty or so claims a gain."""
    text = [verdict(random_log(40, seed)) for seed in range(12)]
    assert sum("council beats the best" in one or "moa beats the best" in one for one in text) <= 2


def test_unanimity_and_the_room_for_gain_are_reported() -> None:
    text = verdict(log({"a": "++++xx+x", "b": "+++x+x+y", "c": "++++xxxz"}))
    assert "All models agreed on 5 of 8 questions; their answer was right on 80.0 %" not in text
    # Equal: q0-q2 and q5, of which the first three are right.
    assert "All models agreed on 4 of 8 questions; their answer was right on 75.0 %" in text
    assert "On the 4 on which they differ: " in text
    assert "at least one model was right on 75.0 % (oracle)" in text


def test_where_no_arm_is_right_none_has_the_most_right_answers() -> None:
    text = verdict(log({"a": "xxxx", "b": "yyyy"}))
    assert text.startswith("No arm was right on any of the 4 questions.")
    assert "Most right answers" not in text


def test_models_that_never_differ_leave_no_room_for_gain() -> None:
    assert "The models never differed" in verdict(log({"a": "++xx", "b": "++xx"}))


def test_unread_answers_are_counted_by_arm() -> None:
    text = verdict(log({"a": "+..!", "b": "++++"}, {"council": "+!++"}))
    assert "Unread answers count as wrong: a 2 of 4." in text
    assert "Questions that ended in an error count as wrong: a 1 of 4 and council 1 of 4." in text
