"""What a report comes to in words: no more than its intervals say."""

from __future__ import annotations

import random

from pnyx.evaluate.analysis.arms import SINGLE
from pnyx.evaluate.analysis.log import Log
from pnyx.evaluate.report.document import document
from tests.evaluate.logs import log, random_letters, random_log


def verdict(made: Log) -> str:
    return "\n".join(document(made)["verdict"])


def test_a_panel_that_beats_the_best_single_and_samples_is_said_to() -> None:
    told = verdict(random_log(120, seed=1, gain=0.35))
    assert "Most right answers: council" in told
    assert "council beats the best single model, chosen on held-out questions: +3" in told
    assert "At equal cost (1.00 times), council beats samples: +" in told
    assert "moa beats" not in told


def test_a_gain_that_samples_have_as_well_is_no_gain_at_equal_cost() -> None:
    rng = random.Random(3)
    models = {name: random_letters(0.5, 200, rng) for name in "ab"}
    told = verdict(log(models, {"council": random_letters(0.85, 200, rng)}, random_letters(0.85, 200, rng)))
    assert "council beats the best single model" in told
    assert "At equal cost (1.00 times), no difference between council and samples was shown" in told


def test_what_costs_more_is_not_said_to_be_at_equal_cost() -> None:
    dear = random_log(
        100, seed=1, gain=0.35, change=lambda row: {"cost_usd": 0.05} if row.arm == "council" else {}
    )
    assert "Not at equal cost, but at 5.00 times the cost, council beats samples" in verdict(dear)
    free = random_log(80, seed=1, gain=0.35, change=lambda row: {"cost_usd": 0.0})
    assert "At equal number of tokens (1.00 times), council beats samples" in verdict(free)


def test_without_samples_the_cost_is_said_not_to_be_asked() -> None:
    made = log({"a": "+x+x", "b": "xx++"}, {"council": "++++"})
    assert "is worth its cost was not asked" in verdict(made)


def test_no_difference_comes_with_the_one_that_would_have_shown() -> None:
    made = log({"a": "+++xxx" * 10, "b": "+++xxx" * 10}, {"council": "++xx+x" * 9 + "++xx++"})
    told, near = (
        verdict(made),
        next(p for p in document(made)["pairs"] if (p["arm"], p["to"]) == ("council", SINGLE)),
    )
    assert "No panel arm was shown to beat the best single model" in told
    assert f"council came nearest: +1.7 [{100 * near['difference']['low']:+.1f}" in told
    assert (
        f"60 questions show a difference of {100 * near['detectable']:.1f} points four times in five" in told
    )


def test_a_panel_that_is_worse_is_said_to_be() -> None:
    rng = random.Random(0)
    made = log(
        {"a": random_letters(0.9, 150, rng), "b": random_letters(0.85, 150, rng)},
        {"council": random_letters(0.4, 150, rng)},
    )
    assert "Worse than the best single model, in points: council -" in verdict(made)


def test_an_interval_clear_of_zero_is_not_enough_among_many_arms() -> None:
    """Six rescues and no regression: p is 0.031, and more than 0.05 for three arms."""
    a = "+" * 24 + "x" * 6
    told = verdict(log({"a": a, "b": a}, {"council": "+" * 30}))
    assert "No panel arm was shown to beat" in told
    assert "clear of zero, but the corrected test leaves room for chance" in told
    assert "McNemar's p = 0.031, p = 0.094 after Holm's correction for 3 panel arms" in told


def test_chance_is_seldom_taken_for_a_gain() -> None:
    """Protocols that are as good as the models: one report in twenty may say that one wins, and no more."""
    told = [verdict(random_log(40, seed)) for seed in range(20)]
    assert sum("council beats the best" in one or "moa beats the best" in one for one in told) <= 2


def test_unanimity_and_what_could_still_be_won_are_told() -> None:
    told = verdict(log({"a": "++++xx+x", "b": "+++x+x+y", "c": "++++xxxz"}))
    assert "All models gave the same answer to 5 of 8 questions; it was right on 80.0 %" not in told
    # Alike: q0-q2 and q5, of which the first three are right.
    assert "All models gave the same answer to 4 of 8 questions; it was right on 75.0 %" in told
    assert "On the 4 others: " in told
    assert "on 75.0 % some model was right (oracle)" in told


def test_models_that_never_differ_leave_nothing_to_win() -> None:
    assert "The models never differed" in verdict(log({"a": "++xx", "b": "++xx"}))


def test_answers_that_could_not_be_read_are_told_by_arm() -> None:
    told = verdict(log({"a": "+..!", "b": "++++"}, {"council": "+!++"}))
    assert "Answers that could not be read count as wrong: a 2 of 4." in told
    assert "Questions that ended in an error count as wrong: a 1 of 4 and council 1 of 4." in told
