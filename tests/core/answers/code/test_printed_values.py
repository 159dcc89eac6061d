"""Values that Python prints: two are the same answer if they are the same value, nested in any way."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pnyx import same_answer
from tests.support.properties import examples
from tests.support.rows import rows

QUESTION = "What does f return?"
texts = st.sampled_from(
    ["", "abc", "Abc", "1", "1.0", "01", "None", "True", "inf", "1j", "a, b", "[1]", " a", "3 km"]
)
numbers = st.sampled_from([0, 1, -1, 2, 10, 0.5, 1e-7, math.inf, -math.inf, math.nan, 1j, 1 + 2j])
atoms = st.one_of(texts, numbers, st.sampled_from([None, True, False, b"abc", ..., range(3)]))
keys = st.sampled_from([1, 2, "1", "a", True, None, (1, 2)])
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.sets(st.sampled_from([1, 2, "a", "1", None]), min_size=1, max_size=3),
    ),
    max_leaves=6,
)


def identity(value: Any) -> Any:
    """What is equal for equal values. Python holds True and 1 for the same, and NaN for no NaN."""
    match value:
        case list() | tuple():
            return type(value).__name__, tuple(map(identity, value))
        case dict():
            return "dict", frozenset((identity(key), identity(held)) for key, held in value.items())
        case set():
            return "set", frozenset(map(identity, value))
        case bool() | str() | bytes() | None:
            return type(value).__name__, value
    return "number", repr(value)


@examples(150)
@given(values, values)
def test_only_equal_values_are_the_same_answer(one: Any, two: Any) -> None:
    assert same_answer(repr(one), repr(two), QUESTION) == (identity(one) == identity(two))


@rows(
    "one, two, same",
    [
        ("[Color.RED, 1]", "[Color.RED,1]", True),
        ("[Color.RED]", "[Color.BLUE]", False),
        ("[Color.RED]", "(Color.RED,)", False),
        ("[Decimal('1.50')]", "[Decimal('1.5')]", False),
        ("[Point(x=1, y=2)]", "[Point(x=1,y=2)]", True),
        ("[Point(x=1, y=2)]", "[Point(x=2, y=1)]", False),
        ("{'a': datetime.date(2024, 3, 5)}", "{'a': datetime.date(2024, 5, 3)}", False),
        ("[<class 'int'>]", "[<class 'str'>]", False),
        ("[(1+2j)]", "[(1-2j)]", False),
        ("1j", "1", False),
        ("{3}", "3", False),
        ("(-inf, inf)", "(-∞, ∞)", True),
        ("[red, blue]", "red, blue", True),
    ],
)
def test_values_without_a_literal_are_compared_as_they_are_printed(one: str, two: str, same: bool) -> None:
    assert same_answer(one, two, QUESTION if "∞" not in two else None) == same
    assert same_answer(two, one, QUESTION if "∞" not in two else None) == same


def test_numbers_in_an_output_are_compared_as_they_are_printed() -> None:
    question = "What does this program print?"
    assert not same_answer("[10]", "[10.0]", question)
    assert same_answer("[10, 2]", "[10,2]", question)
    assert same_answer("[10]", "[10.0]", QUESTION)
