"""Sentences that state the answer at the end of a reply."""

from __future__ import annotations

from pnyx.core.answers.replies import conclusions
from pnyx.core.answers.replies.values import is_definite
from tests.support.rows import rows


@rows(
    "sentence",
    [
        "The answer is 42.",
        "THE ANSWER IS 42.",
        "So the correct option is 42.",
        "The code prints 42",
        "No wait, 42.",
        "I would choose 42.",
        "I vote for 42.",
        "We go with 42",
        "42 is the right one.",
        "42 is my final answer.",
        "I stand by my answer of 42",
        "My answer remains 42",
        "I agree: 42",
        "It is 42.",
        "This gives a final answer of 42",
    ],
)
def test_an_answer_is_stated_in_many_forms(sentence: str) -> None:
    assert conclusions.stated_value(sentence, is_definite) == "42"
