"""The report of a log: figures computed a second way, and no rule graded on questions it learned from."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import UsageError
from pnyx.evaluate.analysis import arms as module
from pnyx.evaluate.analysis.answer_groups import RIGHT
from pnyx.evaluate.analysis.arms import COMBINED, MAJORITY, ORACLE, SINGLE, WEIGHTED, arms
from pnyx.evaluate.analysis.confidence import risk_coverage
from pnyx.evaluate.analysis.log import Log, Row
from pnyx.evaluate.report.document import document
from tests.evaluate.logs import TARGET, log, random_log
from tests.support.properties import examples

Values = dict[str, Any]


def arm(report: Values, name: str) -> Values:
    (found,) = [one for one in report["arms"] if one["name"] == name]
    return dict(found)


def pair(report: Values, name: str, to: str) -> Values:
    (found,) = [one for one in report["pairs"] if (one["arm"], one["to"]) == (name, to)]
    return dict(found)


TINY = log(
    {"a": "++++++xx.+", "b": "+++x++xy!+", "c": "++xx++yyx."},
    {"council": "++++xx++x+"},
    "++++++x+x+",
    change=lambda row: {"cost_usd": 0.02 if row.arm == "council" else 0.01},
)


def test_the_figures_of_an_arm_match_a_count_by_hand() -> None:
    report = document(TINY)
    assert (report["questions"], report["asked"], report["partial"]) == (10, 10, False)
    # All three are right on q0, q1, q4 and q5; on the others one differs or is silent.
    assert (report["unanimous"], report["split"]) == (4, 6)
    b = arm(report, "b")
    assert (b["n"], b["right"], b["unread"], b["errors"]) == (10, 6, 0, 1)
    assert b["accuracy"]["mean"] == 0.6
    assert (b["unanimous"]["right"], b["split"]["n"], b["split"]["right"]) == (4, 6, 2)
    a = arm(report, "a")
    assert (a["right"], a["unread"], a["errors"]) == (7, 1, 0)
    assert a["usd_per_right"] == pytest.approx(0.1 / 7)
    council = arm(report, "council")
    assert (council["calls"], council["input_tokens"], council["output_tokens"]) == (1, 100, 10)
    assert council["total_usd"] == pytest.approx(0.2)
    assert (council["cost_usd"], council["kind"]) == (pytest.approx(0.02), "protocol")


def test_the_pool_arms_combine_the_answers_of_the_models() -> None:
    report = document(TINY)
    # a is best in every fold. Majority: right on q0-q2, q4, q5 and q9; q3 goes x to two against one.
    assert arm(report, SINGLE)["chosen"] == {"a": 10}
    assert arm(report, SINGLE)["right"] == 7
    assert arm(report, MAJORITY)["right"] == 6
    assert arm(report, ORACLE)["right"] == 7
    for name in (MAJORITY, WEIGHTED, ORACLE):
        one = arm(report, name)
        assert (one["calls"], one["input_tokens"], one["output_tokens"]) == (3, 300, 30)
        assert one["total_usd"] == pytest.approx(0.3)
        assert one["seconds_p50"] == one["seconds_p95"] == 1.0
    assert [one["name"] for one in report["arms"]] == [
        "a",
        "b",
        "c",
        *COMBINED[:3],
        "samples",
        "council",
        ORACLE,
    ]


def test_a_pool_arm_is_silent_only_if_all_models_are() -> None:
    report = document(log({"a": "+.!!", "b": "+.!.", "c": "+.!!"}))
    majority = arm(report, MAJORITY)
    assert (majority["right"], majority["unread"], majority["errors"]) == (1, 2, 1)
    assert report["unanimous"] == 1


def test_a_vote_counts_answers_and_does_not_know_which_are_right() -> None:
    # If a is right, b and c have the same wrong answer in two wordings, and the vote cannot know that.
    answers = {"a": "13 km", "b": "12", "c": "12 km"}
    made = log(
        {"a": "+" * 12 + "x" * 8, "b": "z" * 20, "c": "z" * 20},
        change=lambda row: {"answer": answers[row.arm] if row.correct or row.arm != "a" else "11 km"},
    )
    report = document(made)
    assert arm(report, SINGLE)["right"] == 12
    assert arm(report, MAJORITY)["right"] == 0
    assert report["unanimous"] == 0


def test_right_answers_in_different_words_are_no_majority() -> None:
    """As with a judge or an Inspect task: each answer has its own words."""
    rng = random.Random(1)
    models = {name: "".join(rng.choice("+x") for _ in range(300)) for name in "abc"}
    report = document(log(models, change=lambda row: {"answer": f"the wording of {row.arm} in {row.id}"}))
    assert arm(report, MAJORITY)["right"] == arm(report, SINGLE)["right"]
    assert report["unanimous"] == 0


def test_different_notations_of_an_answer_are_one_group_as_in_a_vote() -> None:
    def change(row: Row) -> dict[str, Any]:
        if row.id == "q000":  # a is wrong; b and c are right, each in its own words
            return {"answer": {"a": "7", "b": "1/2", "c": "0.5"}[row.arm], "correct": row.arm != "a"}
        # a and b equal the target but are graded wrong; c is right.
        return {"answer": TARGET if row.id == "q001" else RIGHT, "correct": row.arm == "c"}

    rows = next(c for c in arms(log(dict.fromkeys("abc", "+++"), change=change)) if c.name == MAJORITY).rows
    assert [rows[id].correct for id in sorted(rows)] == [True, False, False]
    assert rows["q000"].confidence == pytest.approx(2 / 3)


def test_no_learned_rule_answers_or_calibrates_with_a_question_that_it_was_learned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: Counter[tuple[str, str]] = Counter()
    learn_rules = module._learn_rules

    def watched(models: Sequence[str], pool: Mapping[str, Any], train: Sequence[str]) -> dict[str, Any]:
        def rule(name: str, inner: Callable[[str], Row | None], id: str) -> Row | None:
            assert id not in train
            asked[name, id] += 1
            return inner(id)

        return {n: partial(rule, n, inner) for n, inner in learn_rules(models, pool, train).items()}

    monkeypatch.setattr(module, "_learn_rules", watched)
    # It asks two rules which kind of weights they have, whatever the question.
    monkeypatch.setattr(module, "_same_weights", lambda one, other, ids: True)
    made = random_log(30, change=lambda row: {"category": f"c{int(row.id[1:]) % 3}", "options": 4})
    columns = {column.name: column for column in arms(made)}
    assert set(columns[WEIGHTED].calibrated) == set(made.ids)
    # Each question twice for its answer, with its support, and once for each fold that calibrates with it.
    assert set(asked.values()) == {2 + module.FOLDS - 1}
    assert {name for name, _ in asked} == {*COMBINED, ORACLE}


def test_pairs_match_a_brute_force_computation() -> None:
    made = random_log(80, seed=4, gain=0.2)
    report = document(made)
    right = {column.name: {id: row.correct for id, row in column.rows.items()} for column in arms(made)}
    assert {(p["arm"], p["to"]) for p in report["pairs"]} == {
        (one, to) for one in right for to in (SINGLE, MAJORITY, "samples") if one != to
    }
    for p in report["pairs"]:
        ours, theirs = right[p["arm"]], right[p["to"]]
        rescues = sum(ours[id] and not theirs[id] for id in ours)
        regressions = sum(theirs[id] and not ours[id] for id in ours)
        assert (p["n"], p["rescues"], p["regressions"]) == (80, rescues, regressions)
        difference = p["difference"]
        assert difference["mean"] == pytest.approx((rescues - regressions) / 80)
        assert difference["low"] <= difference["mean"] <= difference["high"]
        assert p["safety_multiple"] == (pytest.approx(rescues / regressions) if regressions else None)
    council = pair(report, "council", SINGLE)
    won, most = (sum(right[name].values()) - sum(right[SINGLE].values()) for name in ("council", ORACLE))
    assert council["oracle_gap_closed"] == pytest.approx(won / most)
    assert pair(report, ORACLE, SINGLE)["oracle_gap_closed"] == 1
    assert pair(report, "council", "samples")["oracle_gap_closed"] is None
    assert council["p"] == pytest.approx(_sign_test(council["rescues"], council["regressions"]))
    assert council["cost_ratio"] == council["token_ratio"] == pytest.approx(1)
    assert pair(report, MAJORITY, "samples")["cost_ratio"] == pytest.approx(3)


def _sign_test(ours: int, theirs: int) -> float:
    """The share of the outcomes of a fair coin that are at least as uneven."""
    chances = [1.0]
    for _ in range(ours + theirs):
        chances = [(a + b) / 2 for a, b in zip([0.0, *chances], [*chances, 0.0], strict=True)]
    apart = abs(ours - theirs)
    return sum(p for k, p in enumerate(chances) if abs(2 * k - ours - theirs) >= apart)


def test_the_correction_is_for_the_panel_arms_compared_with_the_same_one() -> None:
    report = document(random_log(60, seed=1, gain=0.3))
    family = [p for p in report["pairs"] if p["to"] == SINGLE and p["p_holm"] is not None]
    assert {p["arm"] for p in family} == {MAJORITY, WEIGHTED, "council", "moa"}
    least = min(family, key=lambda p: p["p"])
    assert least["p_holm"] == pytest.approx(min(1.0, 4 * least["p"]))
    assert {p["arm"] for p in report["pairs"] if p["to"] == MAJORITY and p["p_holm"] is not None} == {
        WEIGHTED,
        "council",
        "moa",
    }


def test_the_best_single_is_chosen_on_other_questions_than_it_is_graded_on(unweighted: None) -> None:
    """Every model is right on half of the questions: one better in four folds is worse in the fifth."""
    accuracies = []
    for seed in range(6):
        rng = random.Random(seed)
        models = {name: "".join(rng.sample("+" * 20 + "x" * 20, 40)) for name in "abcdefgh"}
        report = document(log(models, seed=seed))
        assert arm(report, SINGLE)["n"] == 40
        accuracies.append(arm(report, SINGLE)["accuracy"]["mean"])
    assert sum(accuracies) / len(accuracies) < 0.45


@examples(2)
@given(st.integers(0, 29), st.integers(0, 5))
def test_no_rule_sees_the_truth_of_the_question_that_it_answers(place: int, seed: int) -> None:
    """With its grades inverted, a question keeps its model, its winners and its confidence."""
    made = random_log(30, seed, change=lambda row: {"confidence": 0.6 if row.correct else 0.4})
    id = f"q{place:03}"
    rows = [replace(row, correct=row.answer == "x") if row.id == id else row for row in made.rows]
    turned = replace(made, rows=tuple(rows))
    before, after = ({c.name: c for c in arms(one)} for one in (made, turned))
    assert before[SINGLE].rows[id].arm == after[SINGLE].rows[id].arm
    for name in (MAJORITY, WEIGHTED):
        assert before[name].rows[id].answer == after[name].rows[id].answer
    for name in (SINGLE, MAJORITY, WEIGHTED, "council"):
        assert before[name].rows[id].confidence == after[name].rows[id].confidence
        assert before[name].calibrated[id] == after[name].calibrated[id]


def test_the_order_of_answers_and_a_round_trip_through_a_file_change_nothing(tmp_path: Path) -> None:
    made = random_log(30, seed=2, change=lambda row: {"category": f"c{len(row.id + row.arm) % 2}"})
    report = document(made)
    made.write(tmp_path / "log.jsonl")
    assert document(Log.read(tmp_path / "log.jsonl")) == report
    rows = list(made.rows)
    random.Random(1).shuffle(rows)
    assert document(replace(made, rows=tuple(rows))) == report
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_an_unfinished_evaluation_is_compared_on_its_finished_questions() -> None:
    report = document(
        log({"a": "++++++x_", "b": "+++x+x++"}, {"council": "++++____", "moa": "________"}, "+++++xx_")
    )
    assert (report["questions"], report["asked"], report["partial"]) == (7, 8, True)
    assert (arm(report, "b")["n"], arm(report, "council")["n"], arm(report, SINGLE)["n"]) == (7, 4, 7)
    assert pair(report, "council", SINGLE)["n"] == 4
    moa = arm(report, "moa")
    assert (moa["n"], moa["accuracy"], moa["cost_usd"], moa["seconds_p50"]) == (0, None, None, None)
    assert not [p for p in report["pairs"] if p["arm"] == "moa"]
    assert report["verdict"][0].startswith("Not finished: every model has answered 7 of 8 questions")
    assert "council 4 and moa 0" in report["verdict"][0]


def test_an_unknown_price_is_never_zero() -> None:
    report = document(random_log(20, change=lambda row: {"cost_usd": None} if row.arm == "b" else {}))
    for name in ("b", MAJORITY, WEIGHTED, ORACLE):
        assert [arm(report, name)[key] for key in ("cost_usd", "total_usd", "usd_per_right")] == [None] * 3
    assert arm(report, "a")["total_usd"] == pytest.approx(0.2)
    assert pair(report, MAJORITY, "samples")["cost_ratio"] is None
    assert pair(report, MAJORITY, "samples")["token_ratio"] == pytest.approx(3)
    assert report["verdict"][-1] == "The cost of b is unknown, because a price is missing."


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (log({}), "no question"),
        (log({"a": "+_", "b": "_+"}), "no question"),
        (log({"a": "+"}, {MAJORITY: "+"}), "two arms of the log have the name 'majority'"),
        (replace(log({"a": "+"}), models=("a", "b")), "no arm for the model 'b'"),
    ],
)
def test_a_log_without_a_comparison_is_an_error(made: Log, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        document(made)


def test_rounds_count_what_they_fixed_and_broke() -> None:
    steps = iter([(False, True, True), (False, True, False), (True, False), (None, True, False), (False,)])
    report = document(
        log(
            {"a": "+++++"},
            {"council": "+++++"},
            change=lambda r: {"steps": next(steps)} if r.arm == "council" else {},
        )
    )
    assert arm(report, "council")["rounds"] == [
        {"round": 1, "n": 3, "fixed": 2, "broken": 1},
        {"round": 2, "n": 3, "fixed": 0, "broken": 2},
    ]
    assert arm(report, "a")["rounds"] == []


def test_categories_hold_every_question_once() -> None:
    def change(row: Row) -> dict[str, Any]:
        return {"category": {"q000": "law", "q001": "law", "q002": None}.get(row.id, "art")}

    report = document(log({"a": "+x++", "b": "++xx"}, {"council": "++_+"}, change=change))
    assert [(one["category"], one["n"]) for one in report["categories"]] == [
        ("art", 1),
        ("law", 2),
        (None, 1),
    ]
    law = report["categories"][1]["arms"]
    assert (law["a"]["right"], law["b"]["right"], law["council"]["n"]) == (1, 2, 2)
    assert report["categories"][2]["arms"]["council"] == {"n": 0, "right": 0, "accuracy": None}
    assert document(log({"a": "+"}))["categories"] == []


def test_confidence_is_calibrated_on_other_questions() -> None:
    """Three in four answers with support 0.9 are right: its error is 0.15, that of the confidence small."""
    report = document(
        random_log(
            200, change=lambda row: {"confidence": 0.9, "rule": "felt", "correct": int(row.id[1:]) % 4 > 0}
        )
    )
    sure = arm(report, "council")["confidence"]
    assert (sure["n"], sure["rules"]) == (200, {"felt": 200})
    assert sure["raw"]["ece"] == pytest.approx(0.15)
    assert sure["raw"]["brier"] == pytest.approx(0.75 * 0.01 + 0.25 * 0.81)
    assert sure["calibrated"]["ece"] < 0.05
    assert sure["calibrated"]["brier"] == pytest.approx(0.75 * 0.25, abs=0.01)
    assert (sure["calibrated"]["n"], sure["calibrated"]["outcomes"]) == (200, [160, 160])
    assert arm(report, ORACLE)["confidence"] is None


def test_coverage_is_a_share_of_all_answers_also_of_those_without_confidence() -> None:
    report = document(
        log({"a": "++xx"}, {"council": "+x+x"}, change=lambda r: {"confidence": 0.5} if r.id < "q002" else {})
    )
    assert arm(report, "council")["confidence"]["risk_coverage"] == [[0.5, 0.5]]


@given(st.lists(st.tuples(st.sampled_from((0.2, 0.5, 0.9)), st.booleans()), min_size=1, max_size=6))
def test_risk_and_area_are_means_over_all_orders_of_equal_confidence(
    pairs: list[tuple[float, bool]],
) -> None:
    points, area = risk_coverage(pairs)
    areas = []
    for order in permutations(pairs):
        if any(one[0] < other[0] for one, other in pairwise(order)):
            continue
        risks = [sum(not right for _, right in order[:k]) / k for k in range(1, len(order) + 1)]
        areas.append(sum(risks) / len(risks))
    assert area == pytest.approx(sum(areas) / len(areas))
    for threshold, (coverage, risk) in zip(
        sorted({sure for sure, _ in pairs}, reverse=True), points, strict=True
    ):
        answered = [right for sure, right in pairs if sure >= threshold]
        assert coverage == pytest.approx(len(answered) / len(pairs))
        assert risk == pytest.approx(answered.count(False) / len(answered))


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    points, _ = risk_coverage([(n / 1000, n % 3 == 0) for n in range(1000)])
    assert len(points) <= 100
    assert points[-1][0] == 1
    assert points[-1][1] == pytest.approx(666 / 1000)


def test_a_log_of_one_model_and_one_question_has_a_report() -> None:
    report = document(log({"a": "+"}))
    assert [arm(report, name)["right"] for name in COMBINED] == [1, 1, 1, 1]
    assert report["folds"] == 1
    assert any("not a panel" in sentence for sentence in report["verdict"])


def test_any_small_log_can_be_reported() -> None:
    for n, letters in enumerate(product("+x.!_", repeat=3)):
        models = {"a": "+" + letters[0] * 2, "b": "x" + letters[1] + "+"}
        report = document(log(models, {"council": letters[2] * 3}, letters[1] * 3 if n % 2 else ""))
        json.dumps(report, allow_nan=False)
        for one in report["arms"]:
            assert one["right"] <= one["n"] <= report["questions"]
