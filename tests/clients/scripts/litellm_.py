"""litellm: the panel as a model of openai/, of hosts like it, and of anthropic/."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import litellm
from checks import ANSWER, KEY, PICTURE, URL, check, expect, lab, raises, run, texts_sent
from pydantic import BaseModel

litellm.suppress_debug_info = True
litellm.telemetry = False
OPENAI = {"api_base": f"{URL}/v1", "api_key": KEY}
PROVIDERS = {
    "openai": OPENAI,
    "litellm_proxy": OPENAI,
    "custom_openai": OPENAI,
    "anthropic": {"api_base": URL, "api_key": KEY},
}


class City(BaseModel):
    name: str
    people: int


def ask(provider: str, text: str, model: str = "pnyx/voting", **more: Any) -> Any:
    messages = more.pop("messages", [{"role": "user", "content": text}])
    return litellm.completion(
        model=f"{provider}/{model}", messages=messages, **{"max_tokens": 4000, **PROVIDERS[provider], **more}
    )


@check("text")
def text() -> None:
    for provider in PROVIDERS:
        found = ask(provider, f"What is 6 times 7, {provider}?")
        expect(found.choices[0].message.content.startswith(ANSWER), (provider, found))
        expect(found.usage.total_tokens > 0 and found.choices[0].finish_reason == "stop", (provider, found))


@check("stream")
def stream() -> None:
    for provider in PROVIDERS:
        chunks = list(ask(provider, f"Streamed, {provider}?", stream=True))
        said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        expect(said.startswith(ANSWER), (provider, said))
        thought = [getattr(chunk.choices[0].delta, "reasoning_content", None) for chunk in chunks]
        expect(any(thought), (provider, "reasoning"))


@check("concurrent")
async def concurrent() -> None:
    asked = [{"role": "user", "content": "At once?"}]
    one = litellm.acompletion(model="openai/pnyx/voting", messages=asked, **OPENAI)
    two = litellm.acompletion(model="openai/pnyx/single", messages=asked, **OPENAI)
    expect(len(await asyncio.gather(one, two)) == 2, "both")


@check("system message")
def system() -> None:
    for provider in PROVIDERS:
        messages = [
            {"role": "system", "content": f"Answer for {provider}."},
            {"role": "user", "content": "What is a knot?"},
        ]
        ask(provider, "", messages=messages)
    expect(all(f"Answer for {one}." in texts_sent("system") for one in PROVIDERS), texts_sent("system"))


@check("responses")
def responses() -> None:
    response = litellm.responses(model="openai/pnyx/voting", input="As a response?", **OPENAI)
    expect(response.output[-1].content[0].text.startswith(ANSWER), response)
    events = litellm.responses(model="openai/pnyx/voting", input="Streamed?", stream=True, **OPENAI)
    kinds = [str(event.type.value) for event in events]
    expect(kinds[-1] == "response.completed", kinds)


@check("json_object and pydantic")
def structured() -> None:
    found = ask("openai", "A city, as JSON?", response_format={"type": "json_object"})
    expect(isinstance(json.loads(found.choices[0].message.content), dict), found)
    found = ask("openai", "A city?", response_format=City)
    expect(City.model_validate_json(found.choices[0].message.content), found)


@check("stop and max tokens")
def limits() -> None:
    for provider in PROVIDERS:
        (choice,) = ask(provider, f"Stop, {provider}?", stop=["\nFinal"]).choices
        expect(choice.message.content == "It is six times seven.", (provider, choice))
        (choice,) = ask(provider, f"Short, {provider}?", max_tokens=2).choices
        expect((choice.message.content, choice.finish_reason) == ("It is si", "length"), (provider, choice))


@check("image in an old turn")
def image() -> None:
    picture = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    for provider in PROVIDERS:
        turns = [
            {"role": "user", "content": picture},
            {"role": "assistant", "content": "A dot."},
            {"role": "user", "content": "Which colour?"},
        ]
        found = ask(provider, "", messages=turns)
        expect(found.choices[0].message.content.startswith(ANSWER), (provider, found))


@check("errors")
def errors() -> None:
    for provider in PROVIDERS:
        raises(litellm.AuthenticationError, lambda p=provider: ask(p, "Who?", api_key="pnyx_wrong"))
        raises(litellm.NotFoundError, lambda p=provider: ask(p, "Who?", model="gpt-9"))
        error = raises(Exception, lambda p=provider: ask(p, "Dear?", model="too-dear"))
        expect(error.status_code == 402, (provider, error))


@check("its retries pay once")
def retries() -> None:
    for provider in PROVIDERS:
        lab.reset()
        lab.on(status=400, message="not today")
        raises(Exception, lambda p=provider: ask(p, f"Failing {p}?", model="title-helper", num_retries=2))
        expect(len(lab.calls()) == 1, (provider, len(lab.calls())))
    lab.reset()
    lab.on(text=ANSWER, delay=1.5)
    found = ask("openai", "Slow?", model="title-helper", timeout=0.8, max_retries=5)
    expect(found.choices[0].message.content.startswith(ANSWER), found)
    expect(len(lab.calls()) == 1, len(lab.calls()))


@check("tools")
def tools() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    function = {"name": "look", "description": "Looks a city up.", "parameters": schema}
    for provider in PROVIDERS:
        turns: list[Any] = [{"role": "user", "content": f"How many people has Athens, {provider}?"}]
        asked = {"messages": turns, "tools": [{"type": "function", "function": function}]}
        lab.calls_tool("look", {"name": "Athens"})
        chunks = list(ask(provider, "", **asked, stream=True))
        message = litellm.stream_chunk_builder(chunks).choices[0].message
        (call,) = message.tool_calls
        expect(json.loads(call.function.arguments) == {"name": "Athens"}, (provider, message))
        turns += [message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "643000"}]
        found = ask(provider, "", **asked).choices[0].message.content
        expect(found == ANSWER and "643000" in texts_sent("user"), (provider, found))


run("litellm")
