"""Judged runs: what they record, and for which models."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.errors import UsageError
from pnyx.reliability.feedback import JudgedRun, distinct, judge, questions
from pnyx.reliability.weights import learn


def result(**detail: Any) -> dict[str, Any]:
    seats = [{"seat": f"Participant {s}", "model": f"lab:{m}"} for s, m in zip("ABC", "xyz", strict=True)]
    native = {"Participant A": "1", "Participant B": "2", "Participant C": "1"}
    base = {"seats": seats, "final_answer": "1", "confidence": 0.6, "protocol": "aggregate"}
    return {**base, "detail": {"native": native, **detail}}


def test_answers_are_assigned_to_their_models() -> None:
    assert judge(result(), "success").answers == (("lab:x", "1"), ("lab:y", "2"), ("lab:z", "1"))


def test_a_supplied_answer_counts_only_for_its_author() -> None:
    assert judge(result(given=["human:bob", "lab:y", ""]), "success").answers == (("lab:y", "2"),)
    assert judge(result(given=["human:bob"]), "success").answers == (("lab:y", "2"), ("lab:z", "1"))


@pytest.mark.parametrize("truth", ["", "  "])
def test_an_empty_answer_is_refused(truth: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        judge(result(), "failure", truth)


@pytest.mark.parametrize(("final", "truth"), [("8", "99"), ("yes", "no"), ("12 km", "12 kg")])
def test_a_success_with_another_answer_is_refused(final: str, truth: str) -> None:
    with pytest.raises(UsageError, match=f"which is '{final}' and not '{truth}'"):
        judge(result() | {"final_answer": final}, "success", truth)
    for verdict in ("partial", "failure"):
        assert judge(result() | {"final_answer": final}, verdict, truth).result == verdict


@pytest.mark.parametrize(
    ("final", "truth"), [("1/2", "0.5"), ("8", "8 apples"), ("Yes.", "yes"), (None, "8")]
)
def test_a_success_accepts_the_decisions_answer_in_any_notation(final: str | None, truth: str) -> None:
    assert judge(result() | {"final_answer": final}, "success", truth).result == "success"


def test_a_success_in_other_words_keeps_the_decisions_answer() -> None:
    judged = judge(result() | {"final_answer": "PostgreSQL 16"}, "success", "Postgres")
    assert judged.gold == "postgresql 16"


def test_a_decision_may_fail_with_a_right_answer() -> None:
    judged = judge(result(), "failure", "1")
    assert (judged.result, judged.gold, judged.answers[0]) == ("failure", "1", ("lab:x", "1"))


def test_runs_count_once_however_many_seats_they_have() -> None:
    seats = (*[("a", "1")] * 3, *[("b", "1")] * 3, ("c", "2"))
    judged = [JudgedRun("voting", "success", 0.9, seats, "1")] * 9
    assert len(questions(judged)) == 9
    learned = learn(questions(judged), "abc")
    assert (learned.rule, learned.n) == ("labels", 9)
    assert learned.counts == dict.fromkeys("abc", 9)


def test_the_first_answer_of_several_seats_of_a_model_counts() -> None:
    (question,) = questions([JudgedRun("sample", "success", 0.9, (("a", None), ("a", "2"), ("a", "1")), "1")])
    assert question.answers == {"a": "2"}


@pytest.mark.parametrize("truth", ["4\0", "\ud83d"])
def test_an_answer_that_is_not_text_is_refused(truth: str) -> None:
    with pytest.raises(UsageError, match="NUL or half a character"):
        judge(result(), "failure", truth)


def test_strongest_first_votes_are_not_used_for_weights() -> None:
    """Models that are called only if the strongest differ see harder questions and look worse."""
    judged = judge(
        {**result(), "protocol": "voting", "confidence_rule": "vote share, strongest first"}, "success"
    )
    assert (judged.gold, questions([judged])) == ("1", [])
    whole = judge({**result(), "protocol": "voting", "confidence_rule": "vote share"}, "success")
    assert len(questions([judged, whole])) == 1


def test_of_runs_with_the_same_question_the_latest_counts() -> None:
    def run(asked: str | None, gold: str | None, protocol: str = "voting") -> JudgedRun:
        return JudgedRun(protocol, "success", answers=(("a", "1"),), gold=gold, asked=asked)

    first, other, latest, unknown = run("q", "1"), run("r", "2"), run("q", "3"), run(None, "4")
    unread = [run("r", None), run("r", "5", "voting, strongest first")]
    assert distinct([first, other, latest, unknown, unknown, *unread]) == [other, latest, unknown, unknown]
