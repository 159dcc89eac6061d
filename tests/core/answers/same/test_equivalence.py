"""Which answers are the same: every kind with its near-misses, rules for all answers, and limits of time."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

import pnyx
from pnyx.core.answers.reading.hints import hints_of
from pnyx.core.answers.same.equivalence import normalise, same
from tests.answers.material import pairs
from tests.support.rows import rows

DOCS = Path(__file__).parents[4] / "docs" / "answers.md"
ROW = re.compile(r"^\| (`.*`) \| (`.*`) \| (yes|no) \|(?: (.*) \|)?$", re.MULTILINE)

numbers = st.integers(-50, 50)
names = st.sampled_from("abxyn")


def examples() -> list[tuple[str, str, bool, str | None]]:
    """The examples of docs/answers.md: two answers, whether they are the same, and the question."""
    found = ROW.findall(DOCS.read_text("utf-8"))
    return [
        (a.strip("`").strip(), b.strip("`").strip(), is_same == "yes", question or None)
        for a, b, is_same, question in found
    ]


@rows("a, b, is_same, question", examples())
def test_the_examples_of_the_docs_hold(a: str, b: str, is_same: bool, question: str | None) -> None:
    assert pnyx.same_answer(a, b, question) is is_same
    assert pnyx.same_answer(b, a, question) is is_same


def test_the_docs_have_examples_of_both_sides() -> None:
    assert len(examples()) > 60
    assert {is_same for _, _, is_same, _ in examples()} == {True, False}


SIGNS = ("=", "!=", "<", "<=", ">", ">=", "≈", "→", ":=")


@given(st.sampled_from(SIGNS), st.sampled_from(SIGNS), names, numbers)
def test_a_relation_is_never_the_same_as_one_with_another_sign(a: str, b: str, name: str, n: int) -> None:
    assert same(f"{name} {a} {n}", f"{name} {b} {n}") == (a == b)
    assert same(f"{name} {a} {n}", str(n)) == (a == "=")


@given(names, names, numbers, numbers)
def test_named_values_are_the_same_only_with_one_name(a: str, b: str, m: int, n: int) -> None:
    assert same(f"{a} = {m}", f"{b} = {n}") == (a == b and m == n)
    assert same(f"{a} = {m}", str(n)) == (m == n)


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
).filter(lambda value: isinstance(value, list | tuple | dict | str))


@given(LITERALS, LITERALS)
def test_literals_are_the_same_only_with_equal_values_of_equal_types(a: object, b: object) -> None:
    assert same(repr(a), repr(b)) == (_typed(a) == _typed(b))
    assert same(repr(a), repr(a))


def _typed(value: object) -> object:
    """A value in which 1 and True differ."""
    if isinstance(value, list | tuple):
        return type(value), [_typed(item) for item in value]
    if isinstance(value, dict):
        return {(type(key), key): _typed(item) for key, item in value.items()}
    return type(value), value


@given(st.text("01", min_size=1, max_size=4), st.text("01", min_size=1, max_size=4))
def test_strings_of_digits_keep_their_zeros(a: str, b: str) -> None:
    assert same(f"'{a}'", f'"{b}"') == (a == b)
    assert not same(f"'{a}'", a.lstrip("0") or "0") or a == "0" or not a


EXPRESSIONS = st.recursive(
    st.integers(1, 9).map(str) | st.sampled_from(["x", "y", r"\pi", r"\sqrt{2}"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", r"\cdot ", "/"]), inner).map(
        lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, EXPRESSIONS)
def test_sums_and_products_commute_and_differences_do_not(a: str, b: str) -> None:
    assert same(f"{a} + {b} + 1/7", f"1/7 + {b} + {a}") or "/" in a + b
    assert not same(f"{a} + {b}", f"{a} + {b} + 1")


@given(st.fractions(-9, 9, max_denominator=9), st.fractions(-9, 9, max_denominator=9), st.booleans())
def test_an_interval_is_its_inequalities(a: Fraction, b: Fraction, closed: bool) -> None:
    low, high = sorted((a, b))
    if low == high:
        return
    sign, opens, closes = ("≤", "[", "]") if closed else ("<", "(", ")")
    interval = f"{opens}{low}, {high}{closes}"
    assert same(f"{low} {sign} x {sign} {high}", interval)
    assert not same(f"{low} {sign} x < {high}", f"[{low}, {high}]") or not closed
    assert same(f"x {sign} {high}", rf"(-\infty, {high}{closes}")
    assert not same(f"x {sign} {high}", rf"({high}, \infty)")


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=5, unique=True), st.randoms())
def test_solutions_have_no_order_and_points_have_one(values: list[int], random: object) -> None:
    turned = values[::-1]
    bare, back = (", ".join(map(str, found)) for found in (values, turned))
    assert same(bare, back)
    assert same(f"{{{bare}}}", back)
    assert not same(f"({bare})", f"({back})")
    assert not same(f"{{{bare}}}", f"({bare})")
    assert not same(bare, back, "List them in ascending order.")


CELSIUS = st.fractions(-200, 500, max_denominator=10)


@given(CELSIUS, CELSIUS)
def test_temperatures_convert_with_their_zero(a: Fraction, b: Fraction) -> None:
    assert same(f"{a} °C", f"{b * 9 / 5 + 32} °F") == (a == b)
    assert same(f"{a} °C", f"{b + Fraction('273.15')} K") == (a == b)


HOSTILE = {
    "tower": "9^9^9^9",
    "long tower": "^".join("9" * 100),
    "factorials": "((9!)!)!",
    "large factorial": "(10^9)!",
    "brackets": "(" * 10_000,
    "closed brackets": "(" * 180 + "1" + ")" * 180,
    "roots": "√" * 199 + "2",
    "LaTeX roots": r"\sqrt{" * 30 + "2" + "}" * 30,
    "exponential": "e^{e^{e^{e^{9}}}}",
    "sine": r"\sin(10^{10^{9}})",
    "signs": "±1" * 60,
    "minus": "-" * 190 + "1",
    "binomial": r"\binom{10^9}{10^8}",
    "nested list": "[" * 190 + "]" * 190,
    "quotes": "'" * 199,
    "commas": "1," * 99,
    "fractions": "1/" * 90 + "1",
    "digits": "9" * 5000,
    "exponent": "1e999999999",
}


@rows("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_read_at_once(text: str) -> None:
    same("1 + √2", "√2 + 1")  # loads what is loaded once
    start = process_time()
    assert same(text, text)
    assert not same(text, "2")
    assert not same(text, text + "+√2")
    # A tenth of a second for what takes a few milliseconds: machines of tests are slow at times.
    assert process_time() - start < 0.5


CORPUS = [(pair.a, pair.b) for pair in pairs()]


@given(st.sampled_from(CORPUS), st.sampled_from(CORPUS))
def test_sameness_is_reflexive_and_symmetric(one: tuple[str, str], two: tuple[str, str]) -> None:
    for a in one:
        assert same(a, a)
        for b in two:
            assert same(a, b) == same(b, a)


@given(st.sampled_from(CORPUS))
def test_a_canonical_text_is_its_own_and_the_same_as_its_answer(pair: tuple[str, str]) -> None:
    for answer in pair:
        once = normalise(answer)
        assert normalise(once) == once
        assert same(answer, once)


def test_the_import_of_the_package_loads_none_of_it() -> None:
    program = "import sys, pnyx; assert not any('answers' in m or 'mpmath' in m for m in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


@rows(
    "question, field, value",
    [
        ("Wie hoch ist der Umsatz in diesem Jahr?", "decimal", ","),
        ("What is 3.5 times 2?", "decimal", "."),
        ("What percentage of them passed?", "percent", True),
        ("What is 20 percent of 35?", "percent", False),
        ("Convert 12 to base two.", "bases", (2,)),
        ("Which is it? A) one B) two", "options", (("A", "one"), ("B", "two"))),
        ("Sort the numbers in ascending order.", "ordered", True),
        ("Which version fixed it?", "exact", True),
        ("What does the function return?", "truth", False),
        ("", "decimal", ""),
    ],
)
def test_a_question_tells_how_answers_are_read(question: str, field: str, value: object) -> None:
    assert getattr(hints_of(question), field) == value
