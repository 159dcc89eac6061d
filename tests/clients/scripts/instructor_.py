"""instructor: pydantic objects, in each of its modes that asks for text."""

from __future__ import annotations

from typing import Any

import anthropic
import instructor
import openai
from checks import KEY, URL, check, expect, lab, raises, run
from pydantic import BaseModel, Field


class City(BaseModel):
    name: str
    people: int = Field(ge=0)


ATHENS = '{"name": "Athens", "people": 643000}'
ASKED = [{"role": "user", "content": "Which city, and how many people?"}]


def ask(mode: instructor.Mode, text: str, model: type[BaseModel] = City, **more: Any) -> Any:
    client = instructor.from_openai(openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY), mode=mode)
    messages = [{"role": "user", "content": text}]
    return client.create(model="pnyx/voting", messages=messages, response_model=model, **more)


@check("json_schema")
def json_schema() -> None:
    expect(isinstance(ask(instructor.Mode.JSON_SCHEMA, "A city?"), City), "city")


@check("json_object")
def json_object() -> None:
    lab.on(text=ATHENS)
    expect(isinstance(ask(instructor.Mode.JSON, "Which city?"), City), "city")


@check("JSON in text")
def markdown() -> None:
    lab.on(text=f"```json\n{ATHENS}\n```")
    expect(ask(instructor.Mode.MD_JSON, "Which city is it?").name == "Athens", "city")


@check("its repair of an invalid object")
def repair() -> None:
    lab.on(text=ATHENS)
    lab.on(call=1, text='{"name": "Athens", "people": "many"}')
    found = ask(instructor.Mode.MD_JSON, "Which city, repaired?", max_retries=2)
    expect(found.people == 643000, found)


@check("Anthropic, JSON in text")
def claude() -> None:
    lab.on(text=ATHENS)
    plain = anthropic.Anthropic(base_url=URL, api_key=KEY)
    client = instructor.from_anthropic(plain, mode=instructor.Mode.ANTHROPIC_JSON)
    found = client.create(model="pnyx/voting", max_tokens=1000, messages=ASKED, response_model=City)
    expect(found.name == "Athens", found)


@check("partial objects from a stream")
def partial() -> None:
    lab.on(text=ATHENS)
    client = instructor.from_openai(
        openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY), mode=instructor.Mode.JSON_SCHEMA
    )
    parts = list(client.create_partial(model="pnyx/voting", messages=ASKED, response_model=City))
    expect(parts[-1].people == 643000, parts)


@check("errors")
def errors() -> None:
    client = instructor.from_openai(
        openai.OpenAI(base_url=f"{URL}/v1", api_key="pnyx_wrong"), mode=instructor.Mode.JSON
    )
    raises(Exception, lambda: client.create(model="pnyx/voting", messages=ASKED, response_model=City), "key")


@check("a forced tool")
def tool() -> None:
    for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.RESPONSES_TOOLS):
        lab.calls_tool("City", {"name": "Athens", "people": 643000})
        expect(ask(mode, f"A city by {mode}?").name == "Athens", mode)
    lab.calls_tool("City", {"name": "Athens", "people": 643000})
    plain = anthropic.Anthropic(base_url=URL, api_key=KEY)
    client = instructor.from_anthropic(plain, mode=instructor.Mode.ANTHROPIC_TOOLS)
    found = client.create(model="pnyx/voting", max_tokens=1000, messages=ASKED, response_model=City)
    expect(found.name == "Athens", found)


run("instructor")
