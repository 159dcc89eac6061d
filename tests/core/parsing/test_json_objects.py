from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.parsing.ballots import ballot_schema
from pnyx.core.parsing.json_objects import (
    MAX_DEPTH,
    field,
    find_objects,
    find_violation,
    object_schema,
    read_object,
)
from pnyx.core.parsing.partitions import groups_schema
from pnyx.core.parsing.plans import PLAN
from pnyx.core.parsing.positions import POSITION
from pnyx.core.parsing.verdicts import APPROVAL, QUESTION_CLASS
from pnyx.core.steps import Schema
from tests.support.rows import rows

VOTE = {"vote": "REVISE", "text": "costs"}


@rows(
    "text",
    [
        '{"vote": "REVISE", "text": "costs"}',
        '\ufeff  {"vote": "REVISE", "text": "costs"}\n',
        'My ballot: {"vote": "REVISE", "text": "costs"}. Thank you!',
        '```json\n{"vote": "REVISE", "text": "costs"}\n```',
        '```\n{"vote": "REVISE", "text": "costs"}\n```',
        '~~~JSON\n{"vote": "REVISE", "text": "costs"}\n~~~',
        'Sure.\n\n```json\n{\n  "vote": "REVISE",\n  "text": "costs"\n}\n```\n\nAnything else?',
        '```json\n{"vote": "REVISE", "text": "costs"}',
        '{"vote": "REVISE", // not FINALIZE\n "text": "costs" /* the\n table */}',
        '{"vote": "REVISE", "text": "costs",}',
        "{'vote': 'REVISE', 'text': 'costs'}",
        "{“vote”: “REVISE”, “text”: “costs”}",
        '{vote: "REVISE", text: "costs"}',
        'The set {x | x > 0} is open. {"vote": "REVISE", "text": "costs"}',
        'In LaTeX \\frac{1}{2}; then {"vote": "REVISE", "text": "costs"}',
        '{"vote": {"vote": \n\n{"vote": "REVISE", "text": "costs"}',
        '{"a": 1} is an example.\n```json\n{"vote": "REVISE", "text": "costs"}\n```',
        '{"vote": "REVISE", "vote": "REVISE", "text": "costs"}',
    ],
    ids=[
        "bare", "byte order mark", "in a sentence", "fenced", "fence without a language", "tildes",
        "fence with prose around", "fence left open", "comments", "trailing comma", "single quotes",
        "smart quotes", "keys without quotes", "after braces of a set", "after braces of LaTeX",
        "after a beginning that broke off", "fence before what is bare", "one key twice, saying the same",
    ],
)  # fmt: skip
def test_an_object_in_the_json_of_a_model_is_read(text: str) -> None:
    assert read_object(text) == VOTE


@rows(
    "text",
    [
        "", "no object", "[1, 2]", '"text"', "null", "{", '{"vote": "REVISE"', '{"vote": "REV',
        '{"vote": NaN}', '{"vote": Infinity}', '{"vote": -Infinity}', '{"vote": 1e999}', '{"vote": -1e999}',
        '{"vote": "REVISE", "vote": "SPLIT"}', "{'text': 'don't'}", '{"text": "a "quoted" word"}', "{x: y}",
        '{"a": 1 2}', '{"a": 01}', '{"a" 1}', '{"a": 1]', '{"a": [1}', "{,}", '{"a":: 1}', '{"a": +1}',
        '{"a": ' + "1" * 5000 + "}",
    ],
)  # fmt: skip
def test_a_text_without_a_clear_object_is_not_read(text: str) -> None:
    assert read_object(text) is None


def test_python_constants_are_read_as_jsons() -> None:
    assert read_object("{'a': True, 'b': False, 'c': None}") == {"a": True, "b": False, "c": None}


def test_strings_keep_what_looks_like_notation() -> None:
    text = (
        '{"url": "http://x//y", "note": "/* no comment */ , }", "say": "it\\\'s \\u00e9", "tex": "\\(x\\)",}'
    )
    assert read_object(text) == {
        "url": "http://x//y",
        "note": "/* no comment */ , }",
        "say": "it's é",
        "tex": r"\(x\)",
    }


def test_every_object_is_found_with_its_place() -> None:
    text = 'One {"a": 1}, two {"b": {"c": 2}} and {d} three {"e": [3,]}.'
    assert [(text[one.start : one.end], one.value) for one in find_objects(text)] == [
        ('{"a": 1}', {"a": 1}),
        ('{"b": {"c": 2}}', {"b": {"c": 2}}),
        ('{"e": [3,]}', {"e": [3]}),
    ]


def test_nesting_is_read_to_a_depth_that_whoever_walks_it_survives() -> None:
    def nested(depth: int, comma: str = "") -> str:
        return '{"a":' * depth + "1" + f"{comma}}}" * depth

    for comma in ("", ","):
        assert read_object(nested(MAX_DEPTH, comma)) is not None
        assert read_object(nested(MAX_DEPTH + 1, comma)) is None
        assert read_object('{"a":' + "[" * MAX_DEPTH + comma + "]" * MAX_DEPTH + "}") is None


HOSTILE = {
    "200,000 deep": '{"a":' * 200_000,
    "200,000 deep and closed": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "200,000 deep in arrays": '{"a":' + "[" * 200_000,
    "braces": "{" * 1_000_000,
    "braces and spaces": "{ " * 500_000,
    "braces and quotes": '{"' * 500_000,
    "braces and single quotes": "{'a" * 300_000,
    "braces and smart quotes": "{“" * 500_000,
    "comments left open": "{/*" * 300_000,
    "comments of stars": '{"a":1 /*' + "*" * 1_000_000,
    "line comments": "{//" * 300_000,
    "bare keys": "{a:" * 300_000,
    "long bare words": ("{" + "a" * 60) * 15_000,
    "objects left open": '{"a":{},' * 100_000,
    "escapes": '{"a":"' + "\\" * 1_000_001,
    "fences": "```\n" * 250_000,
    "strings left open": '{"a\\' * 200_000,
    "shallow and long": ('{"":[' * 45 + "1," * 5_000) * 100,
    "small objects": '{"a":1} ' * 120_000,
}


@rows("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_in_a_moment(text: str) -> None:
    # Of this process, since a clock on the wall depends on who else uses the machine.
    began = time.process_time()
    found = read_object(text)
    assert time.process_time() - began < (0.25 if '{"a":' * 100 in text else 1)
    assert found is None or found == {"a": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)


@given(objects, st.sampled_from((None, 2)), st.booleans())
def test_json_is_read_as_json_reads_it(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read_object(text) == value
    if value:
        assert read_object(f"Here:\n{text}\nThat is all.") == value
        assert read_object(text.removesuffix("}") + ", // done\n}") == value


@given(st.text(st.sampled_from("{}[]\":,\\/*'“” \n01eE.-+truefalsnNI") | st.characters()))
def test_any_text_gives_an_object_of_finite_values_or_none(text: str) -> None:
    found = read_object(text)
    assert found is None or json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_field_is_found_under_any_of_its_names() -> None:
    document = {"Depends-On": ["a"], "label": None, "ID": 3}
    assert field(document, "needs", "depends_on") == ["a"]
    assert field(document, "label", "id") == 3
    assert field(document, "question") is None


PERSON = Schema.of(
    "person",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "height": {"type": "number"},
            "member": {"type": "boolean"},
            "role": {"type": "string", "enum": ["chair", "clerk"]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
            "home": {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
)


@rows(
    "document, problem",
    [
        ({"name": "x"}, None),
        ({"name": "x", "age": 3, "height": 1.8, "member": True, "role": "chair", "tags": ["a"]}, None),
        ({"name": "x", "age": 3.0, "height": 2}, None),
        ({"name": "x", "more": 1}, None),
        ({"name": "x", "home": {"street": "y"}}, None),
        ({}, "`name` is missing"),
        ({"name": None}, "`name` must be a string, not null"),
        ({"name": "x", "age": 3.5}, "`age` must be a whole number, not 3.5"),
        ({"name": "x", "age": True}, "`age` must be a whole number, not true"),
        ({"name": "x", "age": -1}, "`age` must be at least 0, not -1"),
        ({"name": "x", "age": 151}, "`age` must be at most 150, not 151"),
        ({"name": "x", "height": "tall"}, '`height` must be a number, not "tall"'),
        ({"name": "x", "member": 1}, "`member` must be a boolean, not 1"),
        ({"name": "x", "role": "cook"}, '`role` must be one of chair, clerk, not "cook"'),
        ({"name": "x", "tags": []}, "`tags` must hold at least 1, not 0"),
        ({"name": "x", "tags": ["a", "b", "c"]}, "`tags` must hold at most 2, not 3"),
        ({"name": "x", "tags": ["a", 2]}, "`tags[1]` must be a string, not 2"),
        ({"name": "x", "tags": "a"}, '`tags` must be an array, not "a"'),
        ({"name": "x", "home": {}}, "`home.street` is missing"),
        ({"name": "x", "home": {"street": 1}}, "`home.street` must be a string, not 1"),
        ([], "the reply must be an object, not []"),
        (None, "the reply must be an object, not null"),
        ({"name": ["x" * 100]}, '`name` must be a string, not ["' + "x" * 55 + "..."),
    ],
)
def test_the_first_problem_with_a_document_is_described_in_words(document: Any, problem: str | None) -> None:
    assert find_violation(document, PERSON) == problem


def test_an_object_schema_requires_all_its_properties() -> None:
    schema = object_schema("point", {"x": {"type": "number"}, "y": {"type": "number"}})
    assert find_violation({"x": 1, "y": 2}, schema) is None
    assert find_violation({"x": 1}, schema) == "`y` is missing"
    assert schema.name == "point"


@pytest.mark.parametrize(
    "schema",
    [
        *(APPROVAL, QUESTION_CLASS, POSITION, PLAN, ballot_schema(["A"]), groups_schema(2)),
    ],
    ids=lambda schema: schema.name,
)
def test_our_schemas_say_nothing_that_conform_does_not_check(schema: Schema) -> None:
    known = {"type", "enum", "properties", "required", "items", "additionalProperties"}
    levels = [schema.document]
    while levels:
        level = levels.pop()
        assert set(level) <= known
        levels += [*level.get("properties", {}).values(), *([level["items"]] if "items" in level else [])]


def test_a_number_too_large_for_a_float_is_not_read_as_infinite() -> None:
    found = read_object('{"a": 1e308, "b": 1e-999}')
    assert found == {"a": 1e308, "b": 0.0}
    assert all(math.isfinite(value) for value in found.values())
