"""What is learned of a decision: and of whom."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.errors import UsageError
from pnyx.reliability.feedback import judge


def result(**detail: Any) -> dict[str, Any]:
    seats = [{"seat": f"Participant {s}", "model": f"lab:{m}"} for s, m in zip("ABC", "xyz", strict=True)]
    native = {"Participant A": "1", "Participant B": "2", "Participant C": "1"}
    told = {"seats": seats, "final_answer": "1", "confidence": 0.6, "protocol": "aggregate"}
    return {**told, "detail": {"native": native, **detail}}


def test_a_model_learns_of_its_own_answers() -> None:
    assert judge(result(), "success").answers == (("lab:x", "1"), ("lab:y", "2"), ("lab:z", "1"))


def test_of_answers_that_were_given_only_who_gave_them_learns() -> None:
    assert judge(result(given=["human:bob", "lab:y", ""]), "success").answers == (("lab:y", "2"),)
    assert judge(result(given=["human:bob"]), "success").answers == (("lab:y", "2"), ("lab:z", "1"))


@pytest.mark.parametrize("truth", ["", "  "])
def test_an_empty_answer_is_refused(truth: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        judge(result(), "failure", truth)


@pytest.mark.parametrize("truth", ["4\0", "\ud83d"])
def test_an_answer_that_is_no_text_is_refused(truth: str) -> None:
    with pytest.raises(UsageError, match="NUL or half a character"):
        judge(result(), "failure", truth)
