"""Names of one thing: the tables of countries, languages, currencies and elements, and spellings of names."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pnyx
from pnyx.core.answers.code.identifiers import read_identifier
from pnyx.core.answers.language.entities import same_thing
from pnyx.core.answers.language.names import read_roman
from pnyx.core.answers.words import table as words
from tests.core.answers.words.entity_table import TABLE, table
from tests.support.rows import rows

ROMAN = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)


def test_the_table_is_made_from_cldr() -> None:
    assert json.loads(TABLE.read_text("utf-8")) == table()


@pytest.mark.parametrize("kind", ["country", "language", "currency", "element", "other"])
def test_every_name_is_its_thing_and_no_other(kind: str) -> None:
    """English names, which CLDR has in one place: the first alias, or the name in the table."""
    aliases = words("aliases")[kind]
    assert all(same_thing(a, b) for names in aliases.values() for a, b in combinations(names[:4], 2))
    firsts = [names[0] for names in aliases.values()]
    assert [(a, b) for a, b in combinations(firsts, 2) if same_thing(a, b)] == []


def test_countries_in_one_language_stay_apart() -> None:
    from babel import Locale

    for code in ("en", "de", "es", "ru", "zh"):
        names = [str(name) for key, name in Locale(code).territories.items() if len(str(key)) == 2]
        things = [name for name in names if same_thing(name, name)]
        assert len(things) > 200
        assert [(a, b) for a, b in combinations(things[::5], 2) if same_thing(a, b) and a != b] == []


@pytest.mark.parametrize(
    ("code", "name", "question"),
    [
        ("DE", "Germany", "Which country won?"),
        ("de", "Deutsch", "Welche Sprache ist das?"),
        ("Fe", "Eisen", "Welches Element ist das?"),
        ("No", "nobelium", "Which chemical element is it?"),
        ("America", "USA", "In which country was it?"),
    ],
)
def test_a_code_names_a_thing_only_where_the_question_asks_for_one(
    code: str, name: str, question: str
) -> None:
    assert pnyx.same_answer(code, name, question)
    assert not pnyx.same_answer(code, name, "What did she say?")


@given(st.integers(2, 3999))
def test_a_roman_numeral_is_its_number(number: int) -> None:
    rest, written = number, ""
    for letters, value in zip(ROMAN, VALUES, strict=True):
        written += letters * (rest // value)
        rest %= value
    assert read_roman(written) == (number if len(written) > 1 else None)


@rows("text", ["IIII", "VX", "IL", "Mix", "xiv", "I", "", "MMMMM"])
def test_other_letters_are_no_numeral(text: str) -> None:
    assert read_roman(text) is None


@given(st.text("0123456789", min_size=9, max_size=9), st.sampled_from([" ", "-", ".", ""]))
def test_a_telephone_number_is_the_same_however_its_digits_are_grouped(digits: str, gap: str) -> None:
    assert read_identifier(f"+49{gap}{digits[:3]}{gap}{digits[3:]}") == read_identifier(f"+49 {digits}")
    assert read_identifier(f"+49 {digits}") != read_identifier(f"+48 {digits}")


@rows(
    "text, other",
    [
        ("ISBN 978-3-16-148410-0", "9783161484101"),
        ("#fff", "#ffe"),
        ("https://a.org/A", "https://a.org/a"),
        ("C-14", "C-12"),
        ("UTF-8", "UTF-16"),
        ("2020-01-01T12:00:00Z", "2020-01-01T12:00:00+01:00"),
    ],
)
def test_two_identifiers_stay_apart(text: str, other: str) -> None:
    assert read_identifier(text) is not None
    assert read_identifier(text) != read_identifier(other)
