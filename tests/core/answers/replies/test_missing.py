"""Words in the place of an answer that give none, and questions that make them one."""

from __future__ import annotations

import pytest

from pnyx.core.answers.replies.extract import final_answer
from pnyx.core.answers.replies.missing import is_missing, is_vague
from pnyx.core.answers.words import table
from tests.support.rows import rows

NEUTRAL = "Wo liegt Atlantis?"
WORDS = table("no_answers")


@rows("code", WORDS)
def test_that_nothing_is_known_counts_only_where_it_is_offered(code: str) -> None:
    for word in WORDS[code]["unknown"]:
        assert all(is_missing(written, NEUTRAL) for written in (word, f"{word.capitalize()}.")), word
        assert not is_missing(word, f"{NEUTRAL} 1) 7 2) {word}") or word in table("answers")[code]["unknown"]
        assert not is_missing(f"{word} 7", NEUTRAL), word


@rows("code", WORDS)
def test_none_is_missing_only_behind_a_question_for_an_explanation(code: str) -> None:
    for word in WORDS[code]["none"]:
        assert not any(is_missing(word, question) for question in (None, NEUTRAL)), word
        for opening in WORDS[code]["open"][:1]:
            assert is_missing(word, f"{opening} 7?"), word


@rows("code", WORDS)
def test_words_for_what_an_answer_is_like_are_not_what_nothing_is(code: str) -> None:
    row = WORDS[code]
    assert all(is_vague(word, (code,)) for word in row["vague"])
    assert not set(row["vague"]) & {*row["unknown"], *row["none"]}
    assert not any(is_vague(word, ("xx",)) for word in row["vague"])


@rows(
    "text, question, answer",
    [
        ("The answer is clear.", None, None),
        ("The answer is clear.", "Is the water clear or cloudy?", "clear"),
        ("The answer is easy.", "What is the opposite of difficult?", "easy"),
        ("Final answer: unknown", None, "unknown"),
        ("Final answer: unknown", "What is the capital of Atlantis?", None),
        ("Final answer: unknown", "Answer yes, no or unknown.", "unknown"),
        ("Final answer: I don't know", "What does this word mean?", None),
        ("Final answer: N/A", "Answer yes, no or N/A.", "N/A"),
        ("Final answer: None", "What does print(None) print?", "None"),
        ("Final answer: none", "How should we migrate the database?", None),
        ("Final answer: none", "Which of these are prime?", "none"),
        ("Final answer: P. I. Tchaikovsky", "Who wrote it?", "P. I. Tchaikovsky"),
    ],
)
def test_the_question_decides(text: str, question: str | None, answer: str | None) -> None:
    assert final_answer(text, question) == answer


@pytest.mark.parametrize(
    ("reply", "asked", "answer"),
    [
        ("Final answer: unknown", "Answer yes, no or unknown.", "unknown"),
        ("Final answer: unknown", "Which word is meant?", "unknown"),
        ("Final answer: unknown", "Where does it run?", None),
    ],
)
@pytest.mark.parametrize("question", ["{document} {asked}", "{asked} {document}"])
def test_a_long_document_beside_the_question_hides_nothing(
    reply: str, asked: str, answer: str | None, question: str
) -> None:
    document = "The service stores its rows in a table. " * 2_000
    assert final_answer(reply, question.format(document=document, asked=asked)) == answer
