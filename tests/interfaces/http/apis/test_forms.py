"""Answers in the form of a JSON schema, with OpenAI's own client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import openai
import pytest

from pnyx.interfaces.http.apis.messages import Messages
from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import Request, ScriptedHost
from tests.support.serving import ServerHandle

SCHEMA = {
    "type": "object",
    "properties": {"product": {"type": "integer"}, "unit": {"enum": ["apples", "pears"]}},
    "required": ["product", "unit"],
    "additionalProperties": False,
}
NULL = {"type": "null"}
FORMAT = {"type": "json_schema", "json_schema": {"name": "product", "strict": True, "schema": SCHEMA}}


def fills(*objects: str) -> Callable[[Request], str]:
    """A model that answers in prose, and writes these texts when it is asked for the object."""
    left = list(objects)

    def reply(request: Request) -> str:
        return left.pop(0) if "one JSON object" in request.text else ANSWER

    return reply


async def test_an_answer_in_the_form_of_a_schema(
    client: Any, server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", text=fills('{"product": 42, "unit": "plums"}', 'So: {"product": 42, "unit": "pears"}'))
    completion = await client.chat.completions.create(
        model="pnyx/voting", messages=[{"role": "user", "content": "6 x 7 pears?"}], response_format=FORMAT
    )
    content = completion.choices[0].message.content
    assert json.loads(content) == {"product": 42, "unit": "pears"}
    result = completion.model_extra["pnyx"]
    assert result["answer"] == content
    assert ANSWER in result["detail"]["prose"]
    assert "Patterns" not in content
    (repair,) = [one.text for one in lab.log if "'plums' is not one of" in one.text]
    assert "satisfy the schema" in repair


async def test_an_answer_that_no_seat_can_put_into_form_is_an_error(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=fills(*["no"] * 9))
    with pytest.raises(openai.InternalServerError, match="in the requested form") as caught:
        await client.chat.completions.create(
            model="pnyx/voting",
            messages=[{"role": "user", "content": "6 x 7 pears?"}],
            response_format=FORMAT,
        )
    assert caught.value.code == "not_in_form"


async def test_an_answer_that_is_in_form_costs_no_further_call(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text='```json\n{"product": 42, "unit": "pears"}\n```')
    for format in (FORMAT, {"type": "json_object"}):
        completion = await client.chat.completions.create(
            model="title-helper", messages=[{"role": "user", "content": f"{format}?"}], response_format=format
        )
        assert json.loads(completion.choices[0].message.content) == {"product": 42, "unit": "pears"}
    assert len(lab.log) == 2


async def test_an_example_within_a_text_is_not_the_answer(client: Any, lab: ScriptedHost) -> None:
    text = 'Send this:\n```json\n{"example": 1}\n```\nand wait.\nFinal answer: 42'
    left = ['{"wait": true}']
    lab.on("*", text=lambda request: left.pop() if "one JSON object" in request.text else text)
    completion = await client.chat.completions.create(
        model="title-helper",
        messages=[{"role": "user", "content": "What now?"}],
        response_format={"type": "json_object"},
    )
    assert json.loads(completion.choices[0].message.content) == {"wait": True}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (nested(300), "nested too deep"),
        ({"type": "array"}, "must be that of an object"),
        ({"type": "object", "properties": 7}, "is invalid"),
        ({"type": "object", "$comment": "x" * 100_001}, "at most 100000 characters"),
    ],
)
async def test_a_schema_that_no_answer_can_have_is_refused(
    client: Any, lab: ScriptedHost, schema: dict[str, Any], message: str
) -> None:
    format = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    with pytest.raises(openai.BadRequestError, match=message):
        await client.chat.completions.create(
            model="voting", messages=[{"role": "user", "content": "Why?"}], response_format=format
        )
    assert lab.log == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {"type": "object", "properties": {"a": True}, "additionalProperties": NULL},
        {
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"anyOf": [{"type": "null"}, {"const": 1}]}},
        },
        {"type": "object", "properties": {"a": {"type": "array", "items": False, "prefixItems": [{}]}}},
        {
            "allOf": [{"type": "object"}, {"minProperties": 1}],
            "patternProperties": {"(a+)+$": {"type": "null"}},
        },
    ],
)
async def test_schemas_of_any_shape(client: Any, lab: ScriptedHost, schema: dict[str, Any]) -> None:
    value = {"a": [1] if "prefixItems" in json.dumps(schema) else None}
    lab.on("*", text=fills('{"b": 1, "a": 7.5}', json.dumps(value)))
    format = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    completion = await client.chat.completions.create(
        model="title-helper", messages=[{"role": "user", "content": "Why?"}], response_format=format
    )
    found = json.loads(completion.choices[0].message.content)
    assert found in (value, {"b": 1, "a": 7.5})
    assert not list(jsonschema.Draft202012Validator({**schema, "patternProperties": {}}).iter_errors(found))


@pytest.mark.parametrize("field", ["output_config", "output_format"])
async def test_a_message_is_an_object_of_its_format(claude: Any, lab: ScriptedHost, field: str) -> None:
    lab.on("*", text=fills('{"product": 42, "unit": "pears"}'))
    format = {"type": "json_schema", "schema": SCHEMA}
    message = await claude.messages.create(
        model="pnyx/voting",
        max_tokens=1000,
        messages=[{"role": "user", "content": f"6 x 7 pears, {field}?"}],
        extra_body={field: format if field == "output_format" else {"format": format}},
    )
    assert json.loads(message.content[0].text) == {"product": 42, "unit": "pears"}


@pytest.mark.parametrize(
    ("thinking", "tokens"),
    [
        ({"type": "enabled", "budget_tokens": 2000}, 2000),
        ({"type": "disabled"}, 0),
        ({"type": "adaptive"}, None),
        (None, None),
    ],
)
def test_the_effort_and_the_thoughts_of_a_message_are_those_of_the_seats(
    thinking: dict[str, Any] | None, tokens: int | None
) -> None:
    asked = {
        "model": "voting",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "Why?"}],
        "output_config": {"effort": "max"},
        "thinking": thinking,
    }
    request = Messages.model_validate(asked).to_conversation().to_request({})
    assert (request.effort, request.thinking_tokens) == ("high", tokens)
