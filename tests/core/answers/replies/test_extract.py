"""Extraction and comparison of short answers: a labelled corpus, and properties of every answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pnyx.core.answers.code.literals import is_credibly_code
from pnyx.core.answers.replies.extract import final_answer, normalise, same
from pnyx.core.answers.same.equivalence import read
from tests.support.properties import examples
from tests.support.rows import rows

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "corpora" / "answers.jsonl").read_text("utf-8").splitlines()
]


def cases_with(key: str) -> Any:
    cases = [case for case in CORPUS if key in case]
    return rows("case", cases, ids=[case["id"] for case in cases])


@cases_with("text")
def test_the_short_answer_of_a_reply_is_extracted(case: dict[str, Any]) -> None:
    found = final_answer(case["text"], choices=case.get("choices", ()))
    assert found == case["answer"]
    assert found is None or normalise(found) == case["normal"]


@cases_with("value")
def test_a_value_has_its_canonical_text(case: dict[str, Any]) -> None:
    assert normalise(case["value"]) == case["normal"]
    assert normalise(case["normal"]) == case["normal"]


@cases_with("a")
def test_pairs_are_the_same_or_not(case: dict[str, Any]) -> None:
    assert same(case["a"], case["b"]) is case["same"]
    assert same(case["b"], case["a"]) is case["same"]


def test_every_case_of_the_corpus_is_of_one_kind_and_has_its_own_id() -> None:
    assert len({case["id"] for case in CORPUS}) == len(CORPUS)
    assert all(sum(key in case for key in ("text", "value", "a")) == 1 for case in CORPUS)


WORDS = r"""
1 2 30 4.5 ,000 , . / - ( ) [ ] { } % $ € = + × ^ * ** _ ` ~ " ' \frac \text{ \boxed{ \sqrt ½ ² km m/s
kW mb degrees dollars apples pounds per a an the and or not but yes No true A b. (B) Option March 5 2024 5th
twelve hundred half thirds million e3 x pi about no. left total St. U.S. é ß ﬁ İ
9:05 12:30 :00 am pm p.m. at
h min ft in lb oz 1h 30m Mon Sun {2,3} [1,2,3]
more fewer later before ago profit loss debt lakh crores millionths \pi π n (n) I II - mod base N/A
"""
OTHERS = [" ", " ", "\u2212", "\n", "\u00a0", "\u200b", "\u0301", "\u202e", "\ud800", "Final answer: "]
PIECES = st.sampled_from([*WORDS.split(), *OTHERS])
VALUES = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=8).map("".join))


@given(VALUES)
@example("5 olds")
@example("5 bless before")
@example("2‰ millions")
@example("\u0345\u0301")
def test_normalising_twice_changes_nothing(value: str) -> None:
    once = normalise(value)
    assert normalise(once) == once


def has_code_word(value: str) -> bool:
    """Whether case counts in one of several words, `chmod Run.sh`. Canonical texts have no case there."""
    words = value.split()
    return len(words) > 1 and any(is_credibly_code(word) for word in words)


@given(VALUES)
def test_an_answer_is_the_same_as_itself_and_as_its_canonical_text(value: str) -> None:
    assert same(value, value)
    assert has_code_word(value) or same(value, normalise(value))


@given(VALUES, VALUES)
def test_sameness_is_symmetric_and_follows_from_equal_canonical_texts(a: str, b: str) -> None:
    assert same(a, b) == same(b, a)
    assert same(a, b) or normalise(a) != normalise(b) or has_code_word(a)


@given(VALUES, st.lists(PIECES, max_size=12).map("".join))
def test_what_is_extracted_is_text_on_one_line(value: str, reply: str) -> None:
    for text in (reply, f"{reply}\nFinal answer: {value}", f"Final answer: {value}\n{reply}"):
        found = final_answer(text)
        assert found is None or (found.strip() and len(found.splitlines()) == 1)


def thousands(separator: str) -> Callable[[int], str]:
    return lambda n: f"{n:,}".replace(",", separator)


NOTATIONS: dict[str, Callable[[int], str]] = {
    "plain": str,
    "commas": thousands(","),
    "no-break spaces": thousands("\u00a0"),
    "thin spaces": thousands("\u2009"),
    "apostrophes": thousands("'"),
    "underscores": thousands("_"),
    "latex commas": thousands("{,}"),
    "latex thin spaces": thousands("\\,"),
    "decimals": "{:d}.00".format,
    "fraction": lambda n: f"{3 * n}/3",
    "latex fraction": lambda n: f"\\frac{{{2 * n}}}{{2}}",
    "scientific": "{:d}e0".format,
    "power of ten": lambda n: f"{n * 10}0 × 10^{{-2}}",
    "superscript": "{:d}·10⁰".format,
    "percent": "{:d}00%".format,
    "per mille": "{:d}000 ‰".format,
    "unicode minus": lambda n: str(n).replace("-", "\u2212"),
    "bold": "**{:d}**".format,
    "math": "${:d}$".format,
    "boxed": "\\boxed{{{:d}}}".format,
    "sentence": "{:d}.".format,
    "brackets": "({:d})".format,
    "equation": "x = {:d}".format,
    "leading zeros": lambda n: f"{'-' * (n < 0)}000{abs(n)}",
    "arabic digits": lambda n: str(n).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
    "fullwidth digits": lambda n: str(n).translate(str.maketrans("0123456789", "０１２３４５６７８９")),
}


@examples(200)
@given(st.sampled_from(list(NOTATIONS)), st.integers(-(10**30), 10**30))
@example("scientific", 0)
@example("apostrophes", -1000)
def test_a_number_is_the_same_in_every_notation(notation: str, n: int) -> None:
    written = NOTATIONS[notation](n)
    assert normalise(written).removeprefix("x=") == str(n)
    assert same(final_answer(f"Because.\n\nFinal answer: {written}") or "", str(n))


@given(st.fractions(max_denominator=10**6))
def test_a_fraction_is_read_exactly(q: Fraction) -> None:
    sign, (above, below) = "-" * (q < 0), abs(q).as_integer_ratio()
    whole, rest = divmod(above, below)
    forms = [
        f"{q}",
        f"{sign}{above} / {below}",
        f"{sign}\\dfrac{{{above}}}{{{below}}}",
        f"${sign}{above}/{below}$",
    ]
    forms += [f"{sign}{whole} {rest}/{below}", f"{sign}{whole}\\frac{{{rest}}}{{{below}}}"] if whole else []
    assert {normalise(form) for form in forms} == {str(q)}


@given(st.decimals(-(10**9), 10**9, places=6))
def test_a_decimal_is_read_exactly(number: Any) -> None:
    assert normalise(f"{number:f}") == str(Fraction(number))
    assert normalise(f"{number:e}") == str(Fraction(number))
    assert normalise(f"{number:,f} km") == f"{Fraction(number)} km"


@given(st.integers(), st.integers())
def test_different_numbers_are_not_the_same(a: int, b: int) -> None:
    assert same(f"{a:,}", f"{b} km") == (a == b)


@given(st.dates(date(1000, 1, 1)))
def test_a_date_is_the_same_however_it_is_written(day: date) -> None:
    forms = ("%B %d, %Y", "%d %B %Y", "%b. %d %Y", "%A, %B %d, %Y", "the %dth of %B, %Y", "%Y/%m/%d")
    assert {normalise(day.strftime(form)) for form in ("%Y-%m-%d", *forms)} == {day.isoformat()}


@given(st.times())
def test_a_time_is_the_same_however_it_is_written(at: time) -> None:
    forms = ("%H:%M", "%I:%M %p", "%I:%M%p", "at %H:%M.")
    hour = at.strftime("%H:%M")
    assert {normalise(at.strftime(form)) for form in forms} == {hour}
    assert normalise(hour.removeprefix("0")) == hour


@given(
    st.integers(0, 25),
    st.sampled_from(["{}", "({})", "{}.", "{})", "[{}]", "Option {}", "**{}**", "\\text{{{}}}"]),
)
def test_an_option_is_its_letter_however_it_is_written(n: int, form: str) -> None:
    letter = chr(ord("A") + n)
    assert {normalise(form.format(letter)), normalise(form.format(letter.lower()))} == {letter}


@rows(
    "value",
    [
        "(A) or (B)",
        "Both (A) and (B)",
        "not (B)",
        "anything but (B)",
        "Neither (A) nor (B)",
        "all except (B)",
        "not (A), (B)",
        "It isn't (B)",
        "A and (B)",
        "either [A] or [B]",
    ],
)
def test_a_letter_after_a_hedge_is_not_the_answer(value: str) -> None:
    assert final_answer(f"Final answer: {value}", choices=("21", "23", "25")) not in ("A", "B", "C")


@pytest.mark.parametrize(
    "text",
    ["salt and pepper (B)", "**salt and pepper** (B)", "option (B)", "The answer is (B)", "It is (B)"],
)
def test_a_letter_after_its_own_text_is_the_answer(text: str) -> None:
    assert final_answer(f"Final answer: {text}", choices=("sugar", "salt and pepper", "neither")) == "B"


@given(
    st.lists(st.text("abcdefg ", min_size=2).filter(str.strip), min_size=2, max_size=5, unique_by=normalise)
)
def test_the_text_of_an_option_is_read_as_its_letter(choices: list[str]) -> None:
    for n, choice in enumerate(choices):
        if read(choice).kind == "text":
            assert final_answer(f"Final answer: {choice}", choices=choices) == "ABCDE"[n]


@rows("value", ["1e999999999", "1e-999999999", "9" * 5000, "9^9999999", "1e999 million", "1/1e-999"])
def test_a_number_too_large_to_hold_is_compared_as_text(value: str) -> None:
    assert normalise(normalise(value)) == normalise(value)
    assert len(normalise(value)) < 6000
    assert not same(value, value + "0")
