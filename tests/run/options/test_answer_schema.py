"""Schemas of answers: what is refused, what an answer has to satisfy, and that no schema takes long."""

from __future__ import annotations

import re
import time
from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.provisional import domains

from pnyx.run.options.answer_schema import check_schema, violation
from pnyx.run.options.schema_keywords import FORMATS, is_format, is_pattern, matches
from tests.support.rows import rows

LIMIT_S = 10
"""Far above what a bounded check takes, and far below what an unbounded one does."""


def one(**keywords: Any) -> dict[str, Any]:
    """The schema of an object whose `a` has these keywords."""
    return {"type": "object", "properties": {"a": keywords}, "required": ["a"], "additionalProperties": False}


def text(**keywords: Any) -> dict[str, Any]:
    return one(type="string", **keywords)


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "v": {"type": "integer"},
                "c": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["v"],
        }
    },
}
EITHER = {"anyOf": [one(type="string"), one(type="null"), {"type": "object", "required": ["b"]}]}
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
LATEST = "https://json-schema.org/draft/2020-12/schema"
NAMES = {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}


@rows(
    "schema, right, wrong",
    [
        (text(pattern=r"^[A-Z]{3}-\d+$"), ["ABC-1"], ["abc-1", "ABC-", "ABC-\u0661", "ABC-1\n"]),
        (text(pattern=r"^\p{L}+\u00e9$"), ["café"], ["cafe", "1é"]),
        (text(pattern=r"^(?<year>\d{4})-(?<month>\d\d)$"), ["2026-11"], ["26-11"]),
        (text(pattern="b"), ["abc"], ["a"]),
        (text(pattern=r"^(?=.*\d).{3,}$"), ["ab1", "what RE2 does not have is not checked"], []),
        (
            text(format="date-time"),
            ["2024-02-29T10:00:00Z", "2026-01-01t00:00:00.5+02:00"],
            ["2023-02-29T10:00:00Z"],
        ),
        (text(format="date"), ["2024-02-29"], ["2023-02-29", "20240229", "2024-W01-1"]),
        (text(format="color"), ["a format that nobody knows"], []),
        (one(type="number", multipleOf=0.01), [0.07, 19.99, 1, 1e300, -0.3], [0.005, 1.001]),
        (one(**{"$ref": LATEST}), [{"type": "string"}, True], [{"type": "strin"}]),
        (one(const={"$ref": "https://x.example"}), [{"$ref": "https://x.example"}], [{}]),
    ],
)
def test_an_answer_satisfies_the_keywords_of_its_schema(
    schema: dict[str, Any], right: list[Any], wrong: list[Any]
) -> None:
    assert check_schema(schema) is None
    assert [(value, violation({"a": value}, schema)) for value in right] == [(value, None) for value in right]
    assert [value for value in wrong if violation({"a": value}, schema) is None] == []


@rows(
    "schema, right, wrong",
    [
        (TREE, {"v": 1, "c": [{"v": 2, "c": []}]}, {"v": 1, "c": [{"c": []}]}),
        (EITHER, {"b": 1}, {"a": 1}),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, {"a": {"a": {}}}, {"a": 1}),
        ({"$schema": DRAFT_4, **one(minimum=0, exclusiveMinimum=True)}, {"a": 1}, {"a": 0}),
        (
            {"$schema": DRAFT_7, "definitions": {"n": one(type="null")}, "$ref": "#/definitions/n"},
            {"a": None},
            {},
        ),
        (
            {
                "$id": "https://x.example/s",
                "$defs": {"n": {"$id": "n", "type": "null"}},
                **one(**{"$ref": "n"}),
            },
            {"a": None},
            {"a": 1},
        ),
        ({"$defs": {"n": {"$anchor": "n", "type": "null"}}, **one(**{"$ref": "#n"})}, {"a": None}, {"a": 1}),
        (
            {"$dynamicAnchor": "n", "type": "object", "properties": {"a": {"$dynamicRef": "#n"}}},
            {"a": {}},
            {"a": 1},
        ),
        (
            {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}},
            {"pattern": "(", "$ref": "x"},
            {"$ref": 1},
        ),
        ({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}, {"a": 1}, {"A": 1}),
        (NAMES, {"x-1": 1}, {"x-1": "1"}),
        (NAMES, {}, {"y": 1}),
        ({**NAMES, "additionalProperties": {"type": "null"}}, {"y": None, "x-": 1}, {"y": 1}),
        ({"$schema": "https://x.example/of-my-own", "type": "object"}, {}, []),
    ],
)
def test_references_drafts_and_names_hold(schema: dict[str, Any], right: Any, wrong: Any) -> None:
    assert check_schema(schema) is None
    assert violation(right, schema) is None
    assert violation(wrong, schema) is not None


@rows(
    "schema, named",
    [
        (text(pattern="(["), "'(['"),
        (text(pattern="a{2,1}"), "a{2,1}"),
        ({"type": "object", "patternProperties": {"*": {}}}, "'*'"),
        (one(type="strng"), "strng"),
        (one(enum="x"), "'x'"),
        (one(exclusiveMinimum=True), "True"),
        (one(**{"$ref": "https://x.example/s.json"}), "https://x.example/s.json"),
        (one(items={"$ref": "file:///etc/passwd"}), "file:///etc/passwd"),
        (one(**{"$ref": "#/$defs/none"}), "#/$defs/none"),
        (one(**{"$ref": "#none"}), "#none"),
        ({"type": "object", "required": "a"}, "'a'"),
        ({"type": "array"}, "object"),
    ],
)
def test_a_schema_that_cannot_be_satisfied_as_it_is_meant_is_refused_with_what_is_wrong(
    schema: dict[str, Any], named: str
) -> None:
    assert named in (check_schema(schema) or "")


def ways(count: int) -> dict[str, Any]:
    """A schema that leads to its end in 2 ** count ways."""
    either = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(count)}
    return {"$defs": {**either, str(count): {"type": "string"}}, **one(**{"$ref": "#/$defs/0"})}


SLOW = "a" * 20_000 + "b"


@rows(
    "schema, value",
    [
        (text(pattern="^(a+)+$"), {"a": SLOW}),
        (text(pattern="^(a|a)*$"), {"a": SLOW}),
        (text(pattern="(.*)*=(.*)*"), {"a": SLOW}),
        (text(pattern=r"^(?=(a+)+$)"), {"a": SLOW}),
        (text(pattern=r"^(a+)+\1$"), {"a": SLOW}),
        (text(pattern="((a{1,100}){1,100}){1,100}"), {"a": SLOW}),
        ({"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {SLOW: 1}),
        ({"type": "object", "patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False}, {SLOW: 1}),
        (ways(60), {"a": 1}),
        ({"allOf": [{"$ref": "#"}]}, {}),
        (text(format="email"), {"a": "@" * 20_000}),
        (text(format="hostname"), {"a": "a-." * 20_000}),
        (text(format="duration"), {"a": "P" + "1" * 20_000}),
    ],
)
def test_no_schema_takes_long(schema: dict[str, Any], value: Any) -> None:
    started = time.process_time()
    check_schema(schema)
    violation(value, schema)
    assert time.process_time() - started < LIMIT_S


TEXTS = st.one_of(
    st.text(max_size=12),
    st.from_regex(re.compile(r"[PT0-9YMDHWS.]{1,8}", re.ASCII), fullmatch=True),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.dates().map(str),
    st.times().map(lambda moment: f"{moment:%H:%M:%S}Z"),
    st.uuids().map(str),
    st.ip_addresses().map(str),
    st.emails(),
    domains(),
)
SAME = sorted(FORMATS.keys() - {"email", "hostname", "regex"})
"""Formats of which there is one reading: for the others, how much of Unicode counts is a choice."""
OTHERS = {
    name: jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)
    for name in sorted(FORMATS)
}


@given(name=st.sampled_from(SAME), text=TEXTS)
def test_formats_are_those_of_another_validator(name: str, text: str) -> None:
    assert is_format(name, text) == OTHERS[name].is_valid(text)


@given(text=st.one_of(st.emails(), domains()))
def test_ordinary_addresses_and_hosts_have_their_formats(text: str) -> None:
    assert is_format("email" if "@" in text else "hostname", text)


@given(
    pattern=st.text(alphabet="ab|()*+?[]^$.\\d{1}", max_size=8),
    text=st.text(alphabet="ab1\n", max_size=6),
)
def test_patterns_match_what_those_of_another_engine_match(pattern: str, text: str) -> None:
    found = matches(pattern, text)
    if found is None:
        return
    assert is_pattern(pattern)
    try:
        other = jsonschema_rs.Draft202012Validator({"pattern": pattern})
    except jsonschema_rs.ValidationError:
        return  # the two differ in what they have
    assert found == other.is_valid(text)
