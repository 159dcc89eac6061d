"""The rule that learns vote weights from the available data."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Seat
from pnyx.core.voting.tally import by_seat
from pnyx.reliability.accuracy import AnsweredQuestion, shrunk_accuracies
from pnyx.reliability.weights import (
    PRECISION,
    Weights,
    choose,
    equal,
    learn,
    posterior,
    scores,
)
from tests.reliability.tables import MODELS, questions, table, tables
from tests.support.rows import rows

PEERS = (0.75, 0.7, 0.65, 0.6)
amounts = st.fixed_dictionaries(dict.fromkeys(MODELS, st.floats(0, 9)))


def right(weights: Weights, records: list[AnsweredQuestion]) -> int:
    return sum(choose(weights, q) == q.gold for q in records)


def test_the_available_data_selects_the_rule() -> None:
    unlabelled, labelled = table(PEERS, 200, labels=False), table(PEERS, 200)
    assert learn([], MODELS) == learn(unlabelled, MODELS) == equal(MODELS)
    assert learn([*unlabelled, labelled[0]], MODELS).rule == "labels"
    assert learn([*unlabelled, *labelled], MODELS).n == len(labelled)


def test_two_models_without_labels_have_equal_votes() -> None:
    assert learn(table((0.9, 0.5), 200, labels=False), ("a", "b")) == equal(("a", "b"))


@given(tables)
def test_votes_are_never_negative_and_every_model_has_one(records: list[AnsweredQuestion]) -> None:
    weights = learn(records, MODELS)
    for votes in (weights.models, *weights.categories.values()):
        assert set(votes) == set(MODELS)
        assert min(votes.values()) >= 0


@pytest.mark.parametrize("order", [MODELS, tuple(reversed(MODELS))])
def test_the_order_of_the_models_is_irrelevant_once_the_labels_settle_their_differences(
    order: tuple[str, ...],
) -> None:
    records = table((0.8, 0.7, 0.6, 0.5), 1000)
    found = learn(records, order)
    assert list(found.models) == list(MODELS)
    assert found.models == pytest.approx(learn(records, MODELS).models, abs=0.05)


def test_better_models_have_larger_weights() -> None:
    weights = learn(table((0.8, 0.75, 0.7, 0.65), 4000), MODELS)
    votes = [weights.models[model] for model in MODELS]
    assert votes == sorted(votes, reverse=True)
    assert votes[0] > votes[-1]


@given(tables, questions, st.permutations(range(60)))
def test_the_order_of_the_questions_is_irrelevant(
    records: list[AnsweredQuestion], question: AnsweredQuestion, order: list[int]
) -> None:
    shuffled = [records[i] for i in order if i < len(records)]
    one, other = learn(records, MODELS), learn(shuffled, MODELS)
    assert scores(other, question) == pytest.approx(scores(one, question), abs=1e-5)


@given(tables, questions, st.permutations(MODELS))
def test_other_names_of_the_models_change_nothing(
    records: list[AnsweredQuestion], question: AnsweredQuestion, names: list[str]
) -> None:
    new = dict(zip(MODELS, names, strict=True))

    def renamed(q: AnsweredQuestion) -> AnsweredQuestion:
        return replace(q, answers={new[m]: answer for m, answer in q.answers.items()})

    known = learn(records, MODELS)
    found = learn([renamed(q) for q in records], names)
    assert choose(found, renamed(question)) == choose(known, question)


def shares(weights: Weights) -> list[float]:
    """The weights in the order of `MODELS`, as shares of their mean."""
    mean = sum(weights.models.values()) / len(weights.models)
    return [weights.models[m] / mean for m in MODELS]


@given(st.lists(st.sampled_from("wxyz"), min_size=4, max_size=4), st.sampled_from("wxyz"))
def test_one_label_leaves_the_majority_as_it_is(given_: list[str], gold: str) -> None:
    label = AnsweredQuestion(dict(zip(MODELS, given_, strict=True)), gold)
    assert shares(learn([label], MODELS)) == pytest.approx([1] * 4)


@rows("seed", range(8))
def test_a_few_labels_of_similar_models_change_votes_little(seed: int) -> None:
    records = table((0.7, 0.7, 0.7, 0.7), 10, seed=seed)
    weights = learn(records, MODELS)
    # Two against one are never overruled.
    least, second, *_ = sorted(shares(weights))
    assert least + second > max(shares(weights))


def test_the_difference_of_votes_grows_with_the_number_of_labels() -> None:
    records = table((0.9, 0.6, 0.6, 0.6), 2000, options=8)
    ahead = [shares(learn(records[:n], MODELS))[0] for n in (0, 20, 100, 2000)]
    assert ahead == sorted(ahead)
    assert ahead[0] == 1
    assert ahead[-1] > 1.4


def test_with_wrong_labels_at_random_all_votes_weigh_the_same() -> None:
    chance = random.Random(3)
    records = [replace(q, gold=chance.choice("0123")) for q in table((0.9, 0.8, 0.5, 0.4), 400)]
    assert max(learn(records, MODELS).models.values()) < 0.2


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_some_wrong_labels_keep_the_order_of_the_models(share: float) -> None:
    chance = random.Random(4)
    records = [
        replace(q, gold=chance.choice("0123")) if chance.random() < share else q
        for q in table((0.85, 0.7, 0.55, 0.4), 2000)
    ]
    found = shares(learn(records, MODELS))
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("order", ["abcd", "dabc"])
def test_a_model_without_labels_has_the_mean_of_the_panel(order: str) -> None:
    records = table((0.9, 0.6, 0.6), 300)
    weights = learn(records, order)
    assert weights.models["d"] == pytest.approx(sum(weights.models[m] for m in "abc") / 3, abs=0.2)
    assert weights.accuracies["d"] == pytest.approx(0.7, abs=0.03)
    assert weights.counts == {"a": 300, "b": 300, "c": 300, "d": 0}


def test_a_new_model_keeps_about_the_mean_until_more_is_known() -> None:
    old = table((0.9, 0.7, 0.7), 400)
    new = [replace(q, answers={**q.answers, "d": "no"}) for q in table((0.9, 0.7, 0.7), 2, seed=9)]
    later = [replace(q, answers={**q.answers, "d": "no"}) for q in table((0.9, 0.7, 0.7), 100, seed=9)]
    assert learn([*old, *new], MODELS).models["d"] > 1.5
    assert learn([*old, *later], MODELS).models["d"] < 0.7


def test_identical_models_count_once() -> None:
    records = table((0.6, 0.7, 0.8), 3000, copies=2)
    alone, twice = learn(records, "abc").models, learn(records, MODELS).models
    assert twice["c"] == pytest.approx(twice["d"], abs=0.01)
    assert twice["c"] + twice["d"] < 1.25 * alone["c"]


@given(tables)
def test_accuracies_are_shrunk_towards_that_of_the_panel(records: list[AnsweredQuestion]) -> None:
    found = shrunk_accuracies(records, MODELS)
    golden = [q for q in records if q.gold is not None]
    raw = {
        m: (sum(q.answers[m] == q.gold for q in golden), sum(q.answers[m] is not None for q in golden))
        for m in MODELS
    }
    mean = (sum(c for c, _ in raw.values()) + 1) / (sum(n for _, n in raw.values()) + 2)
    for model, (right, n) in raw.items():
        own = right / n if n else mean
        assert min(own, mean) - 1e-9 <= found[model] <= max(own, mean) + 1e-9
        assert 0 < found[model] < 1


def test_differences_between_other_models_do_not_lead_to_the_solo_rule() -> None:
    records = table((0.6, 0.45, 0.5), 700, options=3, seed=0, copies=3)
    same = [replace(q, answers={**dict.fromkeys("abcde", q.answers["a"]), "x": "y"}) for q in records[300:]]
    assert learn([*records[:300], *same], "abcde").rule == "labels"


@pytest.mark.parametrize("seed", range(4))
def test_on_its_training_questions_the_rule_is_never_worse_than_the_best_model(seed: int) -> None:
    records = table((0.6, 0.45, 0.5), 700, options=3, seed=seed, copies=3)
    best = max(sum(q.answers[m] == q.gold for q in records) for m in records[0].answers)
    assert right(learn(records, "abcde"), records) >= best


def test_a_best_model_that_is_better_alone_decides_unless_it_abstains() -> None:
    weights = learn(table((0.6, 0.45, 0.5), 700, options=3, seed=0, copies=3), "abcde")
    assert weights.rule == "solo"
    assert choose(weights, AnsweredQuestion({"a": "x", **dict.fromkeys("bcde", "y")})) == "x"
    assert choose(weights, AnsweredQuestion({"a": None, **dict.fromkeys("bcde", "y")})) == "y"


def test_a_model_far_ahead_outweighs_three_that_err_as_one() -> None:
    chance, records = random.Random(1), []
    for _ in range(500):
        gold, wrong = chance.sample("uvwxyz", 2)
        best = gold if chance.random() < 0.7 else wrong
        three = gold if chance.random() < 0.45 else wrong
        records.append(AnsweredQuestion({"a": best, **dict.fromkeys("bcd", three)}, gold, 6))
    weights = learn(records, MODELS)
    assert weights.rule == "labels"
    assert choose(weights, AnsweredQuestion({"a": "x", **dict.fromkeys("bcd", "y")})) == "x"


def test_luck_on_few_questions_does_not_lead_to_the_solo_rule() -> None:
    records = table((0.62, 0.6, 0.6), 40, options=3, seed=12)
    weights = learn(records, "abc")
    best = max(sum(q.answers[m] == q.gold for q in records) for m in "abc")
    assert right(weights, records) < best
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
    apart = []
    for n in (0, 2, 5, 600):
        weights = learn([*many[:n], *(replace(q, category="physics") for q in many[600:])], MODELS)
        apart.append(max(abs(weights.of("law")[m] - weights.models[m]) for m in MODELS))
    assert apart == sorted(apart)
    assert apart[1] == 0
    assert apart[2] < 5 / PRECISION < apart[3]


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
def test_a_model_that_outweighs_all_others_together_decides(votes: dict[str, float]) -> None:
    first = max(votes, key=votes.__getitem__)
    answers = {model: "own" if model == first else "other" for model in MODELS}
    decides = votes[first] > sum(weight for model, weight in votes.items() if model != first)
    if any(votes.values()):
        assert (choose(Weights("", 0, votes), AnsweredQuestion(answers)) == "own") >= decides


def test_weights_survive_json() -> None:
    weights = learn(by_category(50), MODELS)
    assert Weights(**asdict(weights)) == weights


def test_questions_that_none_of_the_models_answered_are_ignored() -> None:
    elsewhere = [AnsweredQuestion({"x": "1", "y": "2"}, "1") for _ in range(20)]
    assert learn(elsewhere, MODELS) == equal(MODELS)
    both = [*elsewhere, *table(PEERS, 200)]
    assert learn(both, MODELS) == learn(table(PEERS, 200), MODELS)


def test_without_any_weight_each_answer_counts_one() -> None:
    weights = Weights("labels", 10, {"a": 2.0, "b": 0.0, "c": 0.0, "d": 0.0})
    question = AnsweredQuestion({"a": None, "b": "x", "c": "y", "d": "y"})
    assert choose(weights, question) == "y"
    seats = [Seat(name, name, weight=weight) for name, weight in weights.models.items()]
    assert by_seat(list(question.answers.values()), seats).winner == "y"
