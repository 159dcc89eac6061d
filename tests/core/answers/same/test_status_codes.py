"""Status codes of HTTP are the same with their phrase, where the question asks for one."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from pnyx import same_answer
from tests.support.rows import rows

QUESTION = "Which HTTP status code does the server return?"


def test_a_code_is_the_same_with_its_phrase_and_no_other() -> None:
    for status, other in zip(HTTPStatus, [*HTTPStatus][1:], strict=False):
        code = str(status.value)
        assert same_answer(code, f"{code} {status.phrase}", QUESTION), code
        assert same_answer(f"HTTP {code} {status.phrase}", f"{code} ({status.phrase})", QUESTION), code
        assert not same_answer(code, f"{other.value} {status.phrase}", QUESTION), code
        assert not same_answer(code, f"{code} {other.phrase}", QUESTION), code


@pytest.mark.parametrize(
    "question",
    [None, "What does the page say?", "How many pages are there?", "Which code opens the door?"],
)
def test_without_such_a_question_the_phrase_counts(question: str | None) -> None:
    assert not same_answer("404 Not Found", "404", question)


@rows("other", ["404 pages", "40", "4040", "Not Found", "404 or 410", "404.5"])
def test_what_is_no_code_is_not_read_as_one(other: str) -> None:
    assert not same_answer("404", other, QUESTION)


@pytest.mark.parametrize("question", ["¿Qué código de estado es?", "返回什么状态码？", "Welcher Statuscode?"])
def test_the_question_may_be_in_another_language(question: str) -> None:
    assert same_answer("404 Not Found", "404", question)


def test_initials_are_no_number() -> None:
    assert same_answer("P. I. Tchaikovsky", "Pyotr Ilyich Tchaikovsky", "Who composed it?")
    assert not same_answer("P. I. Tchaikovsky", "π", "Who composed it?")
    assert not same_answer("P. I.", "π")
