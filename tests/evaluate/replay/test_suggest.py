"""The panel that recorded answers suggest."""

from __future__ import annotations

import random

import pytest

from pnyx.errors import UsageError
from pnyx.evaluate.replay.suggest import ENOUGH, common_questions, suggest
from pnyx.reliability.accuracy import AnsweredQuestion
from tests.reliability.tables import MODELS, table

SAME_PRICE = dict.fromkeys(MODELS, 0.01)


def test_models_whose_errors_differ_are_a_panel() -> None:
    found = suggest(table((0.7, 0.7, 0.7, 0.7), 2000, options=8), MODELS, SAME_PRICE)
    assert len(found.suggested.models) >= 3
    assert found.suggested.gain is not None
    assert found.suggested.gain.low > 0.05
    assert found.suggested.cost_usd == pytest.approx(0.01 * len(found.suggested.models))
    assert found.suggested.wrong_together == pytest.approx(0.3, abs=0.05)


def test_beside_copies_of_one_model_the_cheapest_of_them_is_enough() -> None:
    costs = {**SAME_PRICE, "c": 0.001}
    found = suggest(table((0.7,), 600, copies=4), MODELS, costs)
    assert found.suggested == found.single
    assert (found.single.models, found.single.gain) == (("c",), None)


def test_of_two_equal_panels_the_cheaper_is_suggested() -> None:
    records = table((0.75, 0.75, 0.75), 1200, options=8, copies=2)
    found = suggest(records, MODELS, {**SAME_PRICE, "c": 0.5})
    assert set(found.suggested.models) == {"a", "b", "d"}


def test_without_a_price_fewer_models_are_cheaper_and_the_cost_is_unknown() -> None:
    found = suggest(table((0.9, 0.5, 0.5, 0.5), 800), MODELS, {**SAME_PRICE, "a": None})
    assert found.suggested.models == ("a",)
    assert found.suggested.cost_usd is None


def test_the_search_does_not_flatter_panels() -> None:
    """Twelve models that guess: some panel looks good on the half that chooses it."""
    chance, rights = random.Random(1), []
    for seed in range(12):
        names = "abcdefghijkl"
        records = [
            AnsweredQuestion({m: chance.choice("wxyz") for m in names}, chance.choice("wxyz"), 4)
            for _ in range(120)
        ]
        found = suggest(records, tuple(names), {}, most=3, seed=seed)
        rights += [one.right.mean for one in (found.single, found.suggested, *found.others)]
    assert sum(rights) / len(rights) == pytest.approx(0.25, abs=0.03)


def test_a_seed_draws_the_same_halves() -> None:
    records = table((0.7, 0.6, 0.6, 0.6), 300)
    assert suggest(records, MODELS, {}, seed=3) == suggest(records, MODELS, {}, seed=3)


def test_too_few_questions_or_models_are_refused_with_their_number() -> None:
    with pytest.raises(UsageError, match=f"needs {ENOUGH} questions .* there are {ENOUGH - 1}"):
        suggest(table((0.7, 0.7), ENOUGH - 1), ("a", "b"), {})
    with pytest.raises(UsageError, match="at least two models"):
        suggest(table((0.7,), ENOUGH), ("a",), {})


def test_questions_in_common_leave_out_models_that_were_rarely_asked() -> None:
    often = table((0.7, 0.7), 100)
    rarely = [AnsweredQuestion({**q.answers, "new": "1"}, q.gold) for q in table((0.7, 0.7), 20, seed=1)]
    kept, models = common_questions([*often, *rarely, AnsweredQuestion({"a": "1", "b": "1"})])
    assert (len(kept), models) == (120, ("a", "b"))
    assert common_questions([*often, *rarely], ("a", "new")) == (rarely, ("a", "new"))
