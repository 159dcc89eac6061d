"""JSON as bytes: what it says is what the standard library says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.json_bytes import indented_json, json_bytes, parse_json

TEXTS = st.text(st.characters(), max_size=8)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner), st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_it_says_what_the_standard_library_says(value: Any) -> None:
    written = json_bytes(value, "surrogatepass")
    # Compared as text: NaN equals nothing, and 1.0 equals 1.
    assert json.dumps(json.loads(written.decode("utf-8", "surrogatepass"))) == json.dumps(value)


PIECES = ('{"a":', '"\\u0001"', '"\\ud800"', "[", "]", "}", ",", "-0", "1E400", "NaN", " ")
JSON = st.one_of(
    VALUES.map(lambda value: json.dumps(value, ensure_ascii=False)),
    VALUES.map(json.dumps),
    st.floats().map(repr),
    st.lists(st.sampled_from(PIECES)).map("".join),
)


@given(JSON)
def test_it_is_read_as_the_standard_library_reads_it(text: str) -> None:
    def read(parse: Callable[[bytes], Any]) -> str:
        try:
            return json.dumps(parse(text.encode("utf-8", "surrogatepass")))
        except ValueError:
            return "not JSON"

    assert read(parse_json) == read(lambda raw: json.loads(raw.decode("utf-8", "surrogatepass")))


@given(VALUES)
def test_it_is_in_lines_and_in_ascii_as_the_standard_library_writes_it(value: Any) -> None:
    written = indented_json(value)
    assert written.isascii()
    assert json.dumps(json.loads(written), indent=2) == json.dumps(value, indent=2)
    assert len(written.splitlines()) == len(json.dumps(value, indent=2).splitlines())


def test_only_numbers_with_an_exponent_are_written_otherwise() -> None:
    value = {"a": [0.25, 1.0, 12345.678, -0.0], "b": "é😀\x7f\n\u2028", "c": [], "d": {}, "e": [[]]}
    assert indented_json(value) == json.dumps(value, indent=2)
    assert indented_json([1e-05]) == "[\n  0.00001\n]"


def test_texts_are_written_in_utf_8_and_without_spaces() -> None:
    assert json_bytes({"a": ["é\n", 1]}) == '{"a":["é\\n",1]}'.encode()


def test_deeply_nested_documents_are_written() -> None:
    value: list[Any] = []
    for _ in range(600):
        value = [value]
    assert json_bytes(value) == b"[" * 601 + b"]" * 601


def test_a_lone_surrogate_is_refused_unless_it_may_pass() -> None:
    with pytest.raises(UnicodeEncodeError):
        json_bytes({"a": "\ud800"})
    assert json_bytes({"a": "\ud800"}, "surrogatepass") == b'{"a":"\xed\xa0\x80"}'


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_bytes({"a": object()})
