"""The rule that learns vote weights from the available data."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Seat
from pnyx.core.tally import by_seat
from pnyx.reliability.accuracy import AnsweredQuestion, log_odds
from pnyx.reliability.weights import (
    ENOUGH_ANSWERS,
    ENOUGH_LABELS,
    GATE,
    PRECISION,
    Weights,
    accuracy,
    choose,
    equal,
    gate,
    learn,
    pool,
    posterior,
    scores,
)
from tests.reliability.tables import MODELS, questions, table, tables

PEERS = (0.75, 0.7, 0.65, 0.6)
amounts = st.fixed_dictionaries(dict.fromkeys(MODELS, st.floats(0, 9)))


def test_the_available_data_selects_the_rule() -> None:
    unlabelled, labelled = table(PEERS, 200, labels=False), table(PEERS, 200)
    assert learn([], MODELS).rule == "equal"
    assert learn(unlabelled[: ENOUGH_ANSWERS - 1], MODELS).rule == "equal"
    assert learn(unlabelled[:ENOUGH_ANSWERS], MODELS).rule == "agreement"
    assert learn([*unlabelled, *labelled[: ENOUGH_LABELS - 1]], MODELS).rule == "agreement"
    assert learn([*unlabelled, *labelled[:ENOUGH_LABELS]], MODELS).rule == "labels"


def test_two_models_without_labels_have_equal_votes() -> None:
    assert learn(table((0.9, 0.5), 200, labels=False), ("a", "b")) == equal(("a", "b"))


@given(tables)
def test_votes_are_never_negative_and_every_model_has_one(records: list[AnsweredQuestion]) -> None:
    weights = learn(records, MODELS)
    for votes in (weights.models, *weights.categories.values()):
        assert set(votes) == set(MODELS)
        assert min(votes.values()) >= 0


@given(tables, questions, st.permutations(MODELS))
def test_the_order_of_the_models_decides_only_ties(
    records: list[AnsweredQuestion], question: AnsweredQuestion, order: list[str]
) -> None:
    one, other = learn(records, MODELS), learn(records, order)
    behind = scores(one, question)
    assert scores(other, question) == pytest.approx(behind, abs=1e-4)
    first, second, *_ = [*sorted(behind.values(), reverse=True), 0.0, 0.0]
    if first - second > 1e-3:
        assert choose(one, question) == choose(other, question)


def test_better_models_have_larger_weights() -> None:
    for labels in (True, False):
        weights = learn(table((0.8, 0.75, 0.7, 0.65), 4000, labels=labels), MODELS)
        votes = [weights.models[model] for model in MODELS]
        assert votes == sorted(votes, reverse=True)
        assert votes[0] > votes[-1]


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=8), st.integers(0, 10_000))
def test_the_gate_keeps_the_best_model_and_those_close_to_it(accuracies: list[float], n: int) -> None:
    known = {str(place): p for place, p in enumerate(accuracies)}
    weights, best = gate(known, 10, dict.fromkeys(known, n)), max(accuracies)
    for model, p in known.items():
        if best - p <= GATE:
            assert weights[model] == log_odds(p, 10)
        if best - p > GATE + 2 / (n + 2) ** 0.5:
            assert weights[model] == 0


def test_a_new_model_keeps_its_vote_until_more_is_known() -> None:
    known = {"a": 0.9, "b": 0.65}
    assert gate(known, 4, {"a": 200, "b": 200})["b"] == 0
    assert gate(known, 4, {"a": 200, "b": 4})["b"] > 1
    old = [
        AnsweredQuestion({"a": "A" if n % 10 else "B", "b": "A" if n % 8 else "C"}, "A", 4)
        for n in range(196)
    ]
    new = [AnsweredQuestion({"a": "A", "b": "A", "c": answer}, "A", 4) for answer in "AABA"]
    assert learn([*old, *new], "abc").models["c"] > 1


def test_differences_between_other_models_do_not_lead_to_the_solo_rule() -> None:
    records = table((0.6, 0.45, 0.5), 700, options=3, seed=0, copies=3)
    same = [replace(q, answers={**dict.fromkeys("abcde", q.answers["a"]), "x": "y"}) for q in records[300:]]
    assert learn([*records[:300], *same], "abcde").rule == "labels"


@pytest.mark.parametrize("seed", range(4))
def test_on_its_training_questions_the_rule_is_never_worse_than_the_best_model(seed: int) -> None:
    records = table((0.6, 0.45, 0.5), 700, options=3, seed=seed, copies=3)
    best = max(sum(q.answers[m] == q.gold for q in records) for m in records[0].answers) / len(records)
    assert accuracy(learn(records, "abcde"), records) >= best


def test_a_best_model_that_is_better_alone_decides_unless_it_abstains() -> None:
    weights = learn(table((0.6, 0.45, 0.5), 700, options=3, seed=0, copies=3), "abcde")
    assert weights.rule == "solo"
    assert choose(weights, AnsweredQuestion({"a": "x", **dict.fromkeys("bcde", "y")})) == "x"
    assert choose(weights, AnsweredQuestion({"a": None, **dict.fromkeys("bcde", "y")})) == "y"
    assert pool(weights) == ("a",)


def test_a_model_far_ahead_outweighs_three_that_err_as_one() -> None:
    chance, records = random.Random(1), []
    for _ in range(500):
        gold, wrong = chance.sample("uvwxyz", 2)
        best = gold if chance.random() < 0.7 else wrong
        three = gold if chance.random() < 0.45 else wrong
        records.append(AnsweredQuestion({"a": best, **dict.fromkeys("bcd", three)}, gold, 6))
    weights = learn(records, MODELS)
    assert weights.rule == "labels"
    assert pool(weights) == ("a",)


def test_luck_on_few_questions_does_not_lead_to_the_solo_rule() -> None:
    records = table((0.62, 0.6, 0.6), 40, options=3, seed=5)
    weights = learn(records, "abc")
    best = max(sum(q.answers[m] == q.gold for q in records) for m in "abc") / len(records)
    assert accuracy(weights, records) < best
    assert weights.rule == "labels"


def by_category(n: int) -> list[AnsweredQuestion]:
    """`a` is good at law and `b` at physics, and poor at the other; `c` and `d` are average at both."""
    out = []
    for category, skill in (("law", (0.9, 0.4, 0.6, 0.6)), ("physics", (0.4, 0.9, 0.6, 0.6))):
        out += [replace(q, category=category) for q in table(skill, n, seed=len(category))]
    return out


def test_a_category_has_its_own_weights_and_an_unknown_one_the_general_weights() -> None:
    weights = learn(by_category(600), MODELS)
    assert weights.of("law")["a"] > weights.of("law")["b"] + 1
    assert weights.of("physics")["b"] > weights.of("physics")["a"] + 1
    assert weights.of("music") == weights.of(None) == weights.models
    assert abs(weights.models["a"] - weights.models["b"]) < 0.3


def test_few_questions_of_a_category_move_its_weights_little() -> None:
    many = by_category(600)
    few = [*many[:5], *(replace(q, category="physics") for q in many[600:])]
    apart = {
        n: max(abs(w.of("law")[m] - w.models[m]) for m in MODELS)
        for n, w in ((5, learn(few, MODELS)), (600, learn(many, MODELS)))
    }
    assert apart[5] < 5 / PRECISION < apart[600]


@given(amounts, questions)
def test_the_posterior_has_the_order_of_the_scores_and_sums_to_less_than_one(
    votes: dict[str, float], question: AnsweredQuestion
) -> None:
    weights = Weights("", 0, votes)
    chances, behind = posterior(weights, question), scores(weights, question)
    assert all(0 <= p <= 1 for p in chances.values())
    assert sum(chances.values()) <= 1 + 1e-9
    ranked = sorted(behind, key=behind.__getitem__)
    assert [chances[a] for a in ranked] == sorted(chances.values())
    if chances:
        assert chances[choose(weights, question) or ""] == max(chances.values())


def test_the_first_model_wins_ties_and_without_answers_there_is_no_choice() -> None:
    assert choose(equal("abcd"), AnsweredQuestion({"d": "y", "c": "x", "b": "y", "a": "x"})) == "x"
    assert choose(equal("abcd"), AnsweredQuestion({"d": "y", "c": "x"})) == "x"
    assert choose(equal("abcd"), AnsweredQuestion(dict.fromkeys("abcd"))) is None
    assert posterior(equal("abcd"), AnsweredQuestion(dict.fromkeys("abcd"))) == {}


@given(amounts)
def test_models_outside_the_pool_cannot_change_the_answer(votes: dict[str, float]) -> None:
    weights = Weights("", 0, votes)
    records = pool(weights)
    full = AnsweredQuestion({model: model if model == records[0] else "other" for model in MODELS})
    if len(records) == 1:
        assert choose(weights, full) == records[0]
    if any(votes.values()):
        assert all(votes[model] > 0 for model in records)
    else:
        assert records == MODELS


def test_weights_survive_json() -> None:
    weights = learn(by_category(50), MODELS)
    assert Weights(**asdict(weights)) == weights


def test_questions_that_none_of_the_models_answered_are_ignored() -> None:
    elsewhere = [AnsweredQuestion({"x": "1", "y": "2"}, "1") for _ in range(2 * ENOUGH_LABELS)]
    assert learn(elsewhere, MODELS) == equal(MODELS)
    both = [*elsewhere, *table(PEERS, 200)]
    assert learn(both, MODELS) == learn(table(PEERS, 200), MODELS)


def test_without_any_weight_each_answer_counts_one() -> None:
    weights = Weights("labels", 10, {"a": 2.0, "b": 0.0, "c": 0.0, "d": 0.0})
    question = AnsweredQuestion({"a": None, "b": "x", "c": "y", "d": "y"})
    assert choose(weights, question) == "y"
    seats = [Seat(name, name, weight=weight) for name, weight in weights.models.items()]
    assert by_seat(list(question.answers.values()), seats).winner == "y"
