"""Texts that a model may write by mistake: nothing raises, and comparing stays symmetric."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

import pnyx
from tests.support.properties import examples
from tests.support.rows import rows

HOSTILE = [
    "(" * 500, "[" * 300 + "]" * 300, "9^9^9^9^9", "1e999999999", "\\frac{" * 100, "100!!!!!!",
    "1/" * 90 + "1",
    "\\boxed{" * 60 + "1" + "}" * 60, "\\pm " * 60 + "1", "百" * 190, "A, " * 60, "Final answer: " * 100,
    "{'a':" * 39 + "1" + "}" * 39, "\ud800", "MDCLXVI" * 20,
    "hundert" * 11, "ba phần " * 9, "分之" * 90, "mille " * 13, ":" * 39, "[a-z]" * 39,
    "Counter(" * 40, "\\begin{vmatrix}" * 12, "C(1,2)" * 30,
    "x ≡ 1 (mod " * 18, ", k ∈ Z" * 25,
    "+1-(" * 40, '{"answer": ' * 90, " and " * 40, "so,  " * 40, "∪(A" * 26, "2H2 + " * 33, "\\ce{" * 40,
    "half a " * 28, "1:" * 90, "1 to " * 40, "Ann and " * 25, "<b>" * 60, "1j+" * 60,
]  # fmt: skip
PARTS = [
    "1", "x", "2.5", "(", ")", "\\sqrt{", "}", "^", "/", "±", "=", "<", " and ", ", ", "%", "km", "USA",
    "the ",
    "Yes", "not ", "'", "`", "½", "٣", "万", ":", "-", "\n", "{", "|",
]  # fmt: skip


@rows("text", HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_a_hostile_text_is_compared_and_read(text: str) -> None:
    for other in (f"{text}1", "1"):
        assert pnyx.same_answer(text, other) == pnyx.same_answer(other, text)
    assert pnyx.same_answer(text, text, "Which country is it?")
    assert pnyx.final_answer(f"{text}\nFinal answer: 5", "How many?") == "5"


def test_an_equation_may_have_anything_on_its_left() -> None:
    signs = ("(", ")", "[", "]", "{", "}", ",", ";", "x", "2", "-", "^", "_", "|", "f(")
    for count in range(4):
        for left in map("".join, product(signs, repeat=count)):
            assert not pnyx.same_answer(f"{left}=2", "y = 3")


@examples(60)
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.lists(st.sampled_from(PARTS), max_size=12))
def test_runs_of_signs_and_words_are_compared_symmetrically(one: list[str], two: list[str]) -> None:
    a, b = "".join(one), "".join(two)
    assert pnyx.same_answer(a, b) == pnyx.same_answer(b, a)
    assert pnyx.same_answer(a, a)
    assert not a.strip() or pnyx.same_answer(a, f"  {a} ")


def test_a_text_of_a_hundred_thousand_characters_is_compared_as_it_is_written() -> None:
    for part in ("\\frac{1}", "(", "a, ", "分之", "x ≡ 1 (mod ", "Counter("):
        text = part * (100_000 // len(part))
        assert pnyx.same_answer(text, f" {text}")
        assert not pnyx.same_answer(text, f"{text}1")
