"""What says something, and what does not: blank text, loops, verdicts without a reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.prose.substance import is_rubbish, is_substantive, names_something
from tests.support.rows import rows

RUBBISH = ("", "  ", "...", "?! -- …", "。。。", "**", "the answer is the " * 10, "na " * 40)
SAYING = ("4", "<=", "x != 0", "B", "да", "。5", "0 1 " * 40, "No.", "Keep two replicas.", "好")
EMPTY = (
    "The answer is wrong about.",
    "The answer is wrong about. The answer is wrong about.",
    "I disagree.",
    "Your answer is completely wrong and should be reconsidered.",
    "There is a fundamental flaw in the reasoning of the proposal.",
    "That's not true!",
)
CRITIQUES = (
    "The total is 13.",
    "The cost of the second replica is missing from the comparison altogether.",
    "It ignores leap years.",
    "Step 3 is wrong.",
    "Die Kosten fehlen.",
    "没有考虑备份的成本。",
    "El segundo paso no se sigue del primero.",
)


@rows("text", RUBBISH)
def test_blank_text_and_loops_are_rubbish(text: str) -> None:
    assert is_rubbish(text)
    assert not is_substantive(text)


@rows("text", [*SAYING, *EMPTY, *CRITIQUES])
def test_what_can_be_an_answer_is_not_rubbish(text: str) -> None:
    assert not is_rubbish(text)


@rows("text", EMPTY)
def test_a_verdict_without_a_reason_is_not_substantive(text: str) -> None:
    assert not is_substantive(text)
    assert not is_substantive(f"{text} {text} {text}")


@rows("text", CRITIQUES)
def test_a_critique_that_names_something_is_substantive_in_any_language(text: str) -> None:
    assert is_substantive(text)


@rows(
    "short, names",
    [
        ("wrong", False),
        ("wrong about", False),
        ("no", True),
        ("12", True),
        ("B", True),
        ("<=", True),
        ("Paris", True),
    ],
)
def test_a_word_of_a_verdict_is_no_answer(short: str, names: bool) -> None:
    assert names_something(short) is names


@given(st.lists(st.sampled_from(("the", "answer", "is", "wrong", "about", "claim")), max_size=60))
def test_no_order_of_empty_words_says_anything(words: list[str]) -> None:
    assert not is_substantive(" ".join(words))


@given(st.text(max_size=200))
def test_any_text_can_be_judged_and_a_critique_is_never_rubbish(text: str) -> None:
    assert not (is_rubbish(text) and is_substantive(text))
