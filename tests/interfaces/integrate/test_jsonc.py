"""One place of a JSON file with comments changes; nothing else does."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.integrate import jsonc
from pnyx.interfaces.integrate.jsonc import JsoncError, parse, put

KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
COMMENTS = st.lists(
    st.sampled_from(["// one\n", "/* two */", '/* a,\n "b": */', "// {[,\n", " ", "\n  ", "\t"]), max_size=3
)


@st.composite
def commented(draw: st.DrawFn, value: Any) -> str:
    """The value as JSON, with comments, blanks and trailing commas wherever the format allows them."""

    def blank() -> str:
        return "".join(draw(COMMENTS))

    def shown(one: Any) -> str:
        if isinstance(one, dict):
            parts = [
                f"{blank()}{json.dumps(key)}{blank()}:{blank()}{shown(part)}{blank()}"
                for key, part in one.items()
            ]
        elif isinstance(one, list):
            parts = [f"{blank()}{shown(part)}{blank()}" for part in one]
        else:
            return json.dumps(one)
        trailing = draw(st.booleans())
        end = "," if parts and trailing else ""
        left, right = "{}" if isinstance(one, dict) else "[]"
        return f"{left}{','.join(parts)}{end}{blank()}{right}"

    return f"{blank()}{shown(value)}{blank()}"


def comments(text: str) -> list[str]:
    found = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', text, re.DOTALL)
    return [one for one in found if not one.startswith('"')]


def expected(document: Any, path: Sequence[str], value: Any) -> Any:
    """The document with the value, as a merge of dictionaries."""
    if not path:
        if not (isinstance(value, dict) and isinstance(document, dict)):
            return value
        return {**document, **{key: expected(document.get(key), (), part) for key, part in value.items()}}
    inner = document.get(path[0], {})
    return {**document, path[0]: expected(inner if isinstance(inner, dict) else {}, path[1:], value)}


def fits(document: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(document, dict):
            return False
        if key not in document:
            return True
        document = document[key]
    return True


def is_there(document: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not (isinstance(document, dict) and key in document):
            return False
        document = document[key]
    return True


@given(st.data(), DOCUMENTS, st.lists(KEYS, min_size=1, max_size=3), VALUES)
def test_the_value_is_there_and_everything_else_stays(
    data: st.DataObject, document: dict[str, Any], path: list[str], value: Any
) -> None:
    known = data.draw(st.booleans())
    if document and known:
        path = [data.draw(st.sampled_from(sorted(document))), *path[1:]]
    text = data.draw(commented(document))
    assert parse(text) == document
    if not fits(document, path):
        with pytest.raises(JsoncError, match="is not an object"):
            put(text, path, value)
        return
    changed = put(text, path, value)
    assert parse(changed) == expected(copy.deepcopy(document), path, value)
    assert put(changed, path, value) == changed
    if not is_there(document, path):  # nothing was replaced
        assert comments(changed) == comments(text)
        dropped = re.compile(r"[\s,]")
        rest = iter(dropped.sub("", changed))
        assert all(character in rest for character in dropped.sub("", text))


@given(st.one_of(VALUES.map(json.dumps), st.text('{}[]",:/*1e+-. \ntrufalsn\\u', max_size=20)))
def test_what_json_reads_is_read_alike_and_anything_else_is_an_error(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        # Only comments, trailing commas and an empty file are more than JSON.
        if not (re.search(r"//|/\*|,\s*[\]}]", text) or not text.strip()):
            with pytest.raises(JsoncError, match=r"^line \d+, column \d+"):
                parse(text)
    else:
        if "Infinity" not in text and "NaN" not in text:
            assert parse(text) == value


def test_a_file_keeps_its_look() -> None:
    text = (
        '{\r\n\t// my servers\r\n\t"servers": {\r\n\t\t"git": {"command": "git-mcp"}, // old\r\n\t},\r\n}\r\n'
    )
    assert put(text, ["servers", "pnyx"], {"command": "pnyx", "args": ["mcp"]}) == (
        '{\r\n\t// my servers\r\n\t"servers": {\r\n\t\t"git": {"command": "git-mcp"}, // old\r\n'
        '\t\t"pnyx": {\r\n\t\t\t"command": "pnyx",\r\n\t\t\t"args": [\r\n\t\t\t\t"mcp"\r\n\t\t\t]\r\n'
        "\t\t}\r\n\t},\r\n}\r\n"
    )
    assert put("", ["a"], 1) == '{\n  "a": 1\n}\n'
    assert put("// nothing yet\n", ["a"], 1) == '// nothing yet\n{\n  "a": 1\n}\n'


def test_a_text_nested_too_deep_is_an_error() -> None:
    with pytest.raises(JsoncError, match="nested too deep"):
        parse("[" * 100_000)


def test_a_long_array_is_read_by_the_fast_parser_or_once_by_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A settings file with 2 MB of numbers took 18 s."""
    calls = {"plain": 0, "ours": 0}
    plain, ours = jsonc._plain, jsonc._value

    def counted_plain(text: str, start: int) -> Any:
        calls["plain"] += 1
        return plain(text, start)

    def counted_ours(*arguments: Any, **options: Any) -> Any:
        calls["ours"] += 1
        return ours(*arguments, **options)

    monkeypatch.setattr(jsonc, "_plain", counted_plain)
    monkeypatch.setattr(jsonc, "_value", counted_ours)
    numbers = list(range(1000))
    assert parse(json.dumps({"a": numbers})) == {"a": numbers}
    assert calls == {"plain": 1, "ours": 3}
    calls.update(plain=0, ours=0)
    nested = f'{{"a": {"[" * 50}{json.dumps(numbers)[1:-1]}, // more\n{"]" * 50}}}'
    assert parse(nested) == json.loads(nested.replace(", // more", ""))
    assert calls == {"plain": 1, "ours": 3 + 49 + 1000}


@pytest.mark.parametrize("text", ['{"a": [NaN]}', '{"a": [-Infinity]}', '{"a": [1, Infinity, // c\n]}'])
def test_what_json_does_not_have_is_refused_in_arrays_too(text: str) -> None:
    with pytest.raises(JsoncError, match="a value was expected"):
        parse(text)
