"""Word overlap, the measure of convergence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.prose.convergence import overlap
from tests.support.rows import rows

WORDS = ["the", "sum", "is", "wrong", "cost", "1,000", "über", "我"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@rows(
    "a, b, expected",
    [
        ("a b c", "b c d", 0.5),
        ("the cost is wrong", "the cost is wrong", 1.0),
        ("the cost", "no match here", 0.0),
        ("", "", 1.0),
        ("...", "—", 1.0),
        ("", "word", 0.0),
        ("cost cost cost", "cost", 1.0),
        ("The COST", "the cost", 1.0),
        ("STRASSE", "straße", 1.0),
        ("cafe\u0301", "caf\u00e9", 1.0),
        ("don\u2019t", "don't", 1.0),
        ("ｃｏｓｔ", "cost", 1.0),
        ("1,000.5 or 2", "1,000.5 or 2", 1.0),
        ("0.5", "0.7", 0.0),
        ("成本太高", "成本不高", 3 / 5),
    ],
)
def test_two_texts_overlap_by_the_words_in_both_over_those_in_either(a: str, b: str, expected: float) -> None:
    assert overlap([a], [b]) == pytest.approx(expected)


@rows(
    "text",
    [
        "**the cost** is _wrong_",
        "# The cost is wrong",
        "1. the cost\n2. is wrong",
        "- the cost\n- is wrong",
        "> the cost is wrong",
        "[the cost](https://example.com/a/b) is wrong",
        "`the cost` is wrong!",
        "<b>the cost</b> is wrong",
        "the cost, is: wrong?!",
    ],
)
def test_markdown_is_not_words(text: str) -> None:
    assert overlap([text], ["the cost is wrong"]) == 1.0


def test_overlap_is_the_mean_of_the_best_match_of_each_present_text() -> None:
    before = ["a b c d", "x y"]
    assert overlap(["a b c d", "x q"], before) == pytest.approx((1 + 1 / 3) / 2)
    assert overlap(["x y"], before) == 1.0


def test_overlap_measures_what_is_repeated_and_not_what_is_dropped() -> None:
    assert overlap(["a b"], ["a b", "c d", "e f"]) == 1.0
    assert overlap(["a b", "c d", "e f"], ["a b"]) == pytest.approx(1 / 3)


def test_nothing_on_either_side_is_no_overlap() -> None:
    assert overlap([], ["a"]) == overlap(["a"], []) == overlap([], []) == 0.0


@given(TEXTS, TEXTS)
def test_the_overlap_of_two_texts_is_symmetric_and_between_none_and_all(a: str, b: str) -> None:
    assert 0 <= overlap([a], [b]) == overlap([b], [a]) <= 1
    assert overlap([a], [a]) == 1


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_overlap_does_not_depend_on_the_order_of_seats(now: list[str], before: list[str]) -> None:
    assert overlap(now, before) == pytest.approx(overlap(now[::-1], before[::-1]))


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(TEXTS, max_size=3))
def test_a_round_that_repeats_the_last_overlaps_fully(now: list[str], more: list[str]) -> None:
    assert overlap(now, [*more, *now]) == 1.0


@given(st.text(), st.text())
def test_any_text_can_be_compared(a: str, b: str) -> None:
    assert 0 <= overlap([a], [b]) <= 1
